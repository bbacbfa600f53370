"""The `names_ahead` benchmark: how long slots of a crawl wait for names, compared with all names known in advance."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, Options, environment, measure, progress
from benchmarks.report import Claim, Figure, Report

TIMEOUT = 900.0  # seconds for one crawl
SLOTS = 64
#: The world, and the crawls of it in turn: settings that differ.
WORLD = {"hosts": 400, "pages": 20, "seed": 7, "speed": 50.0, "slots": SLOTS}
QUICK = {**WORLD, "hosts": 100, "pages": 4, "speed": 100.0}
CRAWLS = {
    "known": {"ahead": "ahead", "known": True},
    "ahead": {"ahead": "ahead", "known": False},
    "off": {"ahead": "off", "known": False},
}


def run(options: Options) -> Report:
    """Crawl the `internet` profile each way and compare pages per second, and how long slots were idle for names."""
    report = Report("names_ahead", options.quick)
    if options.peers_only:
        return report
    cores = Cores.split()
    rounds = 1 if options.quick else 2
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in CRAWLS}
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        for turn in range(rounds):
            for way, settings in CRAWLS.items():
                made = _crawl({**(QUICK if options.quick else WORLD), **settings}, cores, Path(folder))
                found[way].append(made)
                share = _share(made)
                told = f"{made['pages']} pages in {made['seconds']:.1f} s, idle for names {share:.4%}"
                progress(f"round {turn + 1}/{rounds} {way}: {told}")
    _judge(report, found)
    return report


def _crawl(settings: dict[str, Any], cores: Cores, folder: Path) -> dict[str, Any]:
    """Crawl once, in a process of its own with its simulated Internet."""
    log = folder / "crawl.log"
    command = [sys.executable, "-m", "benchmarks.peers.names_ahead_crawl", json.dumps(settings)]
    measure("crawl", command, cores=cores.client | cores.server, timeout=TIMEOUT, log=log, env=environment())
    made: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
    return made


def _share(made: dict[str, Any]) -> float:
    """Return the share of slot time in which slots were free and all due hosts waited for their names."""
    return float(made["idle"] / (SLOTS * made["seconds"]))


def _judge(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    """Return the figures and claims."""
    rates = {way: [made["pages"] / made["seconds"] for made in runs] for way, runs in found.items()}
    for way, runs in found.items():
        report.figures += [
            Figure.of(f"{way}: pages a second", "pages/s", rates[way]),
            Figure.of(f"{way}: slots idle for names", "% of slot time", [_share(made) * 100 for made in runs]),
            Figure.of(f"{way}: DNS questions", "questions", [made["questions"] for made in runs]),
        ]
    idle = statistics.median(_share(made) for made in found["ahead"]) * 100
    text = "slots idle while only unresolved hosts are due, part of slot time, at most"
    report.claims.append(Claim.at_most("names_ahead.idle", text, idle, "%", 0.1))
    middle = {way: statistics.median(each) for way, each in rates.items()}
    text = "pages a second ÷ those of the same crawl with all names known beforehand, at least"
    ratio = middle["ahead"] / middle["known"]
    report.claims.append(Claim.at_least("names_ahead.known", text, ratio, "ratio", 0.95))
    report.figures.append(Figure.ratio("off / known, pages a second", rates["off"], rates["known"]))
    violations = sum(made["violations"] for runs in found.values() for made in runs)
    text = "rates violated in all crawls, at most"
    report.claims.append(Claim.at_most("names_ahead.polite", text, violations, "requests", 0))
    report.notes.append(
        f"profile internet in scaled time, {SLOTS} slots, simnet and crawl on both cores; "
        "known: the same world with DNS answers that take no time and are never lost; until the last page, since "
        "names that never resolve are tried on after it; idle: summed over hosts whose name came: two that waited "
        "at the same time count twice"
    )
