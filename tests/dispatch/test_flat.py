"""The flat line: what services start is even and within their quotas, however much they want.

The simulated Internet's ledger judges; who wants how much is as in ``benchmarks/flat_line.py``.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lycosa import _core
from lycosa.dispatch import Client
from lycosa.dispatch.registry import weight_of
from lycosa.records import Request, Requests
from lycosa.simnet import Ledger, SimulatedInternet

from benchmarks.flat_line import RATES, by_second, demand, divided, quotas_of, starts, want
from tests.dispatch.service import Service
from tests.dispatch.test_service import check_courtesy, pages_of

#: Tests of so many seconds are part of ``make test``, and of so many of ``make soak``.
LENGTHS = [12, pytest.param(300, marks=pytest.mark.soak)]


def check_flat(times: list[float], rate: int, burst: float, begin: float, end: float) -> dict[str, Any]:
    """Judge the starts of a service between two times: even by the second, never above its rate in any second."""
    within = [time for time in times if begin <= time < end]
    counts = by_second(within, begin, end)
    most, first = 0, 0
    for last, at in enumerate(within):
        while within[first] <= at - 1:
            first += 1
        most = max(most, last - first + 1)
    spread = statistics.pstdev(counts) / statistics.mean(counts)
    return {"mean": statistics.mean(counts), "spread": spread, "most": most, "bound": rate + burst, "counts": counts}


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.timeout(600)
def test_starts_of_three_services_are_even_and_within_their_quotas(tmp_path: Path, seconds: int) -> None:
    ledger = tmp_path / "ledger"
    # Enough hosts that no pause of a site is the limit: each host is asked every second and a half at most.
    with SimulatedInternet(hosts=3_000, pages=2, speed=50, threads=1, ledger=ledger) as net:
        owners = divided(list(net.hosts))
        urls = {
            name: [f"http://{host}:{net.http_port}/" for host in owners if owners[host] == name] for name in RATES
        }
        with Service(tmp_path, net, quotas_of("gcra"), servers=2, slots=200) as service:
            asyncio.run(demand(service.url, urls, seconds))
        report = net.report()
    check_courtesy(report)
    times = starts(Ledger(ledger), owners)
    begin, end = min(map(min, times.values())) + 2, min(map(max, times.values())) - 1
    assert end - begin >= 0.5 * seconds
    for name, rate in RATES.items():
        judged = check_flat(times[name], rate, 0.05 * rate + 4, begin, end)
        print(name, judged)
        assert judged["spread"] <= 0.05, (name, judged)
        assert judged["most"] <= judged["bound"], (name, judged)
        assert judged["mean"] >= 0.93 * rate, (name, judged)


#: Bytes a second of a service, slots of its only download server, and seconds of the window that is judged.
BYTES, SLOTS, WINDOW = 1_000_000, 8, 10.0


def most_within(received: Sequence[tuple[float, int]], window: float) -> int:
    """The most bytes that came within any time of this length. received: times, ascending, and bytes."""
    most = total = first = 0
    for at, size in received:
        total += size
        while received[first][0] <= at - window:
            total -= received[first][1]
            first += 1
        most = max(most, total)
    return most


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.timeout(600)
def test_bytes_are_within_their_quota_but_for_the_pages_under_way(tmp_path: Path, seconds: int) -> None:
    """In any ten seconds at most ``bytes_per_second`` · 10 s + slots · the largest page.

    ``lane.Pace`` starts nothing while bytes are owed, and what comes is owed: each byte for 1 / ``bytes_per_second``
    seconds. So at the last start within any time, all that had come within it until then is paid, which is at most
    ``bytes_per_second`` · its length. What comes later was under way at that start: one page a slot at most. Nobody
    knows a page's size before it comes. With one download server its share is the whole quota.
    """
    ledger = tmp_path / "ledger"
    quotas = f"[services.bytes]\nrate = 10000\nbytes_per_second = {BYTES}\nrobots = false\n"

    async def run(service: Service, urls: list[str]) -> None:
        async with Client(service.url, "bytes") as client:
            await want(client, urls, 400, seconds)

    with (
        SimulatedInternet(hosts=1_500, pages=4, speed=50, threads=1, ledger=ledger) as net,
        Service(tmp_path, net, quotas, slots=SLOTS) as service,
    ):
        asyncio.run(run(service, pages_of(net, 1_500)))
    entries = Ledger(ledger).timeline()["entries"]
    received = sorted((entry["at_s"], entry["body"]) for entry in entries)
    largest = max(size for _, size in received)
    print("largest page", largest, "bytes", sum(size for _, size in received), "most", most_within(received, WINDOW))
    assert most_within(received, WINDOW) <= BYTES * WINDOW + SLOTS * largest
    # And it has what it may have: bodies are not all that counts, heads do as well.
    begin, end = received[0][0] + 1, received[-1][0]
    came = sum(size for at, size in received if at >= begin)
    assert came >= 0.85 * BYTES * (end - begin), came / (BYTES * (end - begin))


#: Slots of two download servers; quota of the service, in URLs a second; URLs in a grant at most.
CAPACITIES, RATE, GRANT = {"d1": 100, "d2": 300}, 400, 100


def share_and_error(members: dict[str, float], name: str, sites: int) -> tuple[float, float]:
    """A server's share of the sites that is in proportion to its weight, and the standard error of a ring's.

    A ring with points at random gives a server of weight p a part of its circle whose variance is p · (1 − p) / (N +
    1), N being all points (a Beta distribution); sites fall at random into it, which adds p · (1 − p) / sites.
    """
    points = sum(round(256 * weight) for weight in members.values())
    share = members[name] / sum(members.values())
    return share, math.sqrt(share * (1 - share) * (1 / (points + 1) + 1 / sites))


def test_load_is_in_proportion_to_the_slots_of_download_servers(tmp_path: Path) -> None:
    """100 and 300 slots: starts are 1 to 3, but for what the ring's points and sites at random explain."""
    seconds, ledger = 10, tmp_path / "ledger"

    async def run(service: Service, urls: list[str]) -> None:
        async with Client(service.url, "all", batch=GRANT) as client:
            await want(client, urls, 1.5 * RATE, seconds)

    with SimulatedInternet(hosts=3_000, pages=2, speed=50, threads=1, ledger=ledger) as net:
        urls = pages_of(net, 3_000)
        quotas = f"[services.all]\nrate = {RATE}\nrobots = false\n"
        with Service(tmp_path, net, quotas, servers=2, slots=[*CAPACITIES.values()]) as service:
            asyncio.run(run(service, urls))
            with urllib.request.urlopen(f"{service.url}/statistics", timeout=10) as answer:
                told = json.load(answer)["servers"]
    members = {name: weight_of(slots) for name, slots in CAPACITIES.items()}
    owned = Requests(Request(url) for url in urls).split(_core.Ring(members), "domain")
    of_d1 = {request.url for request in owned["d1"]}
    asked = [(entry["at_s"], entry["url"]) for entry in Ledger(ledger).timeline()["entries"]]
    started = sum(url in of_d1 for _, url in asked) / len(asked)
    owns = len(of_d1) / len(urls)
    domains = len({url.split("/")[2].partition(":")[0].split(".")[-2] for url in urls})
    share, error = share_and_error(members, "d1", domains)
    finished = {name: one["successes"] + one["failures"] for name, one in told.items()}
    print(f"share {share:.3f} ± {error:.3f}, of hosts {owns:.3f}, of {len(asked)} starts {started:.3f}; {finished}")
    assert len(asked) >= 0.8 * RATE * (max(asked)[0] - min(asked)[0])
    # Hosts as the ring gives them: three standard errors.
    assert abs(owns - share) <= 3 * error
    # Starts as hosts, each by its owner. The rate that the master divides follows its grants by some heartbeats, so
    # that one server may be two grants behind at the end; a grant has been begun and is not yet reported.
    assert abs(started - owns) <= 2 * GRANT / len(asked)
    assert abs(finished["d1"] / sum(finished.values()) - started) <= GRANT / len(asked)
