"""The `cloud_paper` benchmark: the published experiment of SYSTEMS.md section 5, one factor changed at a time.

The full system, then the same crawl with one factor taken back, then with all: dedup tree, DNS optimiser,
asynchronous downloads. Each crawls the same simulated Internet for the same time (`peers/cloud_paper_crawl.py`);
`--plot FILE` draws pages a minute over time (`cloud_paper_plot.py`).
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import cloud_paper_plot
from benchmarks.cloud_paper_notes import PUBLISHED_MACHINE, notes, peers
from benchmarks.crawl import require_lycosa
from benchmarks.harness import (
    Contestant,
    Cores,
    Options,
    Run,
    build_example,
    environment,
    in_turn,
    measure,
    run_parts,
)
from benchmarks.report import BenchmarkError, Claim, Figure, Report
from benchmarks.served import serving

SECONDS, QUICK_SECONDS = 60, 5  # of each crawl
ROUNDS = 2
#: The profile has the latencies of the real Internet, and time is not scaled.
WORLD = {"profile": "internet", "hosts": 5_000, "pages": 20, "seed": 1}
#: As published: about 100 connections of the thread that downloads.
SLOTS = 100
#: Blocking threads: one for each core of a published machine.
THREADS = 24
KEYS = 10_000_000  # of the structures by themselves
TIMEOUT = 120.0  # seconds beyond a crawl's own, and of the structures
LOST = 0.05  # share of the requests whose outcome may be no page that counts: tries before the last one

FULL, PASSED, TABLE, BLOOM = "full", "full, links through Python", "hash table of URLs", "Bloom filter"
NO_DNS, BLOCKING, MANY = "no DNS optimiser", f"blocking, {THREADS} threads", f"blocking, {SLOTS} threads"
UNOPTIMISED = "unoptimised"
#: What each changes in the crawl: see ``Changed`` in ``peers/cloud_paper_crawl.py``.
VARIANTS: dict[str, dict[str, Any]] = {
    FULL: {},
    PASSED: {"dedup": "pass"},
    TABLE: {"dedup": "table"},
    BLOOM: {"dedup": "bloom"},
    NO_DNS: {"dns": False},
    BLOCKING: {"threads": THREADS},
    MANY: {"threads": SLOTS},
    UNOPTIMISED: {"dedup": "table", "dns": False, "threads": THREADS},
}


@dataclass(slots=True)
class Made:
    """What the rounds of one variant have made."""

    pages: list[list[int]] = field(default_factory=list)  # by the second
    cpu: list[float] = field(default_factory=list)  # seconds of the crawl's process
    questions: list[int] = field(default_factory=list)  # that the simulated Internet's DNS was asked
    link: list[float] = field(default_factory=list)  # ns of CPU that the other dedup takes for a link

    @property
    def rates(self) -> list[float]:
        """Pages a minute, of each round."""
        return [60 * sum(pages) / len(pages) for pages in self.pages]

    @property
    def costs(self) -> list[float]:
        """µs of CPU a page, of each round."""
        return [cpu / sum(pages) * 1e6 for cpu, pages in zip(self.cpu, self.pages, strict=True)]

    @property
    def asked(self) -> list[float]:
        """DNS questions a page, of each round."""
        return [count / sum(pages) for count, pages in zip(self.questions, self.pages, strict=True)]


def run(options: Options) -> Report:
    """Crawl in each way in turn, and in a full run measure the structures by themselves."""
    require_lycosa()
    if options.peers_only:
        raise BenchmarkError("cloud_paper has no peers: run it without --peers-only")
    made: dict[str, Made] = {}

    def crawls(report: Report, options: Options, cores: Cores, folder: Path) -> None:
        report.peers += peers()
        missing = {peer.name for peer in report.peers if peer.missing}
        made.update(_crawled([name for name in VARIANTS if name not in missing], options, cores, folder))
        _judge(report, made)
        report.notes += [cores.describe, *notes(SECONDS if not options.quick else QUICK_SECONDS)]

    report = run_parts("cloud_paper", [crawls] if options.quick else [crawls, _structures], options)
    if options.quick:
        report.notes.append(
            "quick: the structures by themselves are measured by the full run only; without the DNS "
            "optimiser, silent names go on filling slots after these seconds, so that rates look better than they are"
        )
    if options.plot is not None and made:
        cloud_paper_plot.draw({name: each.pages for name, each in made.items()}, PUBLISHED_MACHINE, options.plot)
    return report


def _crawled(names: Sequence[str], options: Options, cores: Cores, folder: Path) -> dict[str, Made]:
    """Run the variants in turn; returns what they made."""
    made = {name: Made() for name in names}
    seconds, rounds = (QUICK_SECONDS, 1) if options.quick else (SECONDS, ROUNDS)
    in_turn(
        [
            Contestant(name, functools.partial(_crawl, name, seconds, cores, folder, made[name]), rounds)
            for name in names
        ]
    )
    return made


def _crawl(name: str, seconds: int, cores: Cores, folder: Path, made: Made) -> Run:
    """Crawl once in a new simulated Internet, in a process of its own, and store what came of it."""
    log = folder / "crawl.log"
    with serving(WORLD, cores.server, folder) as net:
        settings = {"dedup": None, "dns": True, "threads": 0, **VARIANTS[name]}
        settings |= {"slots": SLOTS, "seconds": seconds, "resolver": net.resolver}
        settings |= {"seeds": net.seeds, "hosts": net.hosts}
        (file := folder / "settings").write_text(json.dumps(settings))
        command = [sys.executable, "-m", "benchmarks.peers.cloud_paper_crawl", str(file)]
        run = measure(name, command, cores=cores.client, timeout=seconds + TIMEOUT, log=log, env=environment())
        totals = net.report["totals"]
    result = json.loads(log.read_text().splitlines()[-1])
    _check(name, sum(result["pages"]), totals, settings)
    made.pages.append(result["pages"])
    made.cpu.append(result["cpu"])
    made.questions.append(totals["dns_questions"])
    if result["dedup"]:
        made.link.append(result["dedup"] / result["links"] * 1e9)
    return run


def _check(name: str, pages: int, totals: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Check the crawl's count by the ledger, and that each request without the optimiser has asked for its name."""
    requests = totals["requests"]
    if not (1 - LOST) * requests - SLOTS <= pages <= requests or pages == 0:
        raise BenchmarkError(f"{name}: {pages:,} pages of {requests:,} requests that the simulated Internet got")
    if not settings["dns"] and totals["dns_questions"] < requests:
        raise BenchmarkError(f"{name}: {totals['dns_questions']:,} DNS questions for {requests:,} requests")


