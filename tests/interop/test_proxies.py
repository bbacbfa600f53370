"""Foreign proxies: tinyproxy, microsocks, mitmproxy, and tinyproxy behind TLS by socat."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa.cli import main

from benchmarks.crawl_costs import make_certificate
from benchmarks.ports import free_port
from tests.interop.programs import program, running

#: Its user may read a temporary folder of root's only if it is root.
TINYPROXY = """
{user}
Port {port}
Listen 127.0.0.1
LogFile "{folder}/tinyproxy.log"
LogLevel Connect
MaxClients 64
{more}
"""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with a certificate of 127.0.0.1, in one file."""
    return make_certificate(tmp_path_factory.mktemp("key"))


class Echo(http.server.BaseHTTPRequestHandler):
    """Shows each request: who sent it, and its header fields."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        fields = "".join(f"<p>{name}: {value}</p>" for name, value in self.headers.items())
        body = f"<p>{self.client_address[0]}</p>{fields}<a href='/{len(self.path)}'>next</a>".encode()
        if self.path == "/robots.txt":
            body = b"User-agent: *\nDisallow:\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def site(key: Path | None = None) -> Iterator[str]:
    """A site that shows requests, by HTTPS if there is a key."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        if key is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"{'http' if key is None else 'https'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def tinyproxy(folder: Path, more: str = "") -> Iterator[int]:
    """Run tinyproxy; yields its port."""
    port, file = free_port(), folder / "tinyproxy.conf"
    user = "User root\nGroup root" if os.getuid() == 0 else ""
    file.write_text(TINYPROXY.format(user=user, port=port, folder=folder, more=more))
    with running([program("tinyproxy"), "-d", "-c", str(file)], port):
        yield port


@contextlib.contextmanager
def microsocks(*more: str) -> Iterator[int]:
    """Run microsocks; yields its port."""
    port = free_port()
    with running([program("microsocks"), "-i", "127.0.0.1", "-p", str(port), *more], port):
        yield port


@contextlib.contextmanager
def mitmproxy(folder: Path) -> Iterator[int]:
    """Run mitmproxy, which opens what passes it and shows certificates of its own; yields its port."""
    port = free_port()
    command = [program("mitmdump"), "--listen-host", "127.0.0.1", "-p", str(port), "--set", f"confdir={folder}"]
    with running([*command, "--ssl-insecure", "--set", "stream_large_bodies=1m"], port):
        yield port


def crawl(url: str, proxy: str, key: Path, speed: float = 1.0) -> list[Any]:
    """The outcomes of a crawl of a site through one proxy."""
    return list(
        lycosa.crawl(
            url,
            user_agent="mybot/1.0 (me@example.org)",
            allow_addresses=["127.0.0.0/8"],
            allow_ports=[int(url.rpartition(":")[2])],
            fetch={"ca_file": str(key), "total_timeout": 10.0},
            politeness={"host_interval": 0, "address_interval": 0},
            proxies={"allow_addresses": ["127.0.0.0/8"]},
            proxy_source=lambda: [proxy],
            speed=speed,
        )
    )


def check_pages(outcomes: list[Any], proxy: str) -> None:
    """The pages of a site came by a proxy."""
    assert len(outcomes) == 3, outcomes
    assert {(page.status, page.error, page.proxy) for page in outcomes} == {(200, None, proxy)}
    assert all(b"mybot/1.0" in page.body for page in outcomes)


@pytest.mark.parametrize("is_https", [False, True])
def test_tinyproxy_passes_requests_on_and_opens_tunnels(tmp_path: Path, key: Path, is_https: bool) -> None:
    with site(key if is_https else None) as url, tinyproxy(tmp_path) as port:
        outcomes = crawl(url, f"127.0.0.1:{port}", key)
    check_pages(outcomes, f"http://127.0.0.1:{port}")
    told = (tmp_path / "tinyproxy.log").read_text()
    assert ("CONNECT 127.0.0.1" if is_https else "GET http://127.0.0.1") in told
    # It says in each request that it passes on who it is.
    assert all((b"tinyproxy" in page.body) is not is_https for page in outcomes)


@pytest.mark.parametrize("is_https", [False, True])
def test_tinyproxy_with_a_password(tmp_path: Path, key: Path, is_https: bool) -> None:
    with site(key if is_https else None) as url, tinyproxy(tmp_path, "BasicAuth me secret") as port:
        outcomes = crawl(url, f"http://me:secret@127.0.0.1:{port}", key)
    check_pages(outcomes, f"http://me@127.0.0.1:{port}")
    assert not any(b"roxy-" in page.body for page in outcomes), "a site never gets the proxy's password"


@pytest.mark.parametrize("is_https", [False, True])
def test_mitmproxy_that_opens_tunnels_is_believed_only_with_its_authority(
    tmp_path: Path, key: Path, is_https: bool
) -> None:
    with site(key if is_https else None) as url, mitmproxy(tmp_path) as port:
        proxy = f"http://127.0.0.1:{port}"
        outcomes = crawl(url, proxy, tmp_path / "mitmproxy-ca-cert.pem")
        distrusted = crawl(url, proxy, key, speed=100) if is_https else []
    check_pages(outcomes, proxy)
    if is_https:
        assert {page.error for page in distrusted} == {"tls-certificate"}


@pytest.mark.parametrize("is_https", [False, True])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_microsocks_with_a_password(key: Path, scheme: str, is_https: bool) -> None:
    with site(key if is_https else None) as url, microsocks("-u", "me", "-P", "secret") as port:
        outcomes = crawl(url, f"{scheme}://me:secret@127.0.0.1:{port}", key)
    check_pages(outcomes, f"{scheme}://me@127.0.0.1:{port}")


@pytest.mark.parametrize("is_https", [False, True])
def test_a_proxy_behind_tls(tmp_path: Path, key: Path, is_https: bool) -> None:
    port = free_port()
    with site(key if is_https else None) as url, tinyproxy(tmp_path) as inner:
        listen = f"OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,verify=0,cert={key}"
        with running([program("socat"), listen, f"TCP:127.0.0.1:{inner}"], port):
            outcomes = crawl(url, f"https://127.0.0.1:{port}", key)
    check_pages(outcomes, f"https://127.0.0.1:{port}")


def test_a_list_is_checked(tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, working = tmp_path / "proxies.txt", tmp_path / "working.txt"
    with site() as url, tinyproxy(tmp_path, "BasicAuth me secret") as http_port, microsocks() as socks_port:
        lines.write_text(
            f"127.0.0.1:{http_port}:me:secret carrier\n127.0.0.1:{http_port}:you:wrong\nno proxy\n"
            f"socks5://127.0.0.1:{socks_port}\nsocks5://127.0.0.1:{free_port()}\n"
        )
        lines.chmod(0o600)
        command = ["proxies", "check", str(lines), "--url", f"{url}/", "--allow-address", "127.0.0.0/8", "--json"]
        status = main([*command, "-o", str(working)])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert working.stat().st_mode & 0o777 == 0o600
    assert {(each["proxy"], each["works"]) for each in told if each["works"]} == {
        (f"http://me@127.0.0.1:{http_port}", True),
        (f"socks5://127.0.0.1:{socks_port}", True),
    }
    assert sorted(working.read_text().splitlines()) == [
        f"http://me:secret@127.0.0.1:{http_port} carrier",
        f"socks5://127.0.0.1:{socks_port}",
    ]
    assert main([*command[:2], str(tmp_path / "none.txt"), *command[3:]]) == 2
