"""The `seen` benchmark: the cost of the set of known URLs."""

from __future__ import annotations

import functools
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    Contestant,
    Cores,
    Options,
    Run,
    build_example,
    environment,
    in_turn,
    measure,
    pinned,
)
from benchmarks.report import Claim, Figure, Peer, Report

ROOT = Path(__file__).parents[1]
MILLION = 1_000_000
TIMEOUT = 1_200.0  # seconds for one contestant
KNOWN = MILLION  # keys that slow contestants are asked for again
BUDGET = 1_000_000_000  # bytes that the set beyond memory may take
FREE = 20 << 30  # bytes of disk that it needs at 300 million keys: its runs, and those being merged

LYCOSA, DISK, BLOOM, PLAIN, DIGESTS = "lycosa", "lycosa-disk", "bloom", "urls", "digests"
PYTHON_SET, SCRAPY, SQLITE, LMDB = "python-set", "scrapy", "sqlite", "lmdb"


@dataclass(frozen=True, slots=True)
class Task:
    """One contestant, with its numbers of keys and of rounds."""

    name: str
    keys: int
    rounds: int
    known: int = 0  # of the keys, how many are added again; 0: all

    @property
    def title(self) -> str:
        """Name it as figures do."""
        return f"{self.name}, {self.keys / MILLION:g} million"


