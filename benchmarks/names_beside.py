"""Memory and times of the four designs and their peers on the same names: `names_cache_peers`, `names_peers`."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, Options, build_example, environment, measure, progress
from benchmarks.peers.names_peers import BATCH, LYCOSA, SHARED
from benchmarks.report import Claim, Figure, Peer, Report

ROOT = Path(__file__).parents[1]
MILLION = 1_000_000
TIMEOUT = 1_200.0  # seconds for one contestant
DESIGNS = ("compact", "async-lru", "regions", "optimiser")
QUICK_CACHE, DICT, CACHETOOLS = "quick_cache", "dict", "cachetools"
MANY = 10 * MILLION  # names, for everybody
LARGE = 100 * MILLION  # names, where they fit
MEMORY = 20_000_000_000  # bytes that one contestant may take
FILLING = 300.0  # seconds that filling them may take, all together
SLOWER = 1.5  # an insertion among `LARGE` names, against one among `MANY`
SPARE = 1_500_000_000  # bytes that stay free
DRAWS = MILLION  # names that Python looks up


def size(count: int) -> str:
    """Say how many names."""
    return f"{count / MILLION:g} million names"


def run(report: Report, options: Options, cores: Cores, folder: Path) -> list[list[str]]:
    """Time all contestants; returns the commands that fill those with capacity for `LARGE` names."""
    program = build_example("lycosa-names-published", "names_cache_peers")
    own = () if options.peers_only else DESIGNS
    counts = [MILLION // 4] if options.quick else [MILLION, MANY]
    rows = []
    for count in counts:
        for cache in (*own, QUICK_CACHE):
            row = _ask(cache, [str(program), cache, str(count)], cores, folder)
            rows.append(row)
            _figures(report, row)
    peers = _peers()
    missing = {peer.name for peer in peers if peer.missing}
    report.peers += peers
    python = [cache for cache in (DICT, CACHETOOLS) if cache not in missing]
    _python(report, program, counts, [*python, *(() if options.peers_only else (LYCOSA, SHARED))], cores, folder)
    report.notes += [
        "names of 16 bytes on average, each with one IPv4 address; bytes a name are the resident memory gained, by "
        "each name that is held; in Rust a lookup begins with a text, which is normalized for everybody, insertions "
        "include the making of the name",
        f"{QUICK_CACHE} and {DICT} keep the second of expiry beside the address and compare it; Python's values are "
        "one int; a lookup in Python is given a string that nobody has hashed yet",
        "peers in Python end at 10 million names",
    ]
    return [] if options.quick else _large(report, program, rows)


def show_large(report: Report, rows: Sequence[dict[str, Any]]) -> None:
    """Return the memory of those filled with `LARGE` names, several at once, so without times."""
    for row in rows:
        _memory(report, row)


def _ask(title: str, command: list[str], cores: Cores, folder: Path) -> dict[str, Any]:
    """Run a contestant and parse its output."""
    log = folder / "beside.log"
    made = measure(title, command, cores=cores.client, timeout=TIMEOUT, log=log, env=environment())
    progress(f"{title}: {made.cpu:.2f} s CPU, {made.wall:.2f} s, {made.peak / 1e6:.0f} MB")
    row: dict[str, Any] = json.loads(log.read_text().strip().splitlines()[-1])
    return row


def _memory(report: Report, row: dict[str, Any]) -> str:
    """Add memory, and missing or wrong answers; returns the prefix of the figures' names."""
    title = f"{row['cache']}, {size(row['names'])}"
    report.figures += [
        Figure.of(f"{title}: resident memory", "bytes/name", [row["bytes_a_name"]]),
        Figure.of(f"{title}: not held", "% of names", [100 * (1 - row["held"] / row["names"])]),
        Figure.of(f"{title}: wrong answers", "answers", [row["wrong"]]),
    ]
    return title


def _figures(report: Report, row: dict[str, Any]) -> None:
    """Add memory and times of a contestant in Rust."""
    title = _memory(report, row)
    report.figures += [
        Figure.of(f"{title}: lookups, one by one", "names/CPU s", [1e9 / cost for cost in row["lookup_nanoseconds"]]),
        Figure.of(f"{title}: an insertion", "ns", [row["insertion_nanoseconds"]]),
    ]


