"""A crawler of 40 lines on foreign parts (html.parser, urllib) finds everything that the model says can be found."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from lycosa.simnet import SimulatedInternet


class Links(HTMLParser):
    """The followed links of a page, resolved against its base."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.links: list[str] = []
        self.follow = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a polite crawler reads."""
        values = {name: (value or "").strip() for name, value in attrs}
        if tag == "base":
            self.base = values["href"]
        elif tag == "meta" and values.get("name") == "robots":
            self.follow = "nofollow" not in values["content"]
        elif tag == "a" and values.get("rel") != "nofollow":
            self.links.append(urldefrag(urljoin(self.base, values["href"])).url)


def crawl(net: SimulatedInternet) -> dict[str, int]:
    """Fetch everything reachable, robots.txt ignored; statuses by URL."""
    connections: dict[str, http.client.HTTPConnection] = {}
    hosts, statuses, queue = net.hosts, dict.fromkeys(net.seeds, 0), list(net.seeds)
    for url in queue:
        parts = urlsplit(url)
        assert parts.hostname is not None
        address = hosts[parts.hostname]
        if address not in connections:
            connections[address] = http.client.HTTPConnection(address, net.http_port, timeout=10)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connections[address].request("GET", target, headers={"Host": parts.netloc})
        response = connections[address].getresponse()
        text, statuses[url] = response.read().decode(), response.status
        page = Links(url)
        if response.status == 200:
            page.feed(text)
        elif response.status in (301, 302):
            page.links.append(urljoin(url, response.headers["Location"]))
        for link in page.links if page.follow else []:
            if link not in statuses:
                statuses[link] = 0
                queue.append(link)
    for connection in connections.values():
        connection.close()
    return statuses


@pytest.mark.parametrize("threads", [1, 2])
def test_everything_that_is_reachable_is_found(threads: int) -> None:
    with SimulatedInternet(hosts=60, pages=30, seed=5, threads=threads) as net:
        statuses = crawl(net)
        report = net.report()
    assert report["coverage"]["ratio"] == 1.0
    assert report["coverage"]["missed"] == []
    assert report["totals"]["requests"] == len(statuses) == report["totals"]["urls"]
    assert report["totals"]["by_kind"] == {"page": len(statuses)}
    assert set(statuses.values()) == {200, 301, 302, 404, 500}
    assert report["repeats"]["urls"] == 0
    # It asked for no robots.txt and waited for nobody: the ledger has seen it.
    assert report["robots"]["before_robots"] == len(statuses)
    assert report["robots"]["disallowed"] > 0
    assert report["rates"]["host"]["count"] > 1000


def test_a_busy_simnet_blames_nobody(tmp_path: Path) -> None:
    """Gaps are measured when requests arrive at the kernel, not when a stalled simnet comes to read them."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "lycosa", "simnet", "--hosts", "1", "--pages", "1", "--no-namespace"]
    command += ["--host-interval", "0.19", "--address-interval", "0.19", "--report", str(report)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        url = urlsplit(Path(lines[2].split()[-1]).read_text().strip())
        port, name = int(lines[1].split()[-1]), url.netloc
        # One host: the first address of all.
        with (
            socket.create_connection(("127.1.0.1", port), timeout=10) as one,
            socket.create_connection(("127.1.0.1", port), timeout=10) as two,
        ):
            process.send_signal(signal.SIGSTOP)
            for client in (one, two):
                client.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
                time.sleep(0.2)
            process.send_signal(signal.SIGCONT)
            for client in (one, two):
                while client.recv(65_536):
                    pass
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    judged = json.loads(report.read_text())
    assert judged["totals"]["by_status"] == {"200": 2}
    assert judged["rates"]["host"]["count"] == judged["rates"]["address"]["count"] == 0
