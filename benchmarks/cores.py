"""The `cores` benchmark: a crawl in shards on one and two cores; responses are replayed inside the process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cores_model import pages_per_second
from benchmarks.harness import Options, environment, measure, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Pages of the replayed web, and of larger pages.
PAGES, QUICK_PAGES = 120_000, 30_000
LARGE_PAGES, QUICK_LARGE_PAGES = 30_000, 8_000
ROUNDS, QUICK_ROUNDS = 5, 3
#: Bytes of a page, and what a part that all lanes share may cost a page, in microseconds of CPU: by the issue.
SIZES = {27_000: 40.0, 240_000: 80.0}
#: Threads that are one for each lane; all others serve all lanes.
LANE = "lycosa-lane-"
#: Cores of the modelled machine, and the pages a second that it is to reach.
MODELLED, WANTED = 16, 25_000.0


def run(options: Options) -> Report:
    """One lane on one core, then two lanes on two cores, in turn; then the model of more cores."""
    report = Report("cores", options.quick)
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchmarkError("cores: one core only; this benchmark needs two")
    for size, bar in SIZES.items():
        _size(report, options, usable, size, bar)
    report.notes.append(
        "pages with 60 links, a tenth to other hosts, replayed by a stage in Python; no name is looked up, nothing "
        "is sent; each lane has a loop, a shard of the frontier and a parser of one thread; one log; no outputs"
    )
    report.notes.append(
        f"pages/s on {MODELLED} cores are those of a queueing model with the costs measured here, not a measurement: "
        "benchmarks/cores_model.py says what it leaves out"
    )
    return report


def _size(report: Report, options: Options, usable: list[int], size: int, bar: float) -> None:
    """Measure pages of one size."""
    kb = f"{size // 1000} KB"
    plenty, few = (PAGES, QUICK_PAGES) if size == min(SIZES) else (LARGE_PAGES, QUICK_LARGE_PAGES)
    pages = few if options.quick else plenty
    found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for turn in range(QUICK_ROUNDS if options.quick else ROUNDS):
        for lanes, made in found.items():
            made.append(_lanes(lanes, pages, size, frozenset(usable[:lanes])))
            speed = made[-1]["pages"] / made[-1]["seconds"]
            progress(f"{kb}, round {turn + 1}, {lanes} lanes: {speed:,.0f} pages/s")
    speeds = {lanes: [one["pages"] / one["seconds"] for one in made] for lanes, made in found.items()}
    costs = {lanes: [one["cpu_seconds"] / one["pages"] * 1e6 for one in made] for lanes, made in found.items()}
    for lanes, made in found.items():
        named = f"{kb}, {lanes} lane{'s' * (lanes > 1)}"
        report.figures += [
            Figure.of(f"{named}: speed", "pages/s", speeds[lanes]),
            Figure.of(f"{named}: CPU", "µs/page", costs[lanes]),
            Figure.of(f"{named}: CPU with the log's lock", "µs/page", _each(made, lambda one: one["log_seconds"])),
        ]
        for thread in sorted({name for one in made for name in one["threads"]}):
            cost = _each(made, partial(_of_thread, thread))
            report.figures.append(Figure.of(f"{named}: CPU of thread {thread}", "µs/page", cost))
    locked = _each(found[2], lambda one: one["log_seconds"])
    serial = [max(cost, _serial(one)) for cost, one in zip(locked, found[2], strict=True)]
    shared = Figure.of(f"{kb}: the dearest part that all lanes share", "µs/page", serial)
    faster, dearer = Figure.ratio("speed", speeds[2], speeds[1]), Figure.ratio("CPU", costs[2], costs[1])
    lock = Figure.of("lock", "µs/page", locked).median
    alone = Figure.of("CPU", "µs/page", costs[2]).median - lock
    modelled = pages_per_second(MODELLED, alone / 1e6, lock / 1e6)
    report.figures.append(shared)
    report.claims += [
        Claim.at_least(f"cores-speed-{size // 1000}", f"{kb}: pages/s, two lanes ÷ one", faster.median, "ratio", 1.7),
        Claim.at_most(f"cores-cpu-{size // 1000}", f"{kb}: CPU a page, two lanes ÷ one", dearer.median, "ratio", 1.1),
        Claim.at_most(f"cores-serial-{size // 1000}", shared.name, shared.median, "µs/page", bar),
    ]
    if size == min(SIZES):
        text = f"{kb}: pages/s on {MODELLED} cores, by a model"
        report.claims.append(Claim.at_least("cores-model", text, modelled, "pages/s", WANTED))
    else:
        report.figures.append(Figure.of(f"{kb}: pages/s on {MODELLED} cores, by a model", "pages/s", [modelled]))


def _each(made: Iterable[dict[str, Any]], seconds: Callable[[dict[str, Any]], float]) -> list[float]:
    """Microseconds a page of something that was sampled."""
    return [seconds(one) / one["sampled"] * 1e6 for one in made]


def _of_thread(thread: str, one: dict[str, Any]) -> float:
    """The CPU seconds of a thread."""
    seconds: float = one["threads"].get(thread, 0.0)
    return seconds


def _serial(one: dict[str, Any]) -> float:
    """The CPU of the busiest thread that serves all lanes, in microseconds a page."""
    shared: list[float] = [spent for name, spent in one["threads"].items() if not name.startswith(LANE)]
    most: float = max(shared, default=0.0) / one["sampled"]
    return most * 1e6


def _lanes(lanes: int, pages: int, size: int, cores: frozenset[int]) -> dict[str, Any]:
    """Run so many lanes; return what they printed."""
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        log = Path(folder, "lanes.json")
        command = [sys.executable, "-m", "benchmarks.cores_lanes", str(lanes), str(pages), str(size)]
        measure("cores", command, cores=cores, timeout=300, log=log, env=environment())
        result: dict[str, Any] = json.loads(log.read_text())
    if result["pages"] < pages / 2:
        raise BenchmarkError(f"cores: {result['pages']} pages of {pages}: the replayed web was not crawled whole")
    return result
