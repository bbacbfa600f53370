"""The `memory_hostile` benchmark: the crawler's peak memory and CPU a page on forty hostile sites."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.crawl import require_lycosa
from benchmarks.harness import Cores, Options, Run, environment, measure, progress
from benchmarks.hostile_rows import ROWS, Row
from benchmarks.hostile_server import FIRST
from benchmarks.report import BenchmarkError, Claim, Figure, Report

MEMORY = "512 MiB"
SLOTS = 128
ADDRESSES = 4  # of each site: with 32 pages at once on each all slots are busy
PEAK = 640 * (1 << 20)  # bytes: what is told, the interpreter and its libraries
CPU = 1.0  # seconds a page
TIMEOUT = 300.0  # seconds for one site
QUICK = 50.0  # seconds for all sites


def run(options: Options) -> Report:
    """Crawl every site with a crawler of its own; quick: with fewer pages, and as many sites as there is time for."""
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
    site = FIRST + number
    seeds = [f"http://127.{site}.0.{host}:{port}/?{pages}" for host in range(1, ADDRESSES + 1)]
    output = folder / "pages.jsonl"
    if row.again:
        _crawl(row, [*seeds, "--max-pages", str(ADDRESSES * pages)], port, cores, folder, folder / "first.jsonl")
    made = _crawl(row, seeds, port, cores, folder, output)
    outcomes, found = _outcomes(output)
    peak, cpu = made.peak / (1 << 20), made.cpu / max(outcomes, 1)
    went_on = sum(url in found for url in (f"http://127.{site}.0.{h}:{port}/good" for h in range(1, ADDRESSES + 1)))
    progress(f"{row.name}: {peak:.0f} MiB, {cpu * 1000:.0f} ms of CPU a page, {outcomes} outcomes, {went_on} good")
    name = f"hostile-{number + 1}"
    report.claims += [
        Claim.at_most(f"{name}-peak", f"{row.name}: peak resident memory, at most", peak, "MiB", PEAK / (1 << 20)),
        Claim.at_most(f"{name}-cpu", f"{row.name}: CPU a page, at most", cpu, "s", CPU),
        Claim.at_least(f"{name}-good", f"{row.name}: good pages fetched afterwards", went_on, "pages", ADDRESSES),
    ]
    report.figures.append(Figure.of(f"{row.name}: wall time", "s", [made.wall]))


def _crawl(row: Row, arguments: list[str], port: int, cores: Cores, folder: Path, output: Path) -> Run:
    """Run a crawl to its end."""
    fields = ["url", "status", "error", *(["body"] if row.bodies else [])]
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
        "politeness.host_concurrency": SLOTS // ADDRESSES,
        "politeness.address_concurrency": SLOTS // ADDRESSES,
        "store.fields": fields,
        "max_depth": 1,
        "user_agent": "lycosa-bench/1.0 (+http://localhost/)",
    }
    command = [sys.executable, "-m", "lycosa", "crawl", *arguments, "--dir", str(folder / "job"), "-o", str(output)]
    for key, value in settings.items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    return measure(
        row.name,
        [*command, "--quiet"],
        cores=cores.client,
        timeout=TIMEOUT,
        log=folder / "crawl.log",
        env=environment(),
    )


def _outcomes(output: Path) -> tuple[int, set[str]]:
    """How many outcomes an output has, and the URLs of those with status 200."""
    count, found = 0, set()
    with output.open(encoding="utf-8") as lines:
        for line in lines:
            # Bodies come last, and are not looked at.
            row = json.loads(
                line if len(line) < 1 << 20 else line.partition(', "body')[0].partition(',"body')[0] + "}"
            )
            count += 1
            if row["status"] == 200:
                found.add(row["url"])
    return count, found


@contextlib.contextmanager
def _server() -> Iterator[int]:
    """The server in a process of its own; gives its port."""
    port = _free_port()
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


def _free_port() -> int:
    """A port that is free for TCP and UDP, below those that the system gives to clients."""
    for port in random.sample(range(20_000, 30_000), 100):
        with (
            socket.socket() as tcp,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
            contextlib.suppress(OSError),
        ):
            tcp.bind(("0.0.0.0", port))  # noqa: S104
            udp.bind(("127.0.0.1", port))
            return port
    raise BenchmarkError("memory_hostile: no port is free")
