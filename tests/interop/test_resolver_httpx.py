"""Synchronous httpx and httpcore, unmodified, connect by Lycosa's resolver; and httpx's two transports."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import os
import select
import shlex
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpcore
import httpx
import pytest
from lycosa.names.adapters import connecting
from lycosa.names.adapters.connecting import connect_to_first
from lycosa.names.adapters.httpcore import HttpcoreBackend, HttpcoreSyncBackend
from lycosa.names.adapters.httpx import HttpxAsyncTransport, HttpxOptions, HttpxTransport
from lycosa.names.lookups import Lookups
from lycosa.simnet import SimulatedInternet

from tests.interop.connections import black_hole, causes

if TYPE_CHECKING:
    from tests.conftest import DnsServer


@pytest.fixture(scope="module")
def net() -> Iterator[SimulatedInternet]:
    """One Internet on high ports for all tests of this file; half of it on HTTPS, a third of that bad."""
    with SimulatedInternet(hosts=40, pages=3, seed=11, https=0.5, bad_certificates=0.33) as running:
        yield running


@pytest.fixture
def lookups(net: SimulatedInternet) -> Iterator[Lookups]:
    """Lookups by its DNS server."""
    with Lookups(resolvers=[net.resolver]) as lookups:
        yield lookups


def plain_urls(net: SimulatedInternet) -> list[str]:
    """A page of each host without HTTPS."""
    return [f"http://{name}:{net.http_port}/" for name in net.hosts if name not in net.certificates]


def secure_urls(net: SimulatedInternet, kind: str = "good") -> list[str]:
    """A page of each host on HTTPS with such a certificate."""
    return [f"https://{name}:{net.https_port}/" for name, found in net.certificates.items() if found == kind]


@contextlib.contextmanager
def listener(address: str, port: int = 0) -> Iterator[socket.socket]:
    """Somebody who listens."""
    with socket.create_server((address, port)) as listening:
        yield listening


@pytest.fixture
def two(start_dns: Callable[..., DnsServer]) -> Iterator[Callable[..., HttpcoreSyncBackend]]:
    """Makes backends for which ``two.example`` has these addresses."""
    with contextlib.ExitStack() as open_lookups:

        def make(*addresses: str) -> HttpcoreSyncBackend:
            dns = start_dns()
            dns.hosts["two.example"] = list(addresses)
            return HttpcoreSyncBackend(open_lookups.enter_context(Lookups(resolvers=[dns.address])))

        yield make


def test_a_client_that_many_threads_share(net: SimulatedInternet, lookups: Lookups) -> None:
    urls = plain_urls(net)
    with httpx.Client(transport=HttpxTransport(lookups)) as client, ThreadPoolExecutor(8) as threads:
        with pytest.raises(httpx.ConnectError, match="nxdomain"):
            client.get("http://no.such.example/")
        # Connections are kept: the second round needs no name any more.
        for _ in range(2):
            assert [answer.status_code for answer in threads.map(client.get, urls)] == [200] * len(urls)
        assert lookups.statistics()["ok"] == len(urls) >= 10


def test_a_client_on_asyncio(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> list[int]:
        async with httpx.AsyncClient(transport=HttpxAsyncTransport(lookups)) as client:
            with pytest.raises(httpx.ConnectError, match="nxdomain"):
                await client.get("http://no.such.example/")
            answers = await asyncio.gather(*map(client.get, plain_urls(net)))
            return [answer.status_code for answer in answers]

    assert asyncio.run(story()) == [200] * len(plain_urls(net))


@pytest.mark.parametrize(("http2", "version"), [(False, "HTTP/1.1"), (True, "HTTP/2")])
def test_https(net: SimulatedInternet, lookups: Lookups, http2: bool, version: str) -> None:
    context = ssl.create_default_context(cafile=net.ca_file)
    with httpx.Client(transport=HttpxTransport(lookups, verify=context, http2=http2)) as client:
        for url in secure_urls(net):
            answer = client.get(url)
            assert (answer.status_code, answer.http_version) == (200, version)
            assert len(answer.content) > 100
            stream = answer.extensions["network_stream"]
            assert stream.get_extra_info("server_addr") == (net.hosts[answer.url.host], net.https_port)
            assert stream.get_extra_info("ssl_object").getpeercert()
        with pytest.raises(httpx.ConnectError, match="certificate has expired"):
            client.get(secure_urls(net, "expired")[0])
        assert client.get(secure_urls(net)[0]).status_code == 200


def test_the_next_address_is_tried_when_the_first_is_silent(two: Callable[..., HttpcoreSyncBackend]) -> None:
    with black_hole() as (silent, port), listener("127.0.0.3", port):
        backend, threads = two(silent, "127.0.0.3"), threading.active_count()
        begin = time.monotonic()
        stream = backend.connect_tcp("two.example", port, timeout=3)
        taken = time.monotonic() - begin
        assert stream.get_extra_info("server_addr") == ("127.0.0.3", port)
        assert threading.active_count() == threads
        stream.close()
    assert 0.2 < taken < 1


def test_the_next_address_is_tried_at_once_when_the_first_refuses(
    two: Callable[..., HttpcoreSyncBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "DELAY", 60)
    with listener("127.0.0.3") as listening:
        port = listening.getsockname()[1]
        stream = two("127.0.0.2", "127.0.0.3").connect_tcp("two.example", port, timeout=10)
        assert stream.get_extra_info("server_addr") == ("127.0.0.3", port)
        stream.close()
    with pytest.raises(httpcore.ConnectError, match=rf"127\.0\.0\.2 port {port}: Connection refused"):
        two("127.0.0.2", "127.0.0.3").connect_tcp("two.example", port, timeout=10)


def test_families_take_turns(two: Callable[..., HttpcoreSyncBackend], monkeypatch: pytest.MonkeyPatch) -> None:
    # The first refuses; were families not in turn, the silent one would be next, and nobody after it.
    monkeypatch.setattr(connecting, "DELAY", 60)
    with black_hole() as (silent, port), socket.create_server(("::1", port), family=socket.AF_INET6) as other:
        stream = two("127.0.0.1", silent, "::1").connect_tcp("two.example", port, timeout=10)
        assert stream.get_extra_info("server_addr") == other.getsockname()
        stream.close()


def test_the_caller_s_time_holds(two: Callable[..., HttpcoreSyncBackend]) -> None:
    with black_hole() as (silent, port):
        backend = two(silent)
        with pytest.raises(httpcore.ConnectError, match="nxdomain"):
            backend.connect_tcp("gone.example", port, timeout=3)
        for host in ("two.example", "silent.example"):
            begin = time.monotonic()
            with pytest.raises(httpcore.ConnectTimeout, match=r"not connected in 0\.4 s"):
                backend.connect_tcp(host, port, timeout=0.4)
            assert 0.35 < time.monotonic() - begin < 2


def test_sockets_that_were_not_first_are_closed() -> None:
    with black_hole() as (silent, port), listener("127.0.0.3", port):
        before = len(os.listdir("/proc/self/fd"))
        with connect_to_first([silent, "127.0.0.3"], port, math.inf, None, []) as connected:
            assert connected.getpeername() == ("127.0.0.3", port)
            assert len(os.listdir("/proc/self/fd")) == before + 1
        for deadline, options in ((time.monotonic() + 0.3, []), (math.inf, [(socket.SOL_SOCKET, 99_999, 1)])):
            with pytest.raises(OSError, match=r"^$|Protocol not available"):
                connect_to_first([silent, silent], port, deadline, None, options)
        assert len(os.listdir("/proc/self/fd")) == before


def test_who_waits_is_told_when_the_lookups_close(start_dns: Callable[..., DnsServer]) -> None:
    lookups = Lookups(resolvers=[start_dns().address])
    closing = threading.Timer(0.1, lookups.close)
    closing.start()
    with pytest.raises(httpcore.ConnectError, match="the lookups are closed"):
        HttpcoreSyncBackend(lookups).connect_tcp("silent.example", 80, timeout=5)
    closing.join()


def test_who_waits_in_a_loop_is_told_as_well_and_is_not_cancelled(start_dns: Callable[..., DnsServer]) -> None:
    lookups = Lookups(resolvers=[start_dns().address], families="v4", timeout=60.0)

    async def wait() -> None:
        closing = threading.Timer(0.1, lookups.close)
        closing.start()
        with pytest.raises(httpcore.ConnectError, match="the lookups are closed"):
            await HttpcoreBackend(lookups).connect_tcp("silent.example", 80, timeout=30.0)
        closing.join()
        with pytest.raises(httpcore.ConnectError, match="the lookups are closed"):
            await HttpcoreBackend(lookups).connect_tcp("www.example", 80)

    asyncio.run(wait())
    with pytest.raises(httpcore.ConnectError, match="the lookups are closed"):
        HttpcoreSyncBackend(lookups).connect_tcp("www.example", 80)


def test_a_task_that_is_cancelled_while_a_name_is_asked_for_stays_so(start_dns: Callable[..., DnsServer]) -> None:
    async def wait() -> None:
        with Lookups(resolvers=[start_dns().address], families="v4", timeout=60.0) as lookups:
            task = asyncio.create_task(HttpcoreBackend(lookups).connect_tcp("silent.example", 80))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(wait())


def test_the_caller_s_address_and_options_are_used(lookups: Lookups) -> None:
    with listener("127.0.0.3") as listening:
        port = listening.getsockname()[1]
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        stream = HttpcoreSyncBackend(lookups).connect_tcp("127.0.0.3", port, 3, "127.0.0.9", options)
        connection, (peer, _) = listening.accept()
        assert peer == "127.0.0.9" == stream.get_extra_info("client_addr")[0]
        used = stream.get_extra_info("socket")
        assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        # A stream tells whether somebody said something, or left, and waits no longer than it may.
        assert not stream.get_extra_info("is_readable")
        with pytest.raises(httpcore.ReadTimeout):
            stream.read(10, timeout=0.05)
        connection.close()
        assert select.select([used], [], [], 3)[0]
        assert stream.get_extra_info("is_readable")
        assert stream.read(10) == b""
        stream.close()
        assert stream.get_extra_info("is_readable")
        with pytest.raises(httpcore.ConnectError):
            HttpcoreSyncBackend(lookups).connect_tcp("127.0.0.3", port, 3, "::1")


def test_local_sockets(lookups: Lookups, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with httpx.Client(transport=HttpxTransport(lookups, uds=path)) as client:
            assert client.get("http://whatever.example/").status_code == 204
        thread.join()


def certify(folder: Path) -> None:
    """A certificate of 127.0.0.1 that signs itself."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=proxy"
    command += " -addext subjectAltName=IP:127.0.0.1 -keyout proxy.key -out proxy.pem"
    subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)


