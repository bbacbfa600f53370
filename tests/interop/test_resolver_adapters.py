"""Other people's libraries, unmodified, find the hosts of the simulated Internet by Lycosa's resolver."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import anyio
import httpcore
import httpx
import pytest
import trio
from lycosa.errors import SettingError
from lycosa.names.adapters.aiohttp import AiohttpResolver
from lycosa.names.adapters.event_loop import loop_getaddrinfo_by
from lycosa.names.adapters.httpcore import HttpcoreBackend, HttpcoreSyncBackend
from lycosa.names.adapters.httpcore import _race as httpcore_race
from lycosa.names.adapters.httpx import HttpxAsyncTransport, HttpxTransport
from lycosa.names.adapters.sockets import getaddrinfo_by
from lycosa.names.adapters.trio import trio_resolver_by
from lycosa.names.lookups import Lookups
from lycosa.simnet import SimulatedInternet

from tests.interop.connections import black_hole, causes

if TYPE_CHECKING:
    from tests.conftest import DnsServer

#: Asks for a URL through an adapter; gives the status.
Ask = Callable[[Lookups, str], Coroutine[Any, Any, int]]


@pytest.fixture(scope="module")
def net() -> Iterator[SimulatedInternet]:
    """One Internet on high ports for all tests of this file; nobody else knows its names."""
    with SimulatedInternet(hosts=30, pages=3, seed=12) as running:
        yield running


@pytest.fixture
def lookups(net: SimulatedInternet) -> Iterator[Lookups]:
    """Lookups by its DNS server."""
    with Lookups(resolvers=[net.resolver]) as lookups:
        yield lookups


def urls(net: SimulatedInternet) -> list[str]:
    """A page of each host."""
    return [f"http://{name}:{net.http_port}/" for name in net.hosts]


def test_aiohttp(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> list[int]:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=AiohttpResolver(lookups))
        ) as session:

            async def status(url: str) -> int:
                async with session.get(url) as response:
                    await response.read()
                    return response.status

            with pytest.raises(aiohttp.ClientConnectorDNSError, match="nxdomain"):
                await status("http://no.such.example/")
            return await asyncio.gather(*map(status, urls(net)))

    assert asyncio.run(story()) == [200] * 30
    assert lookups.statistics()["ok"] == 30


def test_httpx_by_the_loop(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> list[int]:
        async with loop_getaddrinfo_by(lookups), httpx.AsyncClient() as client:
            with pytest.raises(httpx.ConnectError, match="nxdomain"):
                await client.get("http://no.such.example/")
            return [answer.status_code for answer in await asyncio.gather(*map(client.get, urls(net)))]

    assert asyncio.run(story()) == [200] * 30


def test_httpcore(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> list[int]:
        async with httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups)) as pool:
            with pytest.raises(httpcore.ConnectError, match="nxdomain"):
                await pool.request("GET", "http://no.such.example/")
            answers = await asyncio.gather(*(pool.request("GET", url) for url in urls(net)))
            return [answer.status for answer in answers]

    assert asyncio.run(story()) == [200] * 30


def test_httpcore_goes_on_to_the_next_address_and_keeps_its_time(start_dns: Callable[..., DnsServer]) -> None:
    # This server gives 192.0.2.1 and 2001:db8::1, where nobody listens; and nothing for silent names.
    async def story() -> float:
        with Lookups(resolvers=[start_dns().address]) as lookups:
            pool = httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups))
            begin = time.monotonic()
            for host in ("www.example", "silent.example"):
                with pytest.raises((httpcore.ConnectTimeout, httpcore.ConnectError)):
                    await pool.request("GET", f"http://{host}/", extensions={"timeout": {"connect": 0.3}})
            await pool.aclose()
            return time.monotonic() - begin

    assert asyncio.run(story()) < 2


def test_httpcore_connects_past_a_first_address_that_is_silent(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()

    async def story() -> tuple[str, float]:
        with black_hole() as (silent, port), Lookups(resolvers=[dns.address]) as lookups:
            dns.hosts["two.example"] = [silent, "127.0.0.3"]
            server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.3", port)
            begin = time.monotonic()
            stream = await HttpcoreBackend(lookups).connect_tcp("two.example", port, timeout=3)
            taken = time.monotonic() - begin
            peer = stream.get_extra_info("server_addr")
            await stream.aclose()
            server.close()
            await server.wait_closed()
            return peer[0], taken

    peer, taken = asyncio.run(story())
    assert peer == "127.0.0.3"
    assert 0.2 < taken < 1


class Backend(httpcore.AsyncNetworkBackend):
    """A network on which some addresses are silent, some refuse, and the others answer at once or later."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.open: set[str] = set()

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        self.tried.append(host)
        if host == "192.0.2.9":
            raise httpcore.ConnectError("refused")
        if host == "192.0.2.1":
            await asyncio.sleep(60)
        if host == "192.0.2.2":
            with contextlib.suppress(asyncio.CancelledError):  # the connection comes about as it is given up
                await asyncio.sleep(60)
        return Stream(self, host)


