"""Random schedules of faults: servers and masters that are killed, restarted or silent while clients download.

The ledger and the clients' own lists judge: nothing is lost, nothing comes twice, no site is asked too fast.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from lycosa.dispatch import Client
from lycosa.simnet import SimulatedInternet

from tests.dispatch.service import Service
from tests.dispatch.test_service import check_courtesy, pages_of

QUOTAS = """
[services.news]
rate = 300
burst = 150

[services.archive]
rate = 150
burst = 100
"""

#: What happens: the fault, and how long it lasts.
FAULTS = ["kill a server", "silence a server", "kill the master", "silence the master"]

HOLD = 1.5


async def fault(service: Service, what: str, server: str, seconds: float) -> None:
    """Have a fault, and mend it after some seconds."""
    if what == "kill a server":
        await asyncio.to_thread(service.servers[server].kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(service.start_server, server)
    elif what == "silence a server":
        service.servers[server].pause()
        await asyncio.sleep(seconds)
        service.servers[server].go_on()
    elif what == "kill the master":
        await asyncio.to_thread(service.master.kill)
        await asyncio.sleep(seconds / 2)
        await asyncio.to_thread(service.start_master)
    else:
        service.master.pause()
        await asyncio.sleep(seconds)
        service.master.go_on()


async def download(service: Service, name: str, urls: list[str], receive: bool) -> list[str]:
    """Download URLs; returns those that came."""
    async with Client(service.url, name, batch=60, receive=receive) as client:
        return [response.url async for response in client.download(urls)]


def schedule_of(seed: int) -> list[tuple[float, str, str, float]]:
    """Faults: the pause before each, what it is, a server, and how long it lasts."""
    random_ = random.Random(seed)  # noqa: S311
    return [
        (
            random_.uniform(0.2, 1.2),
            random_.choice(FAULTS),
            random_.choice(["d1", "d2", "d3"]),
            random_.uniform(0.2, 3),
        )
        for _ in range(3)
    ]


def is_apart(seed: int) -> bool:
    """Whether servers have clocks of hosts of their own, as on machines of their own."""
    return seed % 3 > 0


async def run(service: Service, urls: list[str], seed: int) -> list[list[str]]:
    """Two clients download while faults come one after the other."""
    half = len(urls) * 2 // 3
    clients = [
        asyncio.create_task(download(service, "news", urls[:half], receive=seed % 2 == 1)),
        asyncio.create_task(download(service, "archive", urls[half:], receive=False)),
    ]
    for pause, what, server, seconds in schedule_of(seed):
        await asyncio.sleep(pause)
        await fault(service, what, server, seconds)
    return await asyncio.gather(*clients)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(10, 200))]
)
@pytest.mark.timeout(150)
def test_nothing_is_lost_or_doubled_whatever_fails(tmp_path: Path, seed: int) -> None:
    settings = ("--hold", f"{HOLD}", "--period", "0.25", "--handover", "0.1")
    with (
        SimulatedInternet(hosts=700, pages=2, seed=seed + 1, speed=50) as net,
        Service(tmp_path, net, QUOTAS, servers=3, slots=60, master=settings, is_apart=is_apart(seed)) as service,
    ):
        urls = pages_of(net, 700)
        news, archive = asyncio.run(asyncio.wait_for(run(service, urls, seed), 120))
        report = net.report()
    assert Counter([*news, *archive]) == Counter(urls)
    check_courtesy(report, is_apart=is_apart(seed))
