"""simnet's ceiling: how many requests a second one core of it serves, and at what CPU cost.

A crawl judged on simnet is only as fast as simnet; its ceiling should be three times the fastest crawler.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.harness import Cores, environment, last_line, progress
from benchmarks.report import BenchmarkError, Figure, Peer, Report

START = 15.0  # seconds until simnet must be ready
SECONDS = 2  # of load in each round
ENCODINGS = ("identity", "gzip")
WORLD = {"hosts": 20, "pages": 100, "seed": 1}


def add(report: Report, cores: Cores, fastest: Sequence[float]) -> None:
    """Measure simnet under plain load and add its figures; `fastest` are the crawler's pages a second."""
    rounds = 1 if report.quick else 5
    loads: dict[str, list[tuple[load.Load, float]]] = {encoding: [] for encoding in ENCODINGS}
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        for turn in range(rounds):
            progress(f"round {turn + 1}/{rounds} simnet")
            for encoding, done, cpu in _round(Path(folder), cores):
                loads[encoding].append((done, cpu))
    report.peers.append(
        Peer(load.generator(), load.version(), f"the load on simnet: {load.CONNECTIONS} connections, one core")
    )
    for encoding, made in loads.items():
        name = f"simnet lan, {encoding}"
        rates = [done.requests / done.seconds for done, _ in made]
        report.figures += [
            Figure.of(f"{name}: ceiling", "requests/s", rates),
            Figure.of(f"{name}: CPU", "µs/request", [cpu / done.requests * 1e6 for done, cpu in made]),
            Figure.of(f"{name}: answer", "KiB", [done.size / done.requests / 1024 for done, _ in made]),
            Figure.ratio(f"{name}: ceiling ÷ lycosa's speed", rates, fastest),
        ]


def _round(folder: Path, cores: Cores) -> Iterator[tuple[str, load.Load, float]]:
    """Start simnet on the server's core, load it from the other; give each load and simnet's CPU seconds."""
    log = folder / "simnet.log"
    with log.open("wb") as sink:
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ceiling", json.dumps(WORLD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            env=environment(),
            preexec_fn=lambda: os.sched_setaffinity(0, cores.server),
            start_new_session=True,
        )
    try:
        world = _answer(child, log)
        targets = load.find(world["port"], world["seeds"], world["hosts"])
        for encoding in ENCODINGS:
            before = _ask(child, log)
            done = load.run(world["port"], targets, encoding, SECONDS, cores.client, folder)
            yield encoding, done, _ask(child, log) - before
    finally:
        try:
            child.communicate(timeout=5)  # closes its stdin, which ends it
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


def _ask(child: subprocess.Popen[bytes], log: Path) -> float:
    """Ask the child for the CPU seconds it has used."""
    assert child.stdin is not None
    child.stdin.write(b"\n")
    child.stdin.flush()
    return float(_answer(child, log)["cpu"])


def _answer(child: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    """Read one line of JSON from the child."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], START)
    line = child.stdout.readline() if ready else b""
    if not line:
        raise BenchmarkError(f"simnet did not answer within {START:.0f} s: {last_line(log)}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def main() -> None:
    """Be the child: run simnet, and for each line on stdin print the CPU seconds used."""
    from lycosa.simnet import SimulatedInternet

    with SimulatedInternet(**json.loads(sys.argv[1]), speed=1.0) as world:
        print(json.dumps({"port": world.http_port, "seeds": world.seeds, "hosts": world.hosts}), flush=True)
        for _ in sys.stdin:
            times = os.times()
            print(json.dumps({"cpu": times.user + times.system}), flush=True)


if __name__ == "__main__":
    main()
