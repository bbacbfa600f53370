"""Foreign servers of HTTP/2: nginx, which leaves in the midst of a crawl, and nghttpd."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import lycosa
import pytest

from benchmarks.crawl_costs import make_certificate
from benchmarks.dns_servers import PATH, free_port

PAGES = 60
NGINX = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    default_type text/html;
    access_log {folder}/access.log combined;
    keepalive_requests 25;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {key}; ssl_certificate_key {key};
        root {site};
    }}
}}
"""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with a certificate of 127.0.0.1, in one file."""
    return make_certificate(tmp_path_factory.mktemp("key"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Pages that all others link to, some of them large."""
    folder = tmp_path / "site"
    folder.mkdir()
    links = "".join(f'<a href="/{number}.html">{number}</a>' for number in range(PAGES))
    for name in ["index", *map(str, range(PAGES))]:
        (folder / f"{name}.html").write_text(links + "<p>text</p>" * (60_000 if name in "0123" else 10))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow:\n")
    return folder


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the end of the block."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 10
            while True:
                assert server.poll() is None, f"{command[0]} did not start"
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield server
        finally:
            server.terminate()


def program(name: str) -> str:
    """The path of a program of Debian."""
    found = shutil.which(name, path=PATH)
    assert found is not None, f"{name} is missing: see DEBIAN in the Makefile"
    return found


def crawl(port: int, key: Path, concurrency: int) -> lycosa.Crawl:
    """A crawl of the site, without pauses."""
    return lycosa.crawl(
        f"https://127.0.0.1:{port}/index.html",
        user_agent="mybot/1.0 (me@example.org)",
        allow_addresses=["127.0.0.0/8"],
        allow_ports=[port],
        fetch={"ca_file": str(key)},
        politeness={
            "host_interval": 0,
            "address_interval": 0,
            "host_concurrency": concurrency,
            "address_concurrency": concurrency,
        },
    )


@pytest.mark.parametrize("concurrency", [1, 16])
def test_nginx_that_ends_connections_and_reloads_loses_nothing(
    tmp_path: Path, site: Path, key: Path, concurrency: int
) -> None:
    port, configuration = free_port(), tmp_path / "nginx.conf"
    user = "user root;" if os.getuid() == 0 else ""
    configuration.write_text(NGINX.format(user=user, folder=tmp_path, port=port, key=key, site=site))
    command = [program("nginx"), "-p", str(tmp_path), "-c", str(configuration), "-e", str(tmp_path / "error.log")]
    with running(command, port) as server:
        outcomes = []
        for outcome in crawl(port, key, concurrency):
            outcomes.append(outcome)
            if len(outcomes) == PAGES // 2:
                server.send_signal(signal.SIGHUP)  # workers leave, with GOAWAY
    assert {(outcome.status, outcome.source) for outcome in outcomes} == {(200, "h2")}
    assert len({outcome.url for outcome in outcomes}) == len(outcomes) == PAGES + 1
    sizes = {outcome.url.rpartition("/")[2]: len(outcome.body or b"") for outcome in outcomes}
    assert sizes == {path.name: path.stat().st_size for path in site.glob("*.html")}
    log = (tmp_path / "access.log").read_text().splitlines()
    assert all('HTTP/2.0" 200' in line for line in log)


def test_nghttpd_is_crawled_by_one_connection(site: Path, key: Path) -> None:
    port = free_port()
    command = [program("nghttpd"), "-a", "127.0.0.1", "-d", str(site), str(port), str(key), str(key)]
    with running(command, port):
        outcomes = list(crawl(port, key, 8))
    assert {(outcome.status, outcome.source) for outcome in outcomes} == {(200, "h2")}
    assert len(outcomes) == PAGES + 1
    # The first connection was opened for robots.txt.
    assert not any(outcome.times["tls"] for outcome in outcomes)
