"""Crawls through proxies, of which many degrade and die."""

from __future__ import annotations

import contextlib
import http.server
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import lycosa
import pytest
from lycosa import _core
from lycosa.settings import PolitenessSettings, ProxiesSettings
from lycosa.simnet import SimulatedInternet

from tests.crawl.scripted_proxies import Behaviour, ScriptedProxies, ScriptedProxy

#: What becomes of a proxy that fails.
ENDS: list[Behaviour] = ["slow", "wrong", "silent", "closed"]


def path_of(url: str) -> str:
    """The path of a URL, with its query."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


@contextlib.contextmanager
def echo_site() -> Iterator[str]:
    """A site that shows requests: whoever checks proxies asks it often, which no crawled site should bear."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):  # the proxy may die meanwhile
                self.wfile.write(f"{self.client_address[0]}\n{self.headers}".encode())

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1_000  # all proxies are checked at once

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.timeout(300)
def test_of_two_hundred_proxies_half_die_and_the_crawl_loses_nothing(tmp_path: Path) -> None:
    random_ = random.Random(7)  # noqa: S311
    with SimulatedInternet(hosts=150, pages=16, seed=3, speed=50) as net:
        dying: list[ScriptedProxy] = []

        def act(proxies: ScriptedProxies) -> None:
            """Each tenth of a second, one more fails; some come back, and fail again."""
            if dying:
                proxy = dying.pop()
                proxy.behaviour = random_.choice(ENDS)
                random_.choice(proxies.all[:100]).behaviour = "good"

        with ScriptedProxies(200, net.hosts, act) as proxies, echo_site() as echo:
            dying += random_.sample(proxies.all[:100], 100)
            lines = tmp_path / "proxies.txt"
            lines.write_text("".join(f"{proxy.line}\n" for proxy in proxies.all))
            settings: ProxiesSettings = {
                "file": lines,
                "check": [echo],
                "allow_addresses": ["127.0.0.0/8"],
                "recheck": 60.0,
            }
            crawl = lycosa.crawl(
                job=net.job_file(),
                proxies=settings,
                allow_ports=[int(echo.rstrip("/").rpartition(":")[2])],
                fetch={"connect_timeout": 3.0, "read_timeout": 3.0, "total_timeout": 10.0},
                store={"fields": ["url", "status", "error", "proxy"]},
            )
            pages = [(page.url, page.status, page.error, page.proxy) for page in crawl]
            told, report = crawl.report()["proxies"], net.report()
    answered = [page for page in pages if page[1] is not None]
    assert len(answered) >= 0.995 * len(pages)
    assert report["coverage"]["ratio"] >= 0.995
    # No request went past the proxies, and each went by the one that its record names.
    passed = {proxy.name: Counter(path for _, path in proxy.passed) for proxy in proxies.all}
    sent = sum(sum(paths.values()) for paths in passed.values())
    assert report["totals"]["requests"] <= sent
    for url, _, _, name in answered:
        assert passed[str(name)][path_of(url)] > 0, (url, name)
    # The site's intervals hold, whatever the proxy.
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0
    # Each domain's requests go around the ring, of which never fewer than fifty work.
    shares: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for url, _, _, name in answered:
        shares[_core.domain_of(url)][str(name)] += 1
    for domain, used in shares.items():
        most = used.most_common(1)[0][1]
        assert most <= 1 + sum(used.values()) // 50, (domain, used.most_common(3))
    works = [each["proxy"] for each in told["all"] if each["works"]]
    assert told["working"] == len(works) >= 90
    assert {proxy.name for proxy in proxies.all[100:]} <= set(works)


def test_a_pool_that_runs_dry_pauses_the_crawl_until_a_proxy_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SimulatedInternet(hosts=10, pages=5, seed=1, speed=200) as net:
        ticks = 0

        def act(proxies: ScriptedProxies) -> None:
            nonlocal ticks
            ticks += 1
            proxies.all[0].behaviour = "closed" if 10 < ticks < 40 else "good"

        with ScriptedProxies(1, net.hosts, act) as proxies:
            lines = tmp_path / "proxies.txt"
            lines.write_text(f"# one\n{proxies.all[0].line}\nno proxy\n")
            settings: ProxiesSettings = {
                "file": lines,
                "allow_addresses": ["127.0.0.0/8"],
                "check": net.seeds[:1],
                "recheck": 1.0,
            }
            politeness: PolitenessSettings = {"host_interval": 60.0}
            pages = list(lycosa.crawl(job=net.job_file(), proxies=settings, politeness=politeness))
            ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert all(page.error is None for page in pages)
    assert "line 3 names no proxy" in caplog.text
    assert "the crawl pauses until one does" in caplog.text
    assert "the crawl goes on after" in caplog.text
