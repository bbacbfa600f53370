"""A captive portal for a while, and an HTTP cache: what the portal answered is neither believed nor kept."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest

HOSTS, PAGES = 8, 12
PORTAL = b"<title>portal</title>please log in to the network of this hotel"


class Site(BaseHTTPRequestHandler):
    """Each host's own pages, or a portal's page for all of them."""

    protocol_version = "HTTP/1.1"
    is_portal: threading.Event

    def do_GET(self) -> None:
        """Answer."""
        host = self.headers["Host"].partition(":")[0]
        if self.is_portal.is_set():
            self.reply(PORTAL)
        elif self.path == "/robots.txt":
            self.reply(f"User-agent: *\nDisallow: /not-at-{host}".encode())
        else:
            self.reply(f"<title>{host} {self.path}</title>{self.path * 50}".encode())

    def reply(self, body: bytes) -> None:
        """Send a page that may be stored."""
        self.send_response(200)
        fields = {"Content-Type": "text/html", "Cache-Control": "max-age=3600", "Content-Length": str(len(body))}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def seed(url: str, page: int) -> lycosa.Request:
    """A page's request; every other one has a deduplication key."""
    return lycosa.Request(url, key=f"page {page}" if page % 2 else "")


def crawl(port: int, folder: Path, *, always: bool) -> Counter[str]:
    """Crawl all pages with a cache; returns how many are the sites' own, a portal's, or failures of a kind."""
    outcomes = lycosa.crawl(
        *(seed(f"http://site{host}.com:{port}/{page}", page) for host in range(HOSTS) for page in range(PAGES)),
        user_agent="t/1 (t@example.org)",
        allow_addresses=["127.0.0.0/8"],
        allow_ports=[port],
        max_depth=0,
        speed=5,
        names={"hosts_file": str(folder / "hosts")},
        politeness={"host_interval": 2, "address_interval": 0, "share_clocks": False},
        middleware=[lycosa.HttpCache(folder / "cache", always=always)],
    )
    # Of a page that was taken back the last outcome counts.
    last = {outcome.url: outcome for outcome in outcomes}
    return Counter(
        str(outcome.error) if outcome.status is None else "portal" if outcome.title == "portal" else "own"
        for outcome in last.values()
    )


@pytest.mark.parametrize("always", [False, True])
def test_what_a_portal_answered_is_not_kept(tmp_path: Path, *, always: bool) -> None:
    (tmp_path / "hosts").write_text("".join(f"127.0.{host + 1}.1 site{host}.com\n" for host in range(HOSTS)))
    is_portal = threading.Event()
    handler = type("Handler", (Site,), {"is_portal": is_portal})
    with contextlib.ExitStack() as stack:
        port = 0
        for host in range(HOSTS):
            server = stack.enter_context(ThreadingHTTPServer((f"127.0.{host + 1}.1", port), handler))
            port = server.server_port
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            stack.callback(server.shutdown)
        timers = [threading.Timer(1.5, is_portal.set), threading.Timer(6, is_portal.clear)]
        for timer in timers:
            timer.start()
        first = crawl(port, tmp_path, always=always)
        for timer in timers:
            timer.join()
        again = crawl(port, tmp_path, always=always)
    assert first == again == {"own": HOSTS * PAGES}
