"""The HTTP cache before nginx, which compresses, says how long pages are fresh, and answers validations."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import lycosa

from benchmarks.ports import free_port
from tests.interop.programs import program, running

PAGES = 20
NGINX = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    default_type text/html;
    access_log {folder}/access.log combined;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    gzip on; gzip_vary on; gzip_min_length 100;
    server {{
        listen 127.0.0.1:{port};
        root {site};
        expires 10m;
    }}
}}
"""


def crawl(port: int, cache: lycosa.HttpCache) -> dict[str, lycosa.Outcome]:
    """Crawl the site; returns the outcome of each page by its name."""
    outcomes = lycosa.crawl(
        f"http://127.0.0.1:{port}/index.html",
        user_agent="mybot/1.0 (me@example.org)",
        allow_addresses=["127.0.0.0/8"],
        allow_ports=[port],
        politeness={"host_interval": 0, "address_interval": 0},
        middleware=[cache],
    )
    return {outcome.url.rpartition("/")[2]: outcome for outcome in outcomes}


def test_nginx_is_asked_once_then_validates_and_tells_what_has_changed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    links = "".join(f'<a href="/{number}.html">{number}</a>' for number in range(PAGES))
    for name in ["index", *map(str, range(PAGES))]:
        (site / f"{name}.html").write_text(f"<title>{name}</title>{links}")
    (site / "robots.txt").write_text("User-agent: *\nDisallow:\n")
    port, configuration, log = free_port(), tmp_path / "nginx.conf", tmp_path / "access.log"
    user = "user root;" if os.getuid() == 0 else ""
    configuration.write_text(NGINX.format(user=user, folder=tmp_path, port=port, site=site))
    command = [program("nginx"), "-p", str(tmp_path), "-c", str(configuration), "-e", str(tmp_path / "error.log")]
    ahead, read = 0, 0

    def asked() -> Counter[str]:
        """The statuses of nginx's answers for pages since the last look."""
        nonlocal read
        lines = log.read_text().splitlines()
        new, read = lines[read:], len(lines)
        return Counter(line.split('" ')[1].split()[0] for line in new if "robots.txt" not in line)

    titles = {"index.html": "index", **{f"{number}.html": str(number) for number in range(PAGES)}}
    with running(command, port):
        cache = lycosa.HttpCache(tmp_path / "cache", clock=lambda: time.time() + ahead)
        first = crawl(port, cache)
        assert asked() == {"200": PAGES + 1}
        assert {outcome.header("content-encoding") for outcome in first.values()} == {"gzip"}
        fresh = crawl(port, cache)
        assert asked() == {}
        assert {outcome.source for outcome in fresh.values()} == {"cache"}
        ahead = 601
        (site / "7.html").write_text("<title>changed</title>")
        later = crawl(port, cache)
        assert asked() == {"304": PAGES, "200": 1}
        assert {outcome.source for outcome in later.values()} == {"http/1.1"}
        ahead = 0  # by nginx's clock nothing is ten minutes old
        again = crawl(port, cache)
        assert asked() == {}
    for outcomes in (first, fresh):
        assert {name: outcome.title for name, outcome in outcomes.items()} == titles
    for outcomes in (later, again):
        assert {name: outcome.title for name, outcome in outcomes.items()} == titles | {"7.html": "changed"}
        assert outcomes["3.html"].body == first["3.html"].body
        assert outcomes["3.html"].links == first["3.html"].links