def relay(client: ssl.SSLSocket, server: socket.socket) -> None:
    """Hand over what comes from either side until one leaves."""
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [], 10)[0]
        for one, other in ((client, server), (server, client)):
            if one in ready:
                data = one.recv(10_000)
                if not data:
                    return
                other.sendall(data)


def test_a_proxy_on_https_carries_https(net: SimulatedInternet, lookups: Lookups, tmp_path: Path) -> None:
    certify(tmp_path)
    identity = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    identity.load_cert_chain(tmp_path / "proxy.pem", tmp_path / "proxy.key")
    url = max(secure_urls(net), key=lambda url: len(url))
    asked: list[bytes] = []

    with listener("127.0.0.1") as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            with identity.wrap_socket(plain, server_side=True) as client:
                asked.append(client.recv(4_000))
                host = asked[0].split()[1].decode().partition(":")[0]
                with socket.create_connection((net.hosts[host], net.https_port), timeout=10) as server:
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    relay(client, server)

        thread = threading.Thread(target=serve)
        thread.start()
        proxy = httpx.Proxy(
            f"https://someone:secret@127.0.0.1:{listening.getsockname()[1]}",
            ssl_context=ssl.create_default_context(cafile=tmp_path / "proxy.pem"),
        )
        context = ssl.create_default_context(cafile=net.ca_file)
        with httpx.Client(transport=HttpxTransport(lookups, verify=context, proxy=proxy)) as client:
            bodies = [client.get(url).content for _ in range(3)]
        thread.join()
    with httpx.Client(transport=HttpxTransport(lookups, verify=context)) as client:
        assert bodies == [client.get(url).content] * 3
    assert b"Proxy-Authorization: Basic " in asked[0]