def _judge(report: Report, made: Mapping[str, Made]) -> None:
    """Convert what was made to figures and claims."""
    full = made[FULL]
    for name, own in made.items():
        report.figures.append(Figure.of(f"{name}: pages", "pages/min", own.rates))
        if name != FULL:
            report.figures.append(Figure.ratio(f"{name} ÷ full, pages", own.rates, full.rates))
        report.figures += [
            Figure.of(f"{name}: CPU", "µs/page", own.costs),
            Figure.of(f"{name}: DNS questions", "questions/page", own.asked),
        ]
        if name in (TABLE, BLOOM):
            control = made[PASSED].costs
            report.figures.append(Figure.ratio(f"{name} ÷ full, links through Python, CPU", own.costs, control))
        if own.link:
            report.figures.append(Figure.of(f"{name}: CPU of the structure", "ns/link", own.link))
    text = "pages a minute, full system (published: a machine of 24 cores, the real Internet), at least"
    rate = statistics.median(full.rates)
    report.claims.append(Claim.at_least("cloud-paper-machine", text, rate, "pages/min", PUBLISHED_MACHINE))
    text = "pages a minute, full ÷ Bloom filter in the crawl (published: tree not noticeably slower), at least"
    ratio = rate / statistics.median(made[BLOOM].rates) if BLOOM in made else None
    report.claims.append(Claim.at_least("cloud-paper-bloom", text, ratio, "ratio", 0.95))


def _structures(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Add the same keys to the tree, a hash table of URLs and a Bloom filter by themselves, as `seen` does."""
    program, cost = build_example("lycosa-frontier", "seen_bench"), {}
    for contestant in ("lycosa", "urls", "bloom"):
        log, command = folder / "structure.log", [str(program), contestant, str(KEYS)]
        measure(contestant, command, cores=cores.client, timeout=TIMEOUT, log=log, env=environment())
        told = json.loads(log.read_text().splitlines()[-1])
        cost[contestant] = (told["new"] + told["known"]) / 2
    for contestant, name in (("lycosa", "dedup tree"), ("urls", TABLE), ("bloom", BLOOM)):
        report.figures.append(Figure.of(f"{name} by itself, {KEYS:,} keys", "ns/key", [cost[contestant]]))
    text = f"time of a key, hash table of URLs ÷ tree, {KEYS:,} keys (published: about 30 ×), at least"
    report.claims.append(Claim.at_least("cloud-paper-table", text, cost["urls"] / cost["lycosa"], "×", 30))
    ratio = cost["lycosa"] / cost["bloom"]
    report.figures.append(
        Figure.of("dedup tree ÷ Bloom filter by itself, published: not noticeably more", "×", [ratio])
    )
