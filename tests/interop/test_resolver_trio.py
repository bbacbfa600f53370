"""trio, and httpx and anyio on top of it, unmodified, find hosts by Lycosa's resolver."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
import trio
from lycosa._core import Resolution
from lycosa.names.adapters.trio import trio_resolver_by
from lycosa.names.lookups import Lookups
from lycosa.simnet import SimulatedInternet

from tests.interop.connections import black_hole, causes

if TYPE_CHECKING:
    from tests.conftest import DnsServer


@pytest.fixture(scope="module")
def net() -> Iterator[SimulatedInternet]:
    """One Internet on high ports for all tests of this file; nobody else knows its names."""
    with SimulatedInternet(hosts=20, pages=3, seed=13) as running:
        yield running


@pytest.fixture
def lookups(net: SimulatedInternet) -> Iterator[Lookups]:
    """Lookups by its DNS server."""
    with Lookups(resolvers=[net.resolver]) as lookups:
        yield lookups


def test_httpx(net: SimulatedInternet, lookups: Lookups) -> None:
    statuses: list[int] = []

    async def story() -> None:
        with trio_resolver_by(lookups):
            async with httpx.AsyncClient() as client, trio.open_nursery() as nursery:
                with pytest.raises(httpx.ConnectError, match="nxdomain"):
                    await client.get("http://no.such.example/")

                async def get(name: str) -> None:
                    statuses.append((await client.get(f"http://{name}:{net.http_port}/")).status_code)

                for name in net.hosts:
                    nursery.start_soon(get, name)

    trio.run(story)
    assert statuses == [200] * 20
    assert lookups.statistics()["ok"] == 20


def test_anyio_and_trio_s_own_connections(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> None:
        with trio_resolver_by(lookups):
            for name, address in net.hosts.items():
                async with await anyio.connect_tcp(name, net.http_port) as stream:
                    peer = stream.extra_attributes[anyio.abc.SocketAttribute.remote_address]()
                assert peer == (address, net.http_port)
                async with await trio.open_tcp_stream(name, net.http_port) as own:
                    assert own.socket.getpeername() == (address, net.http_port)
                with trio.socket.socket() as bare:
                    await bare.connect((name, net.http_port))
                    assert bare.getpeername() == (address, net.http_port)
        assert trio.socket.set_custom_hostname_resolver(None) is None
        assert trio.socket.set_custom_socket_factory(None) is None

    trio.run(story)


def test_getaddrinfo_and_getnameinfo(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> None:
        name, address = next(iter(net.hosts.items()))
        with trio_resolver_by(lookups):
            entries = await trio.socket.getaddrinfo(name, "http", type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
            assert entries == [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, name, (address, 80))]
            for host, family, flags in [(name, socket.AF_INET6, 0), (name, 0, socket.AI_NUMERICHOST)]:
                with pytest.raises(socket.gaierror) as error:
                    await trio.socket.getaddrinfo(host, 80, family=family, flags=flags)
                assert error.value.errno == socket.EAI_NONAME
            assert await trio.socket.getaddrinfo(None, "http") == socket.getaddrinfo(None, "http")
            numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
            assert await trio.socket.getnameinfo((address, 80), numeric) == (address, "80")

    trio.run(story)


def test_the_next_address_is_tried_when_the_first_is_silent(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()

    async def story() -> float:
        with black_hole() as (silent, port), socket.create_server(("127.0.0.3", port)):
            dns.hosts["two.example"] = [silent, "127.0.0.3"]
            with Lookups(resolvers=[dns.address]) as lookups, trio_resolver_by(lookups):
                begin = time.monotonic()
                with trio.fail_after(3):
                    stream = await trio.open_tcp_stream("two.example", port)
                taken = time.monotonic() - begin
                assert stream.socket.getpeername() == ("127.0.0.3", port)
                await stream.aclose()
                return taken

    assert 0.2 < trio.run(story) < 1


def test_families_take_turns(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    dns.hosts["many.example"] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2"]

    async def story() -> list[str]:
        with Lookups(resolvers=[dns.address]) as lookups, trio_resolver_by(lookups):
            found = await trio.socket.getaddrinfo("many.example", 80, type=socket.SOCK_STREAM)
            return [str(entry[4][0]) for entry in found]

    assert trio.run(story) == ["192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2", "192.0.2.3"]


class Noted(Lookups):
    """Lookups that remember what was asked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[Future[Resolution]] = []

    def ask(self, name: str) -> Future[Resolution]:
        self.asked.append(super().ask(name))
        return self.asked[-1]


