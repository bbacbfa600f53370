"""Whose failure a failure is."""

from __future__ import annotations

import socketserver
import threading
from types import SimpleNamespace
from typing import cast

import pytest
from lycosa import _core
from lycosa.job import make_job
from lycosa.proxies import parse
from lycosa.proxies.faults import fault_of, is_of_page
from lycosa.proxies.pool import Pool
from lycosa.proxies.stages import BATCH, MEMORY
from lycosa.records import Requests, Response


def test_each_failure_is_somebodys() -> None:
    request = _core.Proxies.request("https://a.example/", 1, [], "http://192.0.2.1:80")
    for kind, address, fault in [
        ("proxy-failed", None, "own"),
        ("connect-failed", None, "network"),
        ("connect-failed", "192.0.2.1", "doubtful"),
        ("read-timeout", "192.0.2.1", "doubtful"),
        ("local-failure", None, None),
        ("body-too-large", "192.0.2.1", None),
        ("cancelled", None, None),
    ]:
        assert fault_of(request.fail(kind, address=address)) == fault, kind
    assert fault_of(request.respond(407)) is None


def test_a_tunnel_that_is_refused_is_no_failure_of_the_whole_proxy() -> None:
    request = _core.Proxies.request("https://a.example/", 1, [], "http://192.0.2.1:80")
    for why, fault in [
        ("it answered CONNECT with status 403", "refused"),
        ("it answered CONNECT with status 500", "refused"),
        ("General SOCKS server failure", "refused"),
        ("Connection not allowed by ruleset", "refused"),
        ("it answered CONNECT with status 407", "own"),
        ("Password auth failure, code: 1", "own"),
        ("No acceptable auth methods", "own"),
        ("its answer to CONNECT is not HTTP: invalid token", "own"),
        ("connection refused", "own"),
    ]:
        assert fault_of(request.fail("proxy-failed", f"http://192.0.2.1:80: {why}")) == fault, why


@pytest.mark.parametrize(
    ("scheme", "replies", "fault"),
    [
        ("http", [b"HTTP/1.1 403 Forbidden\r\n\r\n"], "refused"),
        ("http", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"], "own"),
        ("http", [b"HTTP/1.1 502 Bad Gateway\r\n\r\n"], "doubtful"),
        ("http", [b"SSH-2.0-OpenSSH_9\r\n\r\n"], "own"),
        ("socks5h", [b"\5\0", b"\5\1\0\1\0\0\0\0\0\0"], "refused"),
        ("socks5h", [b"\5\0", b"\5\2\0\1\0\0\0\0\0\0"], "refused"),
        ("socks5h", [b"\5\0", b"\5\7\0\1\0\0\0\0\0\0"], "own"),
        ("socks5h", [b"\5\377"], "own"),
    ],
)
def test_what_a_proxy_says_of_a_tunnel_is_understood(scheme: str, replies: list[bytes], fault: str) -> None:
    class Says(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            for reply in replies:
                self.request.recv(1_000)
                self.request.sendall(reply)

    job = make_job({"proxies": {"allow_addresses": ["127.0.0.0/8"]}})
    pool = Pool(allowed=job.proxies.allow_addresses)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Says) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = parse(f"{scheme}://127.0.0.1:{server.server_address[1]}")
        assert proxy is not None
        pool.add(proxy, [proxy.host])
        fetcher = _core.Fetcher(job, None, MEMORY, BATCH, pool.table)
        fetcher.submit(Requests([_core.Proxies.request("https://a.example/", 1, [], proxy.name)]))
        [response] = fetcher.completed(1, 10.0)
        server.shutdown()
    assert fault_of(response) == fault, response.error_detail


def test_a_robots_txt_that_is_forbidden_says_nothing_of_the_client() -> None:
    def told(purpose: str, status: int) -> bool:
        response = SimpleNamespace(request=SimpleNamespace(purpose=purpose), status=status)
        return is_of_page(cast(Response, response))

    assert [told("page", 403), told("robots", 403), told("robots", 429)] == [True, False, True]
