"""Three services that want three times their quotas: how even their starts are, by both policies of a master.

The simulated Internet's ledger says when each request came. `--plot FILE` draws starts a second over time
(`flat_line_plot.py`); docs/dispatch.md has such a picture.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawl import require_lycosa
from benchmarks.dispatch_service import downloaders, master
from benchmarks.flat_line_plot import draw
from benchmarks.harness import Cores, Options, progress, run_parts
from benchmarks.report import BenchmarkError, Claim, Figure, Report

if TYPE_CHECKING:
    from lycosa.dispatch import Client
    from lycosa.simnet import Ledger

#: Services, and URLs a second of each.
RATES = {"one": 100, "two": 150, "three": 200}

#: Policies of a master, and the seconds of each; one of them counts by the minute.
POLICIES = ("minute-window", "gcra")
SECONDS, QUICK_SECONDS = 300, 15

#: Enough hosts that no pause of a site is the limit: each is asked every second and a half at most.
HOSTS, SPEED = 3_000, 50

#: Download servers, and slots of each.
SERVERS, SLOTS = 2, 200

#: Seconds that are not judged, at the beginning and at the end.
BEGIN, END = 2.0, 1.0

#: Variation of starts by the second, at most.
BAR = 0.05


@dataclass(frozen=True, slots=True)
class Line:
    """Starts of a service by the second, from a moment of the wall clock on."""

    policy: str
    service: str
    began: float
    counts: Sequence[int]

    @property
    def variation(self) -> float:
        """The coefficient of variation: standard deviation by mean."""
        return statistics.pstdev(self.counts) / statistics.mean(self.counts)


def run(options: Options) -> Report:
    """Run both policies one after the other."""
    require_lycosa()
    lines: list[Line] = []

    def both(report: Report, options: Options, cores: Cores, folder: Path) -> None:
        for policy in POLICIES:
            place = folder / policy
            place.mkdir()
            lines.extend(measured(policy, place, cores, QUICK_SECONDS if options.quick else SECONDS))
        _judge(report, lines)

    report = run_parts("flat_line", [both], options)
    if options.plot is not None and not report.failures:
        draw(lines, RATES, options.plot)
    return report


def measured(policy: str, folder: Path, cores: Cores, seconds: float) -> list[Line]:
    """Run a service by a policy; returns the starts of each service."""
    from lycosa.simnet import Ledger, SimulatedInternet

    ledger = folder / "ledger"
    with SimulatedInternet(hosts=HOSTS, pages=2, speed=SPEED, threads=1, ledger=ledger) as net:
        owners = divided([*net.hosts])
        urls = {
            name: [f"http://{host}:{net.http_port}/" for host in owners if owners[host] == name] for name in RATES
        }
        job = net.job_file(folder / "job.toml").read_text()
        with (
            master(folder, quotas_of(policy), cores) as running,
            downloaders(folder, running.url, SERVERS, cores, job=job, slots=SLOTS),
        ):
            running.wait_for(SERVERS)
            progress(f"{policy}: {seconds:g} s")
            asyncio.run(demand(running.url, urls, seconds))
    return _lines(policy, Ledger(ledger), owners, seconds)


def _lines(policy: str, ledger: Ledger, owners: Mapping[str, str], seconds: float) -> list[Line]:
    """Return the starts of each service by the second, of the time that is judged."""
    times = starts(ledger, owners)
    if not all(times.values()):
        raise BenchmarkError(f"{policy}: some service started nothing")
    begin, end = min(map(min, times.values())) + BEGIN, min(map(max, times.values())) - END
    if end - begin < 0.5 * seconds:
        raise BenchmarkError(f"{policy}: starts ended after {end - begin:.0f} s of {seconds:g} s")
    began = ledger.header["started_us"] / 1e6 + begin
    return [Line(policy, name, began, by_second(times[name], begin, end)) for name in RATES]


def quotas_of(policy: str) -> str:
    """Return the file of quotas."""
    services = (f"[services.{name}]\nrate = {rate}\nburst = {rate // 4}\n" for name, rate in RATES.items())
    return f'policy = "{policy}"\n\n' + "\n".join(services)


def divided(hosts: Sequence[str]) -> dict[str, str]:
    """Give each service a third of the hosts, so that the ledger tells services apart."""
    share = len(hosts) // len(RATES)
    return {host: name for number, name in enumerate(RATES) for host in hosts[number * share : (number + 1) * share]}


async def demand(url: str, urls: Mapping[str, Sequence[str]], seconds: float, times: float = 3.0) -> None:
    """Have each service want so many times its quota of a master, for so many seconds."""
    from lycosa.dispatch import Client

    async with contextlib.AsyncExitStack() as opened, asyncio.TaskGroup() as tasks:
        for name, rate in RATES.items():
            client = await opened.enter_async_context(Client(url, name, batch=rate // 4))
            tasks.create_task(want(client, urls[name], times * rate, seconds))


async def want(client: Client, urls: Sequence[str], rate: float, seconds: float) -> None:
    """Add URLs at a rate, over and over again, and take the results."""
    from lycosa.records import Request

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


def starts(ledger: Ledger, owners: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the times of requests by service, robots.txt among these. owners: which service asks a host."""
    found: dict[str, list[float]] = {}
    for request in ledger.timeline()["entries"]:
        if (name := owners.get(request["host"])) is not None:
            found.setdefault(name, []).append(request["at_s"])
    return {name: sorted(found.get(name, [])) for name in dict.fromkeys(owners.values())}


def by_second(times: Sequence[float], begin: float, end: float) -> list[int]:
    """Count starts by whole seconds of a time."""
    found = Counter(int(time - begin) for time in times if time >= begin)
    return [found[second] for second in range(int(end - begin))]


def _judge(report: Report, lines: Sequence[Line]) -> None:
    """Convert lines to figures and a claim."""
    for line in lines:
        name = f"{line.policy}, {RATES[line.service]} URLs/s"
        report.figures.append(Figure.of(f"{name}: starts a second", "1/s", line.counts))
        report.figures.append(Figure.of(f"{name}: coefficient of variation", "ratio", [line.variation]))
    worst = max(line.variation for line in lines if line.policy == "gcra")
    text = "starts by the second, gcra: coefficient of variation, worst of three services"
    report.claims.append(Claim.at_most("flat-line-gcra", text, worst, "ratio", BAR))
    report.notes.append(
        f"{HOSTS:,} hosts, {SERVERS} download servers; each service wants three times its quota, for "
        f"{len(lines[0].counts)} s that are judged; download servers space starts by either policy"
    )