class Stream(httpcore.AsyncNetworkStream):
    """A connection that is counted while it is open."""

    def __init__(self, backend: Backend, host: str) -> None:
        self._backend, self.host = backend, host
        backend.open.add(host)

    async def aclose(self) -> None:
        self._backend.open.remove(self.host)


def test_httpcore_tries_families_in_turn_and_closes_what_comes_too_late(
    monkeypatch: pytest.MonkeyPatch, start_dns: Callable[..., DnsServer]
) -> None:
    dns = start_dns()

    async def story(addresses: list[str], within: float = 2) -> tuple[str | None, Backend]:
        backend = Backend()
        dns.hosts["host.example"] = addresses
        with Lookups(resolvers=[dns.address]) as lookups:
            connecting = HttpcoreBackend(lookups)
            monkeypatch.setattr(connecting, "_network", backend)
            try:
                stream = await connecting.connect_tcp("host.example", 80, timeout=within)
            except httpcore.ConnectTimeout:
                return None, backend
            assert isinstance(stream, Stream)
            return stream.host, backend

    monkeypatch.setattr("lycosa.names.adapters.httpcore.DELAY", 0.01)
    host, backend = asyncio.run(story(["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"]))
    assert (host, backend.tried, backend.open) == ("2001:db8::1", ["192.0.2.1", "2001:db8::1"], {"2001:db8::1"})
    host, backend = asyncio.run(story(["192.0.2.2", "192.0.2.3"]))
    assert (host, backend.open) == ("192.0.2.3", {"192.0.2.3"})
    assert asyncio.run(story(["192.0.2.10", "192.0.2.9"]))[0] == "192.0.2.10"
    with pytest.raises(httpcore.ConnectError, match="refused"):
        asyncio.run(story(["192.0.2.9"]))
    host, backend = asyncio.run(story(["192.0.2.1", "192.0.2.2"], within=0.1))
    assert (host, backend.open) == (None, set())


def test_an_asyncio_loop(net: SimulatedInternet, lookups: Lookups) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        before = loop.getaddrinfo
        async with loop_getaddrinfo_by(lookups):
            for name, address in net.hosts.items():
                _, writer = await asyncio.open_connection(name, net.http_port)
                assert writer.get_extra_info("peername") == (address, net.http_port)
                writer.close()
                await writer.wait_closed()
            name, address = next(iter(net.hosts.items()))
            entries = await loop.getaddrinfo(name, "http", type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
            assert entries == [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, name, (address, 80))]
            with pytest.raises(socket.gaierror) as error:
                await loop.getaddrinfo(name, 80, family=socket.AF_INET6)
            assert error.value.errno == socket.EAI_NONAME
            assert await loop.getaddrinfo("::1", 80, type=socket.SOCK_STREAM)
        assert loop.getaddrinfo == before

    asyncio.run(story())


def test_datagrams_of_a_loop_go_to_permitted_addresses_only(net: SimulatedInternet, tmp_path: Path) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        with (
            Lookups(resolvers=[net.resolver], filter_private=True) as strict,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local,
        ):
            local.bind(str(tmp_path / "socket"))
            async with loop_getaddrinfo_by(strict):
                for host in ("127.0.0.1", next(iter(net.hosts))):
                    with pytest.raises(socket.gaierror, match="refused by filter_private"):
                        await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(host, 53))
                for options in (
                    {"local_addr": ("127.0.0.1", 0)},
                    {"remote_addr": local.getsockname(), "family": socket.AF_UNIX},
                ):
                    transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, **options)
                    transport.close()

    asyncio.run(story())


