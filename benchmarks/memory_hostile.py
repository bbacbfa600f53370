"""The `memory_hostile` benchmark: the crawler's peak memory and CPU per page on hostile sites."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet

from benchmarks.crawl import require_lycosa
from benchmarks.harness import Cores, Options, Run, environment, measure, progress
from benchmarks.hostile_rows import ROWS, Row
from benchmarks.hostile_server import FIRST
from benchmarks.ports import free_port
from benchmarks.report import BenchmarkError, Claim, Figure, Report

MEMORY = "512 MiB"
SLOTS = 128
ADDRESSES = 2  # of each site: with 64 pages at once on each all slots are busy
PEAK = 640 * (1 << 20)  # bytes: what is told, the interpreter and its libraries
CPU = 1.0  # seconds a page
TIMEOUT = 120.0  # seconds for one site
QUICK = 50.0  # seconds for all sites
FINISHED, PARTIAL = 0, 3  # exit statuses: all URLs have an answer; those of broken sites have none

_COLUMN = re.compile(r', ?"(?:body|text|links|headers)"')


def run(options: Options) -> Report:
    """Crawl every site with a new crawler; quick: fewer pages, and as many sites as time allows."""
    require_lycosa()
    report, cores, begin = Report("memory_hostile", options.quick), Cores.split(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name, _server() as port:
        for number, row in enumerate(ROWS):
            if options.quick and time.monotonic() - begin > QUICK:
                report.notes.append(f"quick: no time for: {', '.join(left.name for left in ROWS[number:])}")
                break
            folder = Path(name) / str(number)
            folder.mkdir()
            try:
                _row(report, row, number, port, cores, folder, options.quick)
            except BenchmarkError as error:
                progress(f"{row.name}: {error}")
                report.claims.append(Claim.at_most(f"hostile-{number + 1}", f"{row.name}: {error}", None, "MiB", 640))
            shutil.rmtree(folder)
    return report


def _row(report: Report, row: Row, number: int, port: int, cores: Cores, folder: Path, quick: bool) -> None:
    """Crawl one site; add its claims."""
    pages = row.quick if quick else row.pages
    origins = [f"http://{host}:{port}" for host in _hosts(row, FIRST + number)]
    seeds = [f"{origin}/?{pages}" for origin in origins]
    if row.again:
        half = ["--max-pages", str(len(origins) * pages // 2)]
        _crawl(row, [*seeds, *half], port, cores, folder, ("first.jsonl",))
        seeds = []  # a seed that is given again is fetched again
    limit = ["--max-pages", str(row.limit or "none")]
    made = _crawl(row, [*seeds, *limit], port, cores, folder, ("pages.jsonl", *row.outputs))
    outcomes, found = _outcomes(folder / "pages.jsonl")
    _check(row, folder, outcomes.total())
    peak, cpu = made.peak / (1 << 20), made.cpu / outcomes.total()
    went_on = sum(f"{origin}/good" in found for origin in origins)
    text = ", ".join(f"{count:,} {kind}" for kind, count in outcomes.most_common())
    progress(
        f"{row.name}: {peak:.0f} MiB, {cpu * 1000:.0f} ms of CPU a page, {made.wall:.0f} s, {went_on} good; {text}"
    )
    name = f"hostile-{number + 1}"
    report.claims += [
        Claim.at_most(f"{name}-peak", f"{row.name}: peak resident memory, at most", peak, "MiB", PEAK / (1 << 20)),
        Claim.at_most(f"{name}-cpu", f"{row.name}: CPU a page, at most", cpu, "s", CPU),
        Claim.at_least(f"{name}-good", f"{row.name}: good pages fetched afterwards", went_on, "pages", len(origins)),
    ]
    report.figures.append(Figure.of(f"{row.name}: wall time", "s", [made.wall]))
    report.notes.append(f"{row.name}: {text}")


def _hosts(row: Row, site: int) -> list[str]:
    """Return the hosts whose first pages are the seeds."""
    if row.domains:
        return [f"trap{site}-{host}.test" for host in range(1, row.domains + 1)]
    return [f"127.{site}.0.{host}" for host in range(1, ADDRESSES + 1)]


def _crawl(row: Row, arguments: list[str], port: int, cores: Cores, folder: Path, outputs: Iterable[str]) -> Run:
    """Run a crawl to its end."""
    settings = {
        "memory": MEMORY,
        "fetch.slots": SLOTS,
        "scope": "any",
        "allow_addresses": ["127.0.0.0/8"],
        "names.resolvers": [f"127.0.0.1:{port}"],
        "politeness.host_interval": 0,
        "politeness.address_interval": 0,
        "politeness.response_multiple": 0,
        "politeness.max_interval": 0,
        "politeness.retry_delay": 0,
        "frontier.patience": 1,
        "politeness.host_concurrency": SLOTS // ADDRESSES,
        "politeness.address_concurrency": SLOTS // ADDRESSES,
        "store.fields": ["url", "status", "error", *row.columns],
        "max_depth": row.depth,
        "user_agent": "lycosa-bench/1.0 (+http://localhost/)",
    }
    command = [sys.executable, "-m", "lycosa", "crawl", *arguments, "--dir", str(folder / "job")]
    for output in outputs:
        command += ["-o", os.path.join(folder, output)]
    for key, value in settings.items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    return measure(
        row.name,
        [*command, "--quiet"],
        cores=cores.client,
        timeout=TIMEOUT,
        log=folder / "crawl.log",
        env=environment(),
        accepted=(FINISHED, PARTIAL),
    )


def _outcomes(output: Path) -> tuple[Counter[str], set[str]]:
    """Return the number of outcomes of each kind in an output, and the URLs with status 200."""
    kinds: Counter[str] = Counter()
    found = set()
    with output.open(encoding="utf-8") as lines:
        for line in lines:
            # What is large comes last, and is not looked at.
            head = line if len(line) < 1 << 20 else _COLUMN.split(line, maxsplit=1)[0] + "}"
            row = json.loads(head)
            kinds[str(row["status"] or row["error"])] += 1
            if row["status"] == 200:
                found.add(row["url"])
    return kinds, found


def _check(row: Row, folder: Path, outcomes: int) -> None:
    """Check that the crawl reached its end, and that each further output has all outcomes."""
    if outcomes < row.limit:
        raise BenchmarkError(f"{row.name}: {outcomes} of {row.limit} pages")
    for name in row.outputs:
        output = folder / name
        if name.endswith(".jsonl"):
            with output.open("rb") as lines:
                count = sum(1 for _ in lines)
        else:
            files = [output] if output.is_file() else list(output.glob("*.parquet"))
            count = sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
        if count != outcomes:
            raise BenchmarkError(f"{row.name}: {name} has {count} of {outcomes} outcomes")


@contextlib.contextmanager
def _server() -> Iterator[int]:
    """Run the server in a process of its own; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.hostile_server", str(port)]
    core = Cores.split().server
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )
    try:
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            raise BenchmarkError("memory_hostile: the server does not start")
        yield port
    finally:
        child.kill()
        child.wait()
