"""Lanes of a download server: they make room for new ones, share slots and clocks, and lose nothing by it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lycosa import _core
from lycosa.dispatch import Client, downloader, lane
from lycosa.dispatch.calls import Caller
from lycosa.dispatch.downloader import Downloader, fetch_key
from lycosa.dispatch.life import Directory
from lycosa.dispatch.master_server import run_master
from lycosa.dispatch.pace import Pace, Slots
from lycosa.dispatch.quotas import Quotas
from lycosa.dispatch.wire import read_requests
from lycosa.job import make_job, read_job
from lycosa.records import Requests, Response
from lycosa.simnet import SimulatedInternet

from tests.dispatch.test_service import check_courtesy, pages_of

SETTINGS: dict[str, Any] = {"period": 0.1, "hold": 30.0, "handover": 1.0}

QUOTAS = {"one": {"rate": 2_000, "burst": 2_000}, "two": {"rate": 2_000, "burst": 2_000}}


@contextlib.asynccontextmanager
async def service(
    folder: Path, net: SimulatedInternet, slots: int, quotas: Quotas
) -> AsyncIterator[tuple[str, Downloader]]:
    """A master and a download server in this process."""
    job = make_job(read_job(net.job_file()))
    async with (
        run_master(lambda: quotas, "127.0.0.1:0", Directory(folder / "master"), **SETTINGS) as (url, _, _),
        Caller(url) as caller,
    ):
        server = Downloader("d1", job, caller, await fetch_key(caller), slots)
        async with server.running("127.0.0.1:0"):
            yield url, server


async def ended(server: Downloader) -> None:
    """Wait until all lanes but one have ended."""
    for _ in range(400):
        if len(server._running) == 1:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{len(server._running)} lanes run")


async def download(url: str, name: str, urls: list[str]) -> list[Response]:
    """Download URLs in small grants."""
    async with Client(url, name, batch=50) as client:
        return [response async for response in client.download(urls)]


def test_a_lane_that_has_seen_enough_makes_room_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "MOST_URLS", 100)
    made: list[lane.Lane] = []
    run_lane = lane.Lane.run

    def run_noted(one: lane.Lane) -> None:
        made.append(one)
        run_lane(one)

    monkeypatch.setattr(lane.Lane, "run", run_noted)
    with SimulatedInternet(hosts=600, pages=2, speed=50) as net:
        urls = pages_of(net, 600)

        async def run() -> list[str]:
            # Slow enough that a lane has seen enough before all has come.
            slow = Quotas.model_validate({"services": {"one": {"rate": 300, "burst": 60}}})
            async with service(tmp_path, net, 100, slow) as (url, server):
                found = [response.url for response in await download(url, "one", urls)]
                await ended(server)
                return found

        found = asyncio.run(asyncio.wait_for(run(), 60))
        report = net.report()
    assert Counter(found) == Counter(urls)
    assert len(made) >= 3
    check_courtesy(report)


def test_services_share_the_slots_and_the_pauses_of_sites(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=150, pages=2, speed=50) as net:
        urls = pages_of(net, 150)

        async def run() -> tuple[tuple[list[Response], list[Response]], int]:
            most = 0
            async with service(tmp_path, net, 20, Quotas.model_validate({"services": QUOTAS})) as (url, server):

                async def look() -> None:
                    nonlocal most
                    while True:
                        most = max(most, sum(one._fetch.in_flight() for one in list(server._running)))
                        await asyncio.sleep(0.002)

                looking = asyncio.create_task(look())
                found = await asyncio.gather(download(url, "one", urls), download(url, "two", urls))
                looking.cancel()
                return found, most

        (one, two), most = asyncio.run(asyncio.wait_for(run(), 60))
        report = net.report()
    assert Counter(response.url for response in one) == Counter(response.url for response in two) == Counter(urls)
    assert 10 <= most <= 20
    check_courtesy(report)


def test_a_changed_quota_changes_the_lane(tmp_path: Path) -> None:
    quotas = Quotas.model_validate({"services": QUOTAS})
    ignoring = Quotas.model_validate({"services": {**QUOTAS, "one": {**QUOTAS["one"], "robots": False}}})
    with SimulatedInternet(hosts=20, pages=2, speed=50) as net:
        urls = pages_of(net, 20)

        async def run() -> list[bool]:
            found = []
            given, state = quotas, Directory(tmp_path / "master")
            async with (
                run_master(lambda: given, "127.0.0.1:0", state, **SETTINGS) as (
                    url,
                    reload,
                    _,
                ),
                Caller(url) as caller,
            ):
                server = Downloader("d1", make_job(read_job(net.job_file())), caller, await fetch_key(caller), 50)
                async with server.running("127.0.0.1:0"):
                    for one in (quotas, ignoring):
                        given = one
                        reload()
                        await asyncio.sleep(0.4)
                        assert len(await download(url, "one", urls)) == 20
                        found.append(server._lanes["one"].terms.robots)
            return found

        assert asyncio.run(asyncio.wait_for(run(), 60)) == [True, False]


def test_more_servers_of_a_site_slow_a_lane_that_runs() -> None:
    job = make_job({"seeds": [], "politeness": {"host_interval": 0.5, "address_interval": 0.1}})
    terms = lane.Terms(robots=True, ringed=False, owners=1, address_owners=1, services=1)
    clock = _core.Clock()
    shared: Any = (None, threading.Lock(), Pace(), Slots(1), _core.Shared(clock), clock, print)
    one = lane.Lane("one", lane.lane_job(job, terms, 1), terms, *shared)
    set_to: list[Any] = []
    frontier: Any = SimpleNamespace(set_intervals=lambda *given: set_to.append(given))
    one._frontier = frontier
    one.set_terms(terms._replace(owners=2, address_owners=3))
    one.set_terms(terms._replace(owners=2, address_owners=3))
    assert set_to == [(1.0, pytest.approx(0.3))]
    assert one.fits(terms)
    assert not one.fits(terms._replace(robots=False))


def test_a_lane_that_is_retired_while_a_submission_is_read_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatedInternet(hosts=60, pages=2, speed=50) as net:
        urls = pages_of(net, 60)
        urls += [f"{url}?{number:040}" for url in urls for number in range(20)]
        retired: list[lane.Lane] = []

        async def run() -> list[str]:
            async with service(tmp_path, net, 100, Quotas.model_validate({"services": QUOTAS})) as (url, server):
                await download(url, "one", urls[:1])
                loop = asyncio.get_running_loop()

                first = server._lanes["one"]

                def read(*given: Any) -> Requests:
                    # A large submission is read by a thread of its own, and the loop goes on.
                    if (
                        server._lanes.get("one") is first
                        and threading.current_thread() is not threading.main_thread()
                    ):
                        loop.call_soon_threadsafe(server._retire, "one")
                        while first in server._running:
                            time.sleep(0.01)
                        retired.append(first)
                    return read_requests(*given)

                monkeypatch.setattr(downloader, "read_requests", read)
                async with Client(url, "one", batch=2_000) as client:
                    return [response.url async for response in client.download(urls[1:])]

        found = asyncio.run(asyncio.wait_for(run(), 60))
    assert Counter(found) == Counter(urls[1:])
    assert retired