def test_a_filter_s_refusal_is_an_error_of_httpx(net: SimulatedInternet) -> None:
    with (
        Lookups(resolvers=[net.resolver], filter_private=True) as strict,
        httpx.Client(transport=HttpxTransport(strict)) as client,
    ):
        for host in (next(iter(net.hosts)), "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"):
            with pytest.raises(httpx.ConnectError) as raised:
                client.get(f"http://{host}:{net.http_port}/")
            assert any("refused by filter_private" in text for text in causes(raised.value)), host
        # However an address is written, it is refused or no name.
        for host in ("127.1", "0x7f.1", "2130706433"):
            with pytest.raises(httpx.ConnectError):
                client.get(f"http://{host}:{net.http_port}/")


def test_options_are_those_of_httpx(lookups: Lookups) -> None:
    for theirs in (httpx.HTTPTransport, httpx.AsyncHTTPTransport):
        assert set(inspect.signature(theirs).parameters) == set(HttpxOptions.__annotations__)
    wrong: Any = {"timeout": 3}
    with pytest.raises(TypeError, match="timeout"):
        HttpxTransport(lookups, **wrong)


def test_every_error_of_httpcore_becomes_one_of_httpx(lookups: Lookups, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = [found for found in vars(httpcore).values() if isinstance(found, type) and issubclass(found, Exception)]
    transport = HttpxTransport(lookups)
    for kind in errors:

        def fail(*_: object, kind: type[Exception] = kind) -> httpcore.Response:
            raise kind("so it is")

        monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", fail)
        expected = kind if kind is httpcore.ConnectionNotAvailable else getattr(httpx, kind.__name__)
        with pytest.raises(expected, match="so it is"):
            transport.handle_request(httpx.Request("GET", "http://host.example/"))
    assert len(errors) >= 14