def _large(report: Report, program: Path, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Choose the contestants with capacity for `LARGE` names, the smallest first; the compact cache is separate."""
    room, seconds = min(MEMORY, _available() - SPARE), 0.0
    commands = []
    filled = [row for row in rows if row["names"] == MANY and row["cache"] != "compact"]
    for row in sorted(filled, key=lambda row: float(row["bytes_a_name"])):
        needed = row["bytes_a_name"] * LARGE
        longer = seconds + row["insertion_nanoseconds"] * LARGE / 1e9 * SLOWER
        left_out = f"{row['cache']} was not filled with {size(LARGE)}: it would take about"
        if needed > room:
            report.notes.append(f"{left_out} {needed / 1e9:.0f} GB of {room / 1e9:.0f}")
        elif longer > FILLING:
            report.notes.append(f"{left_out} {longer - seconds:.0f} s of {max(FILLING - seconds, 0):.0f}")
        else:
            seconds = longer
            commands.append([str(program), row["cache"], str(LARGE)])
    return commands


def _available() -> int:
    """Return the available memory in bytes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def _python(
    report: Report, program: Path, counts: Sequence[int], caches: Sequence[str], cores: Cores, folder: Path
) -> None:
    """Time contestants in Python and judge Lycosa's."""
    rows: dict[str, dict[str, Any]] = {}
    where = folder / "names"
    where.mkdir()
    for count in counts:
        made = [str(program), "files", str(count), str(min(count, DRAWS)), str(where)]
        _ask("files of names", made, cores, folder)
        for cache in caches:
            if cache == LYCOSA and count > MILLION:
                continue  # filled by way of Python it only shows how long `put_many` takes
            command = [sys.executable, "-m", "benchmarks.peers.names_peers", cache, str(count), str(where)]
            rows[cache] = row = _ask(f"python, {cache}", command, cores, folder)
            title = f"Python, {cache}, {size(count)}"
            if cache != SHARED:
                report.figures += [
                    Figure.of(f"{title}: resident memory", "bytes/name", [row["bytes_a_name"]]),
                    Figure.of(f"{title}: an insertion", "ns", [row["insertion_nanoseconds"]]),
                ]
            report.figures.append(Figure.of(f"{title}: a lookup", "ns", row["one"]["nanoseconds"]))
            missed = 100 * row["unknown"] / row["one"]["lookups"]
            report.figures.append(Figure.of(f"{title}: wrong answers", "answers", [row["wrong"]]))
            report.figures.append(Figure.of(f"{title}: names not found", "% of lookups", [missed]))
            for way, text in (("batches", ""), ("read", ", all addresses made Python objects")):
                if way in row:
                    rates = [1e9 / cost for cost in row[way]["nanoseconds"]]
                    name = f"{title}: lookups in batches of {BATCH:,}{text}"
                    report.figures.append(Figure.of(name, "names/CPU s", rates))
        for file in where.iterdir():
            file.unlink()
    if row := rows.get(SHARED, {}):
        _judge(report, row)


def _judge(report: Report, row: dict[str, Any]) -> None:
    """Judge Lycosa in Python by the file that processes share, at the largest size; the median of rounds counts."""
    rate = Figure.of("", "", [1e9 / cost for cost in row["batches"]["nanoseconds"]]).median
    single = Figure.of("", "", row["one"]["nanoseconds"]).median
    held = f", mapped file, {size(row['names'])}"
    text = f"lookups from Python in batches of {BATCH:,}{held}, at least"
    report.claims += [
        Claim.at_least("names-python-batches", text, rate, "names/CPU s", 3 * MILLION),
        Claim.at_most(
            "names-python-single", f"a lookup from Python, one at a time{held}, at most", single, "ns", 500
        ),
    ]


def _peers() -> list[Peer]:
    """Describe the peers."""
    with (ROOT / "Cargo.lock").open("rb") as lock:
        packages = tomllib.load(lock)["package"]
    version = next((package["version"] for package in packages if package["name"] == QUICK_CACHE), None)
    return [
        Peer(QUICK_CACHE, version, "sync::Cache, default hasher, room for an eighth more names than it is given"),
        Peer(DICT, sys.version.split()[0], "str to int: address and second of expiry"),
        Peer.package(CACHETOOLS, ["cachetools"], "TTLCache, room for all names, str to int"),
    ]
