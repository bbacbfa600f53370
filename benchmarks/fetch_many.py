"""Parts of the benchmark of the fetch: many idle connections, and many requests in flight beside as many threads."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from benchmarks import nginx
from benchmarks.crawl_costs import make_certificate
from benchmarks.harness import (
    Contestant,
    Cores,
    Options,
    Run,
    build_example,
    environment,
    in_turn,
    measure,
    progress,
)
from benchmarks.ports import free_port
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Idle connections, and the bar in bytes for each (the issue).
IDLE, QUICK_IDLE, EACH = 9_900, 2_000, 20_000

#: Requests in flight, and how many each slot makes one after the other.
IN_FLIGHT, QUICK_IN_FLIGHT, EACH_MAKES = 2_000, 500, 5

#: Seconds that the server takes for each response, and the size of that.
TAKES, SIZE = 1.0, 27_000


def idle(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Measure the memory of idle connections, by HTTP and by TLS."""
    count = QUICK_IDLE if options.quick else IDLE
    for name in ("HTTP", "HTTPS"):
        progress(f"{count:,} idle connections, {name}")
        place = folder / f"idle-{name}"
        (place / "site").mkdir(parents=True)
        (place / "site" / "page.html").write_bytes(b"x" * SIZE)
        # Any name will do: the program asks for h0.bench.example and so on.
        certificate = make_certificate(place, "*.bench.example") if name == "HTTPS" else None
        with nginx.serving(
            place / "site", place / "nginx", cores.server, certificate, connections=count + 500
        ) as root:
            port = root.rstrip("/").rpartition(":")[2]
            command = [str(build_example("lycosa-fetch", "held")), port, str(count)]
            command += [] if certificate is None else [str(certificate)]
            log = folder / "held.log"
            measure("held", command, cores=cores.client, timeout=300, log=log, env=environment())
        found = re.search(r"(\d+) connections, (\d+) bytes each", log.read_text())
        if found is None:
            raise BenchmarkError(f"held: {log.read_text().strip()[-300:]}")
        each = int(found[2])
        report.figures.append(Figure.of(f"memory of an idle connection, {name}", "bytes", [each]))
        text = f"bytes of an idle connection of {count:,}, {name}"
        report.claims.append(Claim.at_most(f"fetch.idle.{name.lower()}", text, each, "bytes", EACH))


def in_flight(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Measure requests to a server that takes a second for each: one thread, and as many threads as requests."""
    slots = QUICK_IN_FLIGHT if options.quick else IN_FLIGHT
    progress(f"{slots:,} requests in flight")
    with _slow_server(cores) as url:
        made = {
            "lycosa": [cost_program(), url, str(slots * EACH_MAKES), str(slots)],
            "threads": [sys.executable, "-m", "benchmarks.peers.fetch_threads", url, str(slots), str(EACH_MAKES)],
        }
        rounds = 1 if options.quick else 3
        runs = in_turn([Contestant(name, partial(_go, name, made[name], cores, folder), rounds) for name in made])
    cost = {name: [run.cpu / (slots * EACH_MAKES) * 1e6 for run in runs[name]] for name in made}
    peak = {name: [run.peak / 1e6 for run in runs[name]] for name in made}
    for name in made:
        report.figures.append(Figure.of(f"{slots:,} in flight: CPU a request, {name}", "µs", cost[name]))
        report.figures.append(Figure.of(f"{slots:,} in flight: peak memory, {name}", "MB", peak[name]))
    for what, found in (("CPU", cost), ("memory", peak)):
        ratio = Figure.ratio(f"{slots:,} in flight: {what}, threads ÷ ours", found["threads"], found["lycosa"]).median
        claim = f"fetch.in-flight.{what.lower()}"
        text = f"{slots:,} requests in flight: {what}, as many threads ÷ one"
        report.claims.append(Claim.at_least(claim, text, ratio, "ratio", 1.0))


@cache
def cost_program() -> str:
    """Return the program that fetches with Lycosa's fetch alone; builds it once."""
    return str(build_example("lycosa-fetch", "cost"))


def _go(name: str, command: list[str], cores: Cores, folder: Path) -> Run:
    """Make one run; checks that all requests succeeded."""
    log = folder / f"{name}-in-flight.log"
    run = measure(name, command, cores=cores.client, timeout=300, log=log, env=environment())
    if not re.search(r"^\d+ (requests, 0 failed|responses)", log.read_text(), re.MULTILINE):
        raise BenchmarkError(f"{name}: {log.read_text().strip()[-300:]}")
    return run


@contextmanager
def _slow_server(cores: Cores) -> Iterator[str]:
    """Run a server that takes its time; yields a URL."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.peers.slow_server", str(port), str(TAKES), str(SIZE)]
    pinned = ["taskset", "-c", ",".join(map(str, cores.server)), *command]
    with subprocess.Popen(pinned, stdout=subprocess.PIPE, env=environment()) as server:
        try:
            assert server.stdout is not None
            if server.stdout.readline() != b"ready\n":
                raise BenchmarkError("the slow server did not start")
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            time.sleep(0.1)
