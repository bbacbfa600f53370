"""The flat line: what three services start is even, however much they want."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lycosa.dispatch import Client
from lycosa.records import Request
from lycosa.simnet import Ledger, SimulatedInternet

from tests.dispatch.service import Service
from tests.dispatch.test_service import check_courtesy

#: Services, and URLs a second of each.
RATES = {"one": 100, "two": 150, "three": 200}

QUOTAS = "".join(f"[services.{name}]\nrate = {rate}\nburst = {rate // 4}\n\n" for name, rate in RATES.items())


async def demand(service: Service, urls: dict[str, list[str]], seconds: float) -> None:
    """Have each service want three times its quota, for so many seconds."""
    async with contextlib.AsyncExitStack() as opened, asyncio.TaskGroup() as tasks:
        for name, rate in RATES.items():
            client = await opened.enter_async_context(Client(service.url, name, batch=rate // 4))
            tasks.create_task(want(client, urls[name], 3 * rate, seconds))


async def want(client: Client, urls: list[str], rate: int, seconds: float) -> None:
    """Add URLs at a rate, over and over again, and take the results."""

    async def take() -> None:
        while True:
            await client.results()

    taking = asyncio.create_task(take())
    begin, given = time.monotonic(), 0
    while (now := time.monotonic() - begin) < seconds:
        due = int(now * rate) - given
        # What waits at the client is bounded: it wants more than it gets for minutes.
        if len(client.pending) < 5 * rate:
            client.add([Request(urls[(given + number) % len(urls)]) for number in range(due)])
        given += due
        await asyncio.sleep(0.05)
    taking.cancel()


def starts(ledger: Path, hosts: dict[str, str]) -> dict[str, list[float]]:
    """Times of requests by service."""
    found: dict[str, list[float]] = {name: [] for name in RATES}
    for request in Ledger(ledger).timeline()["entries"]:
        name = hosts.get(request["host"])
        if name is not None:
            found[name].append(request["at_s"])
    return found


def check_flat(times: list[float], rate: int, burst: float, begin: float, end: float) -> dict[str, Any]:
    """Judge the starts of a service between two times: even by the second, never above its rate in any second."""
    within = sorted(time for time in times if begin <= time < end)
    by_second = Counter(int(time - begin) for time in within)
    counts = [by_second[second] for second in range(int(end - begin))]
    most, first = 0, 0
    for last, at in enumerate(within):
        while within[first] <= at - 1:
            first += 1
        most = max(most, last - first + 1)
    spread = statistics.pstdev(counts) / statistics.mean(counts)
    return {"mean": statistics.mean(counts), "spread": spread, "most": most, "bound": rate + burst, "counts": counts}


@pytest.mark.parametrize("seconds", [12, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.timeout(600)
def test_starts_of_three_services_are_even_and_within_their_quotas(tmp_path: Path, seconds: int) -> None:
    ledger = tmp_path / "ledger"
    # Enough hosts that no pause of a site is the limit: each host is asked every second and a half at most.
    with SimulatedInternet(hosts=3_000, pages=2, speed=50, threads=1, ledger=ledger) as net:
        names = list(net.hosts)
        share = len(names) // len(RATES)
        owners = {
            host: name for number, name in enumerate(RATES) for host in names[number * share : (number + 1) * share]
        }
        urls = {
            name: [f"http://{host}:{net.http_port}/" for host in names if owners.get(host) == name] for name in RATES
        }
        with Service(tmp_path, net, QUOTAS, servers=2, slots=200) as service:
            asyncio.run(demand(service, urls, seconds))
        report = net.report()
    check_courtesy(report)
    times = starts(ledger, owners)
    begin, end = min(map(min, times.values())) + 2, min(map(max, times.values())) - 1
    assert end - begin >= 0.5 * seconds
    for name, rate in RATES.items():
        judged = check_flat(times[name], rate, 0.05 * rate + 4, begin, end)
        print(name, judged)
        assert judged["spread"] <= 0.05, (name, judged)
        assert judged["most"] <= judged["bound"], (name, judged)
        assert judged["mean"] >= 0.93 * rate, (name, judged)
