"""What bad sites do is recorded as an outcome with a stable name, and the crawl goes on."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import lycosa
import pytest

if TYPE_CHECKING:
    from tests.conftest import DnsServer


class BadSite(BaseHTTPRequestHandler):
    """Each path misbehaves in its own way."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer, or do not."""
        path = self.path.strip("/")
        headers, body, status = {"Content-Type": "text/html"}, b"<title>ok</title>", 200
        if path == "robots.txt":
            status = 404
        elif path == "oversized":
            body = b"x" * 300_000
        elif path == "bomb":
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(b"x" * 5_000_000)
        elif path == "broken-gzip":
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(b"x" * 5_000)[:-20]
        elif path == "charset":
            headers["Content-Type"] = "text/html; charset=no-such-charset"
            body = b"<title>caf\xe9</title>"
        elif path == "circle":
            status, headers["Location"] = 302, "/circle"
        elif path.startswith("chain"):
            status, headers["Location"] = 302, f"/chain{int(path.removeprefix('chain') or 0) + 1}"
        elif path == "silent":
            time.sleep(3)
        elif path == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
            return
        elif path == "garbage":
            self.wfile.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
            self.close_connection = True
            return
        elif path == "headers":
            headers["X-Long"] = "x" * 70_000
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The bad site's base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BadSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def bad_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with a certificate that nobody trusts."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BadSite)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def outcomes(*seeds: str, resolver: str) -> dict[str, tuple[int | None, str | None]]:
    """Status and error of each URL; the first failure counts."""
    crawl = lycosa.crawl(
        *seeds,
        allow_addresses=["127.0.0.0/8"],
        user_agent="lycosa-tests/0.1 (+http://localhost/)",
        names={"resolvers": [resolver], "timeout": 0.2, "attempts": 2},
        frontier={"patience": 0},
        politeness={
            "host_interval": 0,
            "address_interval": 0,
            "max_interval": 0,  # all these faults are one site's
            "retries": 0,
            "host_concurrency": 4,
            "address_concurrency": 4,
        },
        fetch={"max_body_bytes": 200_000, "read_timeout": 0.5, "total_timeout": 5, "connect_timeout": 2},
        parse={"max_decoded_bytes": 1_000_000},
    )
    return {page.url: (page.status, page.error) for page in crawl}


def test_every_fault_has_its_stable_name(site: str, dns: DnsServer) -> None:
    faults = {
        "oversized": "body-too-large",
        "bomb": "body-too-large",
        "broken-gzip": "encoding-bad",
        "circle": "redirect-limit",
        "silent": "read-timeout",
        "cut": "connection-closed",
        "garbage": "protocol",
        "headers": "headers-too-large",
    }
    found = outcomes(f"{site}/fine", f"{site}/charset", *(f"{site}/{path}" for path in faults), resolver=dns.address)
    assert found.pop(f"{site}/fine") == (200, None)
    assert found.pop(f"{site}/charset") == (200, None), "an unknown charset is guessed"
    assert {url.removeprefix(f"{site}/"): outcome for url, outcome in found.items()} == {
        path: (None, error) for path, error in faults.items()
    }


def test_an_endless_chain_of_redirects_ends(site: str, dns: DnsServer) -> None:
    found = outcomes(f"{site}/chain", resolver=dns.address)
    assert found == {f"{site}/chain10": (None, "redirect-limit")}


def test_bad_certificates_and_closed_ports_are_told_apart(bad_certificate: str, dns: DnsServer) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))
        refused = f"http://127.0.0.2:{closed.getsockname()[1]}/"
        found = outcomes(bad_certificate, refused, resolver=dns.address)
    assert found == {bad_certificate: (None, "tls-certificate"), refused: (None, "connect-refused")}


def test_names_that_do_not_resolve_are_told_apart(dns: DnsServer) -> None:
    faults = {
        "gone": "name-not-found",
        "empty": "name-no-data",
        "broken": "name-server-failure",
        "silent": "name-timeout",
    }
    found = outcomes(*(f"http://{name}.example/" for name in faults), resolver=dns.address)
    assert found == {f"http://{name}.example/": (None, error) for name, error in faults.items()}
