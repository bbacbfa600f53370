"""Foreign servers of HTTP/2: nginx, which leaves in the midst of a crawl, nghttpd, Caddy and Hypercorn."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import lycosa
import pytest

from benchmarks.crawl_costs import make_certificate
from benchmarks.ports import free_port
from tests.interop.programs import program, running

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

CADDY = """
{{
    admin off
    auto_https off
    storage file_system {folder}
    servers {{
        protocols h1 h2
    }}
}}
https://127.0.0.1:{port} {{
    bind 127.0.0.1
    tls {key} {key}
    encode zstd gzip
    root * {site}
    file_server
}}
"""

#: Pages of Hypercorn's: hints before the response, a body in many pieces, fields after it.
APPLICATION = """
PAGES = {pages}

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError
    name = scope["path"].strip("/").removesuffix(".html")
    if name == "robots.txt":
        await send({{"type": "http.response.start", "status": 404, "headers": []}})
        await send({{"type": "http.response.body"}})
        return
    if "http.response.early_hint" in scope["extensions"]:
        await send({{"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload"]}})
    headers = [(b"content-type", b"text/html"), (b"x-protocol", scope["http_version"].encode())]
    await send({{"type": "http.response.start", "status": 200, "headers": headers}})
    for number in range(PAGES):
        piece = b'<a href="/%d.html">x</a>%s' % (number, b"text" * (2_000 if name == "0" else 1))
        await send({{"type": "http.response.body", "body": piece, "more_body": True}})
    await send({{"type": "http.response.body"}})
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


def crawl(port: int, key: Path, concurrency: int, *, http2: bool = True) -> lycosa.Crawl:
    """A crawl of the site, without pauses."""
    return lycosa.crawl(
        f"https://127.0.0.1:{port}/index.html",
        user_agent="mybot/1.0 (me@example.org)",
        allow_addresses=["127.0.0.0/8"],
        allow_ports=[port],
        fetch={"ca_file": str(key), "http2": http2},
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


@pytest.mark.parametrize(("http2", "source"), [(True, "h2"), (False, "http/1.1")])
def test_caddy_is_crawled_with_its_codings(
    tmp_path: Path, site: Path, key: Path, *, http2: bool, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, configuration = free_port(), tmp_path / "Caddyfile"
    configuration.write_text(CADDY.format(folder=tmp_path / "storage", port=port, key=key, site=site))
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [program("caddy"), "run", "--config", str(configuration), "--adapter", "caddyfile"]
    with running(command, port):
        outcomes = list(crawl(port, key, 8, http2=http2))
    assert {(outcome.status, outcome.source) for outcome in outcomes} == {(200, source)}
    sizes = {outcome.url.rpartition("/")[2]: len(outcome.body or b"") for outcome in outcomes}
    expected = {path.name: path.stat().st_size for path in site.glob("*.html")}
    assert sizes == expected
    assert {outcome.header("content-encoding") for outcome in outcomes} <= {"zstd", "gzip"}


@pytest.mark.parametrize(("http2", "source"), [(True, "h2"), (False, "http/1.1")])
def test_hypercorn_with_hints_and_bodies_in_pieces(
    tmp_path: Path, key: Path, *, http2: bool, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hypercorn_site.py").write_text(APPLICATION.format(pages=PAGES))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    port = free_port()
    command = [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{port}", "--certfile", str(key)]
    with running([*command, "--keyfile", str(key), "hypercorn_site:app"], port):
        outcomes = list(crawl(port, key, 8, http2=http2))
    assert {(outcome.status, outcome.source) for outcome in outcomes} == {(200, source)}
    assert len(outcomes) == PAGES + 1
    assert {outcome.header("x-protocol") for outcome in outcomes} == {"2" if http2 else "1.1"}
    assert max(len(outcome.body or b"") for outcome in outcomes) > PAGES * 8_000