def test_httpcore_closes_the_first_connection_if_its_caller_is_cancelled_while_others_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Backend()
    monkeypatch.setattr("lycosa.names.adapters.httpcore.DELAY", 0.01)

    async def connect(host: str) -> httpcore.AsyncNetworkStream:
        if host == "192.0.2.4":
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.2)  # its end takes time
        return await backend.connect_tcp(host)

    async def story() -> None:
        task = asyncio.create_task(httpcore_race(["192.0.2.4", "192.0.2.3"], connect))
        await asyncio.sleep(0.1)
        assert backend.open == {"192.0.2.3"}, "the other one is about to end"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert backend.open == set()

    asyncio.run(story())


def test_sockets(net: SimulatedInternet, lookups: Lookups) -> None:
    system = socket.getaddrinfo
    found: list[int] = []
    with getaddrinfo_by(lookups):
        threads = [
            threading.Thread(target=lambda url=url: found.append(urllib.request.urlopen(url).status))
            for url in urls(net)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        name, address = next(iter(net.hosts.items()))
        for host in (name, name.encode(), name.upper()):
            assert socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0][4] == (address, 80)
        for numeric in ("127.0.0.1", "::1", None):
            assert socket.getaddrinfo(numeric, 80) == system(numeric, 80)
        assert {entry[4][0] for entry in socket.getaddrinfo("localhost", 80)} <= {"127.0.0.1", "::1"}
        with pytest.raises(urllib.error.URLError, match="nxdomain"):
            urllib.request.urlopen("http://no.such.example/")
        with pytest.raises(socket.gaierror) as error:
            socket.getaddrinfo(name, 80, socket.AF_INET6)
        assert error.value.errno == socket.EAI_NONAME
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo(name, 80, flags=socket.AI_NUMERICHOST)
    assert found == [200] * 30
    assert socket.getaddrinfo is system


SPIDER = """
import json, sys, scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "one"
    start_urls = json.loads(sys.argv[1])
    custom_settings = {"ROBOTSTXT_OBEY": False, "LOG_LEVEL": "ERROR", "RETRY_ENABLED": False}

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        print(json.dumps([response.url, response.status]), flush=True)

    def failed(self, failure):
        print(json.dumps([failure.request.url, failure.type.__name__]), flush=True)

process = CrawlerProcess({
    "TWISTED_DNS_RESOLVER": "lycosa.names.adapters.scrapy.ScrapyResolver",
    "LYCOSA_RESOLVER": {"resolvers": [sys.argv[2]], "families": "v4"},
})
process.crawl(Spider)
process.start()
"""


def test_scrapy(net: SimulatedInternet, tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER)
    wanted = [*urls(net), "http://no.such.example/"]
    done = subprocess.run(
        [sys.executable, str(spider), json.dumps(wanted), net.resolver], capture_output=True, text=True, timeout=60
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert {found.pop("http://no.such.example/")} <= {"DNSLookupError", "CannotResolveHostError"}
    assert found == dict.fromkeys(urls(net), 200), done.stderr


async def by_aiohttp(lookups: Lookups, url: str) -> int:
    resolver = AiohttpResolver(lookups)
    connector = aiohttp.TCPConnector(resolver=resolver, socket_factory=resolver.open_socket)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as response:
        return response.status


async def by_httpx(lookups: Lookups, url: str) -> int:
    async with loop_getaddrinfo_by(lookups), httpx.AsyncClient() as client:
        return (await client.get(url)).status_code


async def by_asyncio(lookups: Lookups, url: str) -> int:
    async with loop_getaddrinfo_by(lookups):
        split = urllib.parse.urlsplit(url)
        _, writer = await asyncio.open_connection(split.hostname, split.port)
        writer.close()
        await writer.wait_closed()
        return 200


async def by_httpcore(lookups: Lookups, url: str) -> int:
    async with httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups)) as pool:
        return (await pool.request("GET", url)).status


async def by_synchronous_httpcore(lookups: Lookups, url: str) -> int:
    def get() -> int:
        with httpcore.ConnectionPool(network_backend=HttpcoreSyncBackend(lookups)) as pool:
            return pool.request("GET", url).status

    return await asyncio.to_thread(get)


async def by_synchronous_httpx(lookups: Lookups, url: str) -> int:
    def get() -> int:
        with httpx.Client(transport=HttpxTransport(lookups)) as client:
            return client.get(url).status_code

    return await asyncio.to_thread(get)


