"""Dispatch: the pure decision, admission at the master, what a crawled page costs when it is fetched elsewhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.crawl import require_lycosa
from benchmarks.dispatch_crawl import remote_fetch
from benchmarks.dispatch_peer import task_queue
from benchmarks.dispatch_service import master
from benchmarks.harness import Cores, Options, progress, run_parts
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Decisions that are timed at once; rounds.
DECISIONS, ROUNDS, QUICK_ROUNDS = 200_000, 5, 3

#: Download servers among which a decision chooses.
SERVERS = (4, 64)

#: Seconds of load at the master, connections, and URLs of each question.
LOAD, CONNECTIONS, URLS = 6.0, 16, 100


def run(options: Options) -> Report:
    """Run all parts."""
    if options.peers_only:
        return run_parts("dispatch", [task_queue], options)
    require_lycosa()
    return run_parts("dispatch", [decision, admission, remote_fetch, task_queue], options)


def decision(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Time the pure decisions of both policies."""
    from lycosa.dispatch.admission import Load, admit_by_minute, choose_server, due_by_rate

    for count in SERVERS:
        servers = [Load(100.0 + number, 1_000 + number, number) for number in range(count)]
        published, smooth = [], []
        for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
            begin = time.process_time()
            for second in range(DECISIONS):
                admit_by_minute(10, second % 60, 1_000.0, 100, servers)
            published.append(DECISIONS / (time.process_time() - begin))
            begin = time.process_time()
            for second in range(DECISIONS):
                due_by_rate(10, 1_000.0, 1_000.0, float(second), float(second))
                choose_server(10, servers, (), 0, 0.0)
            smooth.append(DECISIONS / (time.process_time() - begin))
        for name, rates in (("minute-window", published), ("gcra", smooth)):
            figure = Figure.of(f"decisions, {name}, {count} download servers", "1/s", rates)
            report.figures.append(figure)
            if count == SERVERS[0]:
                text = f"pure decisions a CPU second, {name}, {count} download servers"
                report.claims.append(Claim.at_least(f"dispatch-decision-{name}", text, figure.median, "1/s", 500_000))


#: wrk asks the same question again and again.
_SCRIPT = """
wrk.method = "POST"
wrk.path = "/v1/grants"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '%s'
"""


def admission(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Ask a master as fast as wrk can; the CPU time is the master's alone."""
    program = shutil.which("wrk")
    if program is None:
        raise BenchmarkError("wrk is missing, which asks the master: apt-get install wrk")
    digest = hashlib.sha256(b"urls").hexdigest()
    question = {"service": "load", "client": "wrk", "parts": [{"server": None, "count": URLS, "digest": digest}]}
    script = folder / "ask.lua"
    script.write_text(_SCRIPT % json.dumps(question))
    rates = []
    with (
        master(folder, '[services.load]\nrate = 1000000\nburst = 10000000\nplacement = "idlest"\n', cores) as running,
        beating(running.url),
    ):
        for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
            before, asked = running.cpu(), running.granted("load")
            command = [program, "-t1", f"-c{CONNECTIONS}", f"-d{LOAD:g}s", "-s", str(script), running.url]
            subprocess.run(command, check=True, capture_output=True, timeout=LOAD + 30)
            grants = running.granted("load") - asked
            rates.append(grants / (running.cpu() - before))
            progress(f"admission: {grants:,} grants, {rates[-1]:,.0f} a CPU second")
    figure = Figure.of(f"grants of {URLS} URLs a CPU second of the master", "1/s", rates)
    report.figures.append(figure)
    text = f"admission requests a CPU second at the master, each for {URLS} URLs"
    report.claims.append(Claim.at_least("dispatch-admission", text, figure.median, "1/s", 5_000))


@contextlib.contextmanager
def beating(url: str) -> Iterator[None]:
    """Report a download server with any room, twice a second; it takes over the ring that it is told."""
    beat: dict[str, Any] = {
        "protocol": 1, "server": "d", "process": "p", "address": "http://127.0.0.1:1", "slots": 128, "speed": 1e6,
        "free": 10**12, "successes": 0, "failures": 0, "accepted": [], "ring": 0, "members": {}, "clocks": "",
        "queued": {},
    }  # fmt: skip
    over = threading.Event()

    def send() -> None:
        while not over.is_set():
            request = urllib.request.Request(f"{url}/v1/heartbeats", data=json.dumps(beat).encode())  # noqa: S310
            with urllib.request.urlopen(request, timeout=10) as answered:  # noqa: S310  # our own
                ring = json.load(answered)["ring"]
            beat["ring"], beat["members"] = ring["version"], ring["members"]
            over.wait(0.5)

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(0.2)
    try:
        yield
    finally:
        over.set()
        thread.join()