def _tasks(quick: bool) -> list[Task]:
    """Return the contestants with their tasks; slow ones add fewer keys, and costs are per key."""
    fast, slow = (LYCOSA, BLOOM, PLAIN, DIGESTS), (PYTHON_SET, SQLITE, LMDB)
    if quick:
        tasks = [Task(name, MILLION, 3) for name in fast] + [Task(name, MILLION, 1) for name in slow]
        return [*tasks, Task(SCRAPY, MILLION // 10, 1)]
    return [
        *(Task(name, MILLION, 3) for name in fast),
        *(Task(name, MILLION, 1) for name in slow),
        Task(SCRAPY, MILLION // 5, 1),
        *(Task(name, 10 * MILLION, 1) for name in fast),
        *(Task(name, 10 * MILLION, 1, KNOWN) for name in slow),
        *(Task(name, 100 * MILLION, 1, 20 * MILLION) for name in (LYCOSA, BLOOM)),
        Task(DISK, 300 * MILLION, 1, KNOWN),
    ]


def run(options: Options) -> Report:
    """Have each contestant add the same keys twice, and compare nanoseconds and bytes per key."""
    program = build_example("lycosa-frontier", "seen_bench")
    report = Report("seen", options.quick, peers=_peers())
    missing = {peer.name for peer in report.peers if peer.missing}
    tasks = [task for task in _tasks(options.quick) if task.name not in missing]
    if options.peers_only:
        tasks = [task for task in tasks if task.name not in (LYCOSA, DISK)]
    if shutil.disk_usage(tempfile.gettempdir()).free < FREE:
        tasks = [task for task in tasks if task.name != DISK]
        report.notes.append(
            f"the set beyond memory was left out: {tempfile.gettempdir()} has not {FREE >> 30} GiB free"
        )
    cores = Cores.split()
    results: dict[str, list[dict[str, Any]]] = {task.title: [] for task in tasks}
    begin = time.monotonic()
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        contestants = []
        for task in tasks:
            start = functools.partial(_measure, task, program, Path(folder), cores, results[task.title])
            contestants.append(Contestant(task.title, start, task.rounds))
        in_turn(contestants)
    _report(report, tasks, results)
    if not options.peers_only:
        _judge(report, results)
    report.notes += [
        "ns are of CPU in the adding thread, the making of keys left out; a key is added in batches of 10,000, first "
        "when it is new, then again; ratios are of both together",
        "lycosa, bloom, digests, sqlite and lmdb are given digests, whose making is counted for none of them; urls, "
        "python-set and scrapy are given URLs of about 60 bytes",
        "bytes are resident memory gained; of databases their files are given besides",
        f"took {time.monotonic() - begin:.0f} s",
    ]
    return report


def _measure(task: Task, program: Path, folder: Path, cores: Cores, results: list[dict[str, Any]]) -> Run:
    """Run a contestant once and store its output."""
    log, known = folder / "log", task.known or task.keys
    where = Path(tempfile.mkdtemp(dir=folder))
    command = [str(program), task.name, str(task.keys), str(known), str(where), str(BUDGET)]
    if task.name in (PYTHON_SET, SCRAPY, SQLITE, LMDB):
        command = [sys.executable, "-m", "benchmarks.peers.seen_peers", task.name, str(task.keys), str(known)]
    # The set beyond memory writes and merges in threads of its own.
    both = cores.server | cores.client if task.name == DISK else cores.client
    try:
        made = measure(task.title, command, cores=both, timeout=TIMEOUT, log=log, env=environment())
    finally:
        shutil.rmtree(where)
    results.append(json.loads(log.read_text().strip().splitlines()[-1]))
    return made


def _peers() -> list[Peer]:
    """Describe the peers."""
    return [
        Peer(
            PLAIN, "hashbrown", "HashSet<String>, default hasher: the published baseline, a plain hash table of URLs"
        ),
        Peer(DIGESTS, "hashbrown", "HashSet<[u8; 16]>, default hasher"),
        Peer(BLOOM, "fastbloom", "0.1 % false positives, room for all keys from the start, default hasher"),
        Peer(PYTHON_SET, sys.version.split()[0], "set of str"),
        Peer.package(SCRAPY, ["scrapy"], "RFPDupeFilter in memory; requests made outside the time"),
        Peer(
            SQLITE, _sqlite(), "WITHOUT ROWID, no journal, no sync, exclusive, 1 GiB of cache, 10,000 a transaction"
        ),
        Peer.package(LMDB, ["lmdb"], "writable map, no sync, no lock, 10,000 a transaction"),
    ]


def _sqlite() -> str:
    """Return the version of SQLite."""
    import sqlite3

    return sqlite3.sqlite_version


def _cost(made: dict[str, Any]) -> float:
    """Return the mean nanoseconds per key, added when it is new and again when it is known."""
    return float(made["new"] + made["known"]) / 2


def _report(report: Report, tasks: Sequence[Task], results: dict[str, list[dict[str, Any]]]) -> None:
    """Return all figures."""
    shown = (
        ("a new key", "ns", "new"), ("a known key", "ns", "known"), ("a deletion", "ns", "delete"),
        ("memory", "bytes/key", "bytes"), ("files", "bytes/key", "file_bytes"),
    )  # fmt: skip
    for task in tasks:
        for text, unit, key in shown:
            values = [made[key] for made in results[task.title] if made.get(key)]
            if values:
                report.figures.append(Figure.of(f"{task.title}: {text}", unit, values))
        if wrong := max(made["false"] for made in results[task.title]):
            report.figures.append(Figure.of(f"{task.title}: false answers", "keys", [wrong]))
        if task.name == LYCOSA:
            speed = [1e9 / made["new"] for made in results[task.title]]
            report.figures.append(Figure.of(f"{task.title}: new keys a second and core", "keys/s", speed))
        if task.name == DISK:
            made = results[task.title][0]
            report.figures += [
                Figure.of(f"{task.title}: peak memory", "MB", [made["peak"] / 1e6]),
                Figure.of(
                    f"{task.title}: a new key, with the threads that write and merge", "ns", [made["all_threads"]]
                ),
            ]


def _judge(report: Report, results: dict[str, list[dict[str, Any]]]) -> None:
    """Judge each claim at the largest number of keys that both sides added."""

    def ratio(
        above: str, below: str, what: str, value: Callable[[dict[str, Any]], float]
    ) -> tuple[float | None, str]:
        """Return the ratio at the largest common size, and what was compared."""
        sizes = [title.partition(", ")[2] for title in results if title.startswith(f"{above}, ")]
        common = [size for size in sizes if f"{below}, {size}" in results]
        if not common:
            return None, ""
        sides = [[value(made) for made in results[f"{name}, {common[-1]}"]] for name in (above, below)]
        report.figures += [
            Figure.ratio(
                f"{what}, {above} ÷ {below}, {size}",
                *([value(made) for made in results[f"{name}, {size}"]] for name in (above, below)),
            )
            for size in common
        ]
        return statistics.median(sides[0]) / statistics.median(sides[1]), f" ({common[-1]} keys)"

    bloom, size = ratio(LYCOSA, BLOOM, "time", _cost)
    text = f"time of an addition, Lycosa ÷ a Bloom filter of 0.1 %{size}, at most"
    report.claims.append(Claim.at_most("seen-vs-bloom", text, bloom, "ratio", 1.5))
    for name, claim, other in (
        (PLAIN, "seen-vs-plain", "a plain hash table of URLs (as published)"),
        (SQLITE, "seen-vs-sqlite", "SQLite"),
        (LMDB, "seen-vs-lmdb", "LMDB"),
    ):
        slower, size = ratio(name, LYCOSA, "time", _cost)
        text = f"time of an addition, {other} ÷ Lycosa{size}, at least"
        report.claims.append(Claim.at_least(claim, text, slower, "ratio", 30))
    larger, size = ratio(PYTHON_SET, LYCOSA, "memory", lambda made: float(made["bytes"]))
    text = f"memory, a Python set of URLs ÷ Lycosa{size}, at least"
    report.claims.append(Claim.at_least("seen-vs-set", text, larger, "ratio", 8))
    own = [made for title, runs in results.items() if title.startswith(LYCOSA) for made in runs]
    wrong = sum(made["false"] for made in own)
    report.claims.append(
        Claim.at_most("seen-exact", "false answers of Lycosa in all runs, at most", wrong, "keys", 0)
    )
    if report.quick:
        report.notes.append("quick: memory at 100 million keys and the memory budget are judged by the full run only")
        return
    many = results.get(f"{LYCOSA}, 100 million", [])
    bytes_a_key = statistics.median(made["bytes"] for made in many) if many else None
    text = "resident memory of a URL at 100 million, at most"
    report.claims.append(Claim.at_most("seen-bytes", text, bytes_a_key, "bytes", 15))
    beyond = results.get(f"{DISK}, 300 million", [])
    peak = max(made["peak"] for made in beyond) / 1e6 if beyond else None
    text = "peak memory of the process at 300 million URLs with a budget of 1 GB, at most"
    report.claims.append(Claim.at_most("seen-budget", text, peak, "MB", 1_000))