async def by_httpx_transport(lookups: Lookups, url: str) -> int:
    async with httpx.AsyncClient(transport=HttpxAsyncTransport(lookups)) as client:
        return (await client.get(url)).status_code


async def by_httpx_on_trio(lookups: Lookups, url: str) -> int:
    async def get() -> int:
        with trio_resolver_by(lookups):
            async with httpx.AsyncClient() as client:
                return (await client.get(url)).status_code

    return await asyncio.to_thread(trio.run, get)


async def by_anyio_on_trio(lookups: Lookups, url: str) -> int:
    async def connect() -> int:
        split = urllib.parse.urlsplit(url)
        with trio_resolver_by(lookups):
            async with await anyio.connect_tcp(str(split.hostname), split.port or 80):
                return 200

    return await asyncio.to_thread(trio.run, connect)


async def by_urllib(lookups: Lookups, url: str) -> int:
    with getaddrinfo_by(lookups), await asyncio.to_thread(urllib.request.urlopen, url) as response:
        return int(response.status)


#: What the libraries raise where no connection comes about.
REFUSED = (OSError, httpx.ConnectError, httpcore.ConnectError)


ASKS = [
    by_aiohttp,
    by_httpx,
    by_httpx_transport,
    by_synchronous_httpx,
    by_httpx_on_trio,
    by_asyncio,
    by_anyio_on_trio,
    by_httpcore,
    by_synchronous_httpcore,
    by_urllib,
]


@pytest.mark.parametrize("ask", ASKS)
def test_addresses_that_are_not_public_are_refused_where_that_is_wanted(net: SimulatedInternet, ask: Ask) -> None:
    # The simulated Internet lives on loopback addresses.
    name, address = next(iter(net.hosts.items()))
    given = [f"http://{host}:{net.http_port}/" for host in (name, address)]
    for url in given:
        with Lookups(resolvers=[net.resolver], filter_private=True) as strict, pytest.raises(REFUSED) as raised:
            asyncio.run(ask(strict, url))
        assert any("not public, and refused by filter_private" in text for text in causes(raised.value))
    with Lookups(resolvers=[net.resolver], filter_private=True, allow_addresses=["127.0.0.0/8"]) as lenient:
        assert asyncio.run(ask(lenient, given[0])) == 200
    with Lookups(resolvers=[net.resolver]) as usual:
        assert asyncio.run(ask(usual, given[0])) == 200


def test_scrapy_gets_only_public_addresses_where_that_is_wanted(net: SimulatedInternet, tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER.replace('"families": "v4"', '"filter_private": True'))
    name, address = next(iter(net.hosts.items()))
    wanted = [f"http://{host}:{net.http_port}/" for host in (name, address)]
    done = subprocess.run(
        [sys.executable, str(spider), json.dumps(wanted), net.resolver], capture_output=True, text=True, timeout=60
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert set(found) == set(wanted)
    assert set(found.values()) <= {"DNSLookupError", "CannotResolveHostError"}, found


def test_exceptions_from_the_filter_have_to_be_networks() -> None:
    with pytest.raises(SettingError, match="allow_addresses"):
        Lookups(resolvers=["127.0.0.1:9"], allow_addresses=["everything"])
    with pytest.raises(SettingError, match="a list of addresses"):
        Lookups(resolvers=["127.0.0.1:9"], allow_addresses="127.0.0.0/8")


def test_one_question_serves_all_who_ask_and_cancelled_ones_cost_nothing(
    start_dns: Callable[..., DnsServer],
) -> None:
    server = start_dns(delay=0.1)

    async def story() -> None:
        with Lookups(resolvers=[server.address], families="v4", concurrency=2) as lookups:
            tasks = [asyncio.create_task(lookups.lookup("www.example")) for _ in range(50)]
            cancelled = asyncio.create_task(lookups.lookup("gone.example"))
            await asyncio.sleep(0.02)
            cancelled.cancel()
            answers = await asyncio.gather(*tasks)
            assert {answer.addresses[0] for answer in answers} == {"192.0.2.1"}
            assert (await lookups.lookup("gone.example")).status == "nxdomain"
            left = lookups.ask("silent.example")
        assert left.cancelled()
        with pytest.raises(ValueError, match="closed"):
            lookups.ask("www.example")

    asyncio.run(story())
    assert server.asked["www.example"] == 1