def test_waiting_blocks_nobody_and_leaves_nothing_when_it_is_cancelled(start_dns: Callable[..., DnsServer]) -> None:
    with Noted(resolvers=[start_dns().address], families="v4") as lookups:

        async def story() -> None:
            threads, tasks = threading.active_count(), trio.lowlevel.current_statistics().tasks_living
            with trio_resolver_by(lookups):
                begin = time.monotonic()
                async with trio.open_nursery() as nursery:
                    for number in range(20):
                        nursery.start_soon(trio.socket.getaddrinfo, f"silent{number}.example", 80)
                    await trio.sleep(0.05)
                    assert trio.lowlevel.current_statistics().tasks_living == tasks + 20
                    assert threading.active_count() == threads
                    nursery.cancel_scope.cancel()
                assert time.monotonic() - begin < 2
                assert trio.lowlevel.current_statistics().tasks_living == tasks
                assert [future.cancelled() for future in lookups.asked] == [True] * 20

        trio.run(story)
        assert lookups.wait("www.example", within=30).addresses == ["192.0.2.1"]


def test_an_answer_that_comes_when_trio_has_ended_troubles_nobody(
    lookups: Lookups, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Being delivered as trio cancels: too late to take it back.
    under_way: Future[Resolution] = Future()
    under_way.set_running_or_notify_cancel()
    monkeypatch.setattr(lookups, "ask", lambda _: under_way)

    async def story() -> None:
        with trio_resolver_by(lookups), trio.move_on_after(0.01) as waiting:
            await trio.socket.getaddrinfo("www.example", 80)
        assert waiting.cancelled_caught

    trio.run(story)
    monkeypatch.undo()
    under_way.set_result(lookups.wait("localhost"))
    assert not caplog.records


def test_who_waits_is_told_when_the_lookups_close(start_dns: Callable[..., DnsServer]) -> None:
    lookups = Lookups(resolvers=[start_dns().address])
    closing = threading.Timer(0.1, lookups.close)

    async def story() -> None:
        closing.start()
        with (
            trio_resolver_by(lookups),
            trio.fail_after(5),
            pytest.raises(socket.gaierror, match="the lookups are closed"),
        ):
            await trio.socket.getaddrinfo("silent.example", 80)

    trio.run(story)
    closing.join()


def test_an_address_is_refused_however_it_is_written(net: SimulatedInternet, tmp_path: Path) -> None:
    async def story() -> None:
        port = net.http_port
        with (
            Lookups(resolvers=[net.resolver], filter_private=True) as strict,
            trio_resolver_by(strict),
        ):
            for host in (next(iter(net.hosts)), "127.0.0.1", "127.1", "0x7f000001", "::1", "::ffff:127.0.0.1"):
                with pytest.raises(OSError, match=r".") as raised:
                    await trio.open_tcp_stream(host, port)
                assert any("refused by filter_private" in text for text in causes(raised.value)), host
            for host in ("127.0.0.1", "127.1", ""):
                with trio.socket.socket() as bare, pytest.raises(socket.gaierror, match="refused by filter_private"):
                    await bare.connect((host, port))
                with (
                    trio.socket.socket(type=socket.SOCK_DGRAM) as bare,
                    pytest.raises(socket.gaierror, match="refused by filter_private"),
                ):
                    await bare.sendto(b"?", (host or "127.0.0.1", port))
            # Who listens speaks to nobody, and a local socket has no address.
            for listener in await trio.open_tcp_listeners(0, host="127.0.0.1"):
                await listener.aclose()
            with socket.socket(socket.AF_UNIX) as local:
                local.bind(str(tmp_path / "socket"))
                local.listen()
                await (await trio.open_unix_socket(str(tmp_path / "socket"))).aclose()

    trio.run(story)


def test_an_own_factory_of_sockets_goes_on_making_them(net: SimulatedInternet, lookups: Lookups) -> None:
    made: list[trio.socket.SocketType] = []

    class Factory(trio.abc.SocketFactory):
        def socket(
            self, family: int = socket.AF_INET, type: int = socket.SOCK_STREAM, proto: int = 0
        ) -> trio.socket.SocketType:
            made.append(trio.socket.from_stdlib_socket(socket.socket(family, type, proto)))
            return made[-1]

    async def story() -> None:
        own = Factory()
        trio.socket.set_custom_socket_factory(own)
        with trio_resolver_by(lookups):
            async with await trio.open_tcp_stream(next(iter(net.hosts)), net.http_port) as stream:
                assert [stream.socket] == made
        assert trio.socket.set_custom_socket_factory(None) is own

    trio.run(story)
