"""Foreign clients agree with the simulated Internet's protocols: curl for HTTP, dig and kdig for DNS."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lycosa.simnet import SimulatedInternet

from tests.interop.programs import require


@pytest.fixture(scope="module")
def net() -> Iterator[SimulatedInternet]:
    """One Internet on high ports for all tests of this file."""
    with SimulatedInternet(hosts=60, pages=10, seed=11) as running:
        yield running


def output(*command: str) -> str:
    """What a client prints; it must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


def dig(program: str, net: SimulatedInternet, *arguments: str) -> str:
    """The answer of the simulated resolver to a DNS client."""
    port = net.resolver.split(":")[1]
    return output(require(program), "@127.0.0.1", "-p", port, *arguments)


@pytest.mark.parametrize("program", ["dig", "kdig"])
@pytest.mark.parametrize("transport", ["+notcp", "+tcp"])
def test_dns_clients_get_addresses(net: SimulatedInternet, program: str, transport: str) -> None:
    for name, address in list(net.hosts.items())[:10]:
        assert dig(program, net, name.upper(), "A", "+short", transport).split() == [address]


@pytest.mark.parametrize("program", ["dig", "kdig"])
def test_dns_clients_get_denials(net: SimulatedInternet, program: str) -> None:
    name = next(iter(net.hosts))
    for question, kind, status in [
        (name, "AAAA", "NOERROR"),
        (name.rsplit(".", 1)[1], "A", "NOERROR"),
        ("no.such.example", "A", "NXDOMAIN"),
        (f"deeper.{name}", "A", "NXDOMAIN"),
    ]:
        text = dig(program, net, question, kind)
        assert re.search(rf"status: {status}", text), text
        assert re.search(r"IN\s+SOA\s+ns\.simnet\.", text), text
        assert "ANSWER: 0" in text


def test_dig_finds_edns_as_it_should_be(net: SimulatedInternet) -> None:
    name = next(iter(net.hosts))
    assert "EDNS: version: 0" in dig("dig", net, name, "+edns=0")
    assert "OPT PSEUDOSECTION" not in dig("dig", net, name, "+noedns")
    assert "status: BADVERS" in dig("dig", net, name, "+edns=1", "+noednsnegotiation")


def test_kdig_asks_many_questions_on_one_connection(net: SimulatedInternet) -> None:
    names = list(net.hosts)[:20]
    assert dig("kdig", net, "+tcp", "+keepopen", "+short", *names).split() == [net.hosts[name] for name in names]


def test_curl_reads_pages_robots_and_errors(net: SimulatedInternet) -> None:
    curl = [require("curl"), "--silent", "--show-error", "--compressed", "--max-time", "10"]
    seen = set()
    for name, address in net.hosts.items():
        resolve = ["--resolve", f"{name}:{net.http_port}:{address}", "--write-out", "%{http_code}"]
        url = f"http://{name}:{net.http_port}/"
        page = output(*curl, *resolve, url)
        assert page.startswith("<!DOCTYPE html>")
        assert page.endswith("</html>\n200")
        robots = output(*curl, *resolve, f"{url}robots.txt")
        seen.add(robots[-3:])
        assert robots[-3:] == "404" or robots.startswith(("User-agent: *", "# "))
        assert output(*curl, *resolve, f"{url}no/such/page").endswith("404")
    assert seen == {"200", "404"}


def test_curl_keeps_its_connection(net: SimulatedInternet) -> None:
    name, address = next(iter(net.hosts.items()))
    url = f"http://{name}:{net.http_port}/"
    before = net.report()["totals"]["connections"]
    output(require("curl"), "-sS", "--resolve", f"{name}:{net.http_port}:{address}", *(["-o", os.devnull, url] * 5))
    output(require("curl"), "-sS", "--head", "--resolve", f"{name}:{net.http_port}:{address}", url)
    assert net.report()["totals"]["connections"] == before + 2


def test_pipelined_requests_are_answered_in_order(net: SimulatedInternet) -> None:
    name, address = next(iter(net.hosts.items()))
    with socket.create_connection((address, net.http_port), timeout=10) as client:
        paths = ["/", "/robots.txt", "/no-such-page", "/"]
        for path in paths[:-1]:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        client.sendall(f"GET {paths[-1]} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while chunk := client.recv(65_536):
            received += chunk
    statuses = re.findall(rb"HTTP/1\.1 (\d+) ", received)
    assert len(statuses) == 4
    assert statuses[0] == statuses[3] == b"200"
    assert statuses[2] == b"404"


@pytest.mark.skipif(os.geteuid() != 0, reason="private namespaces need root")
def test_unmodified_programs_crawl_in_private_namespaces(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    script = (
        "curl -sS --fail --max-time 10 -o /dev/null $(head -n 1 {seeds}) && cat /etc/resolv.conf && "
        "for url in $(cat {seeds}); do "
        'curl -sS --max-time 10 -o /dev/null -w "%{http_code} %{remote_port}\\n" $url; done'
    )
    command = [sys.executable, "-m", "lycosa", "simnet", "--hosts", "12", "--pages", "2", "--report", str(report)]
    before = Path("/etc/resolv.conf").read_bytes() if Path("/etc/resolv.conf").exists() else None
    done = subprocess.run([*command, "--", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "nameserver 127.0.0.1"
    assert lines[1:11] == ["200 80"] * 10
    assert '"requests": 11' in report.read_text()
    if before is not None:
        assert Path("/etc/resolv.conf").read_bytes() == before


def test_a_refused_upload_still_gets_its_answer(net: SimulatedInternet) -> None:
    name, address = next(iter(net.hosts.items()))
    with socket.create_connection((address, net.http_port), timeout=10) as client:
        head = f"POST / HTTP/1.1\r\nHost: {name}\r\nContent-Length: 200000\r\n\r\n"
        client.sendall(head.encode() + b"x" * 200_000)
        answer = b""
        while chunk := client.recv(65_536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 501 ")
