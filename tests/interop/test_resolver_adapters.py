"""Other people's libraries, unmodified, find the hosts of the simulated Internet by Lycosa's resolver."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import httpcore
import httpx
import pytest
from lycosa.names.adapters.aiohttp import AiohttpResolver
from lycosa.names.adapters.event_loop import loop_getaddrinfo_by
from lycosa.names.adapters.httpcore import HttpcoreBackend
from lycosa.names.adapters.sockets import getaddrinfo_by
from lycosa.names.lookups import Lookups
from lycosa.simnet import SimulatedInternet

if TYPE_CHECKING:
    from tests.conftest import DnsServer


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
