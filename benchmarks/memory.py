"""The `memory` benchmark: the crawler's peak resident memory over a crawl of 100,000 simulated pages."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.crawl import require_lycosa
from benchmarks.harness import Options, environment, measure, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

PAGES = 50  # URLs on each host; of all, 5 % are redirects, errors or forbidden
SPEED = 100  # delays divided by this, so that the polite crawl takes minutes
ENOUGH = 0.99  # of what was reachable must have been served, by the ledger


def run(options: Options) -> Report:
    """Crawl a simulated Internet and measure the crawler's memory; quick: a tenth of the pages, without claims."""
    require_lycosa()
    hosts, bar, timeout = (220, 10_000, 50.0) if options.quick else (2_200, 100_000, 1_500.0)
    report = Report("memory", options.quick)
    progress(f"crawling {bar:,} simulated pages")
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        result = _crawl(folder, hosts, timeout)
        ledger = json.loads((folder / "ledger.json").read_text())
    coverage, pages = ledger["coverage"], ledger["coverage"]["served"]
    if coverage["ratio"] < ENOUGH or pages < bar:
        raise BenchmarkError(f"memory: only {pages:,} of {coverage['reachable']:,} pages were served")
    peak = result["peak"] / 1e6
    report.figures += [
        Figure.of(f"crawler, {bar:,} pages: peak memory", "MB", [peak]),
        Figure.of(f"crawler, {bar:,} pages: CPU", "µs/page", [result["cpu"] / pages * 1e6]),
        Figure.of(f"crawler, {bar:,} pages: served", "pages", [pages]),
    ]
    if options.quick:
        report.notes.append("quick: a tenth of the pages; the claim memory-100k is judged by the full run only")
    else:
        text = f"peak resident memory of a crawl of at least {bar:,} pages, at most"
        report.claims.append(Claim.at_most("memory-100k", text, peak, "MB", 500))
    return report


def _crawl(folder: Path, hosts: int, timeout: float) -> dict[str, float]:
    """Run the crawl inside simnet; returns the cost of the crawler alone."""
    within = folder / "within.json"
    command, cores = _command(folder, hosts, timeout), frozenset(os.sched_getaffinity(0))
    try:
        measure(
            "simnet",
            command,
            cores=cores,
            timeout=timeout + 30,
            log=folder / "simnet.log",
            env=environment(),
        )
    except BenchmarkError as error:
        # simnet ends with the crawler's status and prints its report after the crawler's reason.
        failure = json.loads(within.read_text())["failure"] if within.exists() else str(error)
        raise BenchmarkError(f"memory: {failure}") from None
    result: dict[str, float] = json.loads(within.read_text())
    return result


def _command(folder: Path, hosts: int, timeout: float) -> list[str]:
    """Return the command: simnet, inside it the sampler, inside that the crawler."""
    lycosa = [sys.executable, "-m", "lycosa"]
    return [
        *lycosa, "simnet", "--hosts", str(hosts), "--pages", str(PAGES), "--seed", "1",
        "--speed", str(SPEED), "--report", str(folder / "ledger.json"), "--",
        sys.executable, "-m", "benchmarks.within", str(folder / "within.json"), str(timeout),
        *lycosa, "crawl", "--job", "{job}", "--dir", str(folder / "job"), "-o", str(folder / "pages.parquet"),
        "--quiet",
    ]  # fmt: skip
