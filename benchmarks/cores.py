"""The `cores` benchmark: frontiers side by side in one process; answers are replayed inside it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, environment, measure, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Pages of the replayed web.
PAGES, QUICK_PAGES = 120_000, 30_000
ROUNDS, QUICK_ROUNDS = 5, 3


def run(options: Options) -> Report:
    """One lane on one core, then two lanes on two cores, in turn."""
    report = Report("cores", options.quick)
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchmarkError("cores: one core only; this benchmark needs two")
    pages = QUICK_PAGES if options.quick else PAGES
    found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for turn in range(QUICK_ROUNDS if options.quick else ROUNDS):
        for lanes, made in found.items():
            made.append(_lanes(lanes, pages, frozenset(usable[:lanes])))
            progress(f"round {turn + 1}, {lanes} lanes: {made[-1]['pages'] / made[-1]['seconds']:,.0f} pages/s")
    speed = {lanes: [one["pages"] / one["seconds"] for one in made] for lanes, made in found.items()}
    cost = {lanes: [one["cpu_seconds"] / one["pages"] * 1e6 for one in made] for lanes, made in found.items()}
    for lanes, made in found.items():
        named = f"{lanes} lane{'s' * (lanes > 1)}"
        loops = [sum(one["lane_seconds"]) / one["pages"] * 1e6 for one in made]
        share = [max(one["shares"]) / one["pages"] for one in made]
        report.figures += [
            Figure.of(f"{named}: speed", "pages/s", speed[lanes]),
            Figure.of(f"{named}: CPU", "µs/page", cost[lanes]),
            Figure.of(f"{named}: CPU of the lanes' threads", "µs/page", loops),
            Figure.of(f"{named}: the largest lane's share of the pages", "ratio", share),
        ]
    report.figures.append(
        Figure.of("links handed over", "links/page", [one["handed_over"] / one["pages"] for one in found[2]])
    )
    faster, dearer = Figure.ratio("speed", speed[2], speed[1]), Figure.ratio("CPU", cost[2], cost[1])
    report.claims += [
        Claim.at_least("cores-speed", "pages/s, two lanes on two cores ÷ one on one", faster.median, "ratio", 1.7),
        Claim.at_most("cores-cpu", "CPU a page, two lanes ÷ one", dearer.median, "ratio", 1.1),
    ]
    report.notes.append(
        "pages of 27 KB with 60 links, a tenth to other hosts, replayed by a stage in Python; no name is asked for, "
        "nothing is sent; each lane has a loop, a frontier, a parser of one thread and a log"
    )
    return report


def _lanes(lanes: int, pages: int, cores: frozenset[int]) -> dict[str, Any]:
    """Run so many lanes; give what they printed."""
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        log = Path(folder, "lanes.json")
        command = [sys.executable, "-m", "benchmarks.cores_lanes", str(lanes), str(pages)]
        measure("cores", command, cores=cores, timeout=300, log=log, env=environment())
        result: dict[str, Any] = json.loads(log.read_text())
    if result["pages"] < pages / 2:
        raise BenchmarkError(f"cores: {result['pages']} pages of {pages}: the replayed web was not crawled whole")
    return result
