"""Simulates hit rates of the caches of names over their memory, and the savings of a shared cache.

The simulator is `crates/names-published/examples/names_cache_hits`, which documents how streams and DNS are
generated.
"""

from __future__ import annotations

import bisect
import gzip
import json
import math
import os
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, Options, build_example, environment, measure
from benchmarks.report import BenchmarkError, Figure, Peer, Report

ROOT = Path(__file__).parents[1]
LOOKUPS, QUICK_LOOKUPS = 2_000_000, 100_000  # of one stream
TIMEOUT = 1_200.0  # seconds
BUDGETS = (64, 128, 256)  # bytes for each domain of the polite crawl's window, at which caches are compared

STREAMS = {
    "zipf": "popularity alone: Zipf, exponent 0.9",
    "crawl": "polite crawl: round after round over a window of domains",
    "broad": "broad crawl: each host new, asked for twice, half a round apart",
    "mixture": "mixture: all three, by turns of chance",
}
OWN = ("compact", "async-lru", "regions", "optimiser")
LRU, SIEVE = "lru", "sieve"
COLOURS = {
    "compact": "#d62728", "async-lru": "#1f77b4", "regions": "#2ca02c", "optimiser": "#9467bd",
    LRU: "#8c8c8c", SIEVE: "#e6a100",
}  # fmt: skip


def run(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Simulate all caches on all streams."""
    program = build_example("lycosa-names-published", "names_cache_hits")
    lookups = QUICK_LOOKUPS if options.quick else LOOKUPS
    command, log = [str(program), str(lookups)], folder / "hit_rates.json"
    if hosts := host_names(folder):
        command.append(str(hosts))
    measure("hit rates", command, cores=cores.client, timeout=TIMEOUT, log=log, env=environment())
    made = json.loads(log.read_text())
    if options.peers_only:
        made["hits"] = [row for row in made["hits"] if row["cache"] not in OWN]
    else:
        report.figures += _shared(made)
    report.figures += _rates(made)
    report.peers += _peers()
    report.notes += _notes(made)
    if options.plot:
        draw(made, options.plot)


def host_names(folder: Path) -> Path | None:
    """Unpack real host names from the corpora, one per line; `None` if there are none."""
    corpora = Path(os.environ.get("LYCOSA_CORPORA") or ROOT.parent / "shared" / "corpora")
    packed = corpora / "hosts" / "hosts_dev.txt.gz"
    if not packed.exists():
        return None
    plain = folder / "hosts.txt"
    with gzip.open(packed) as source, plain.open("wb") as target:
        shutil.copyfileobj(source, target)
    return plain


def _rates(made: dict[str, Any]) -> list[Figure]:
    """Return hit rates at equal memory, the cost of refreshing, and wrong answers, which are not hits."""
    figures = []
    for cache in dict.fromkeys(row["cache"] for row in made["hits"]):
        wrong = sum(row["wrong"] for row in made["hits"] if row["cache"] == cache)
        figures.append(Figure.of(f"{cache}: wrong answers on all streams, in all sizes", "answers", [wrong]))
    for stream in STREAMS:
        for cache in COLOURS:
            rows = _curve(made, stream, cache)
            for budget in BUDGETS:
                rate = _at(rows, budget * made["window"])
                if rate is not None:
                    name = f"{stream}, {cache}: hit rate within {budget} bytes for each domain of the window"
                    figures.append(Figure.of(name, "%", [rate * 100]))
            if rows and (more := rows[-1]["refreshes"]):
                figures.append(Figure.of(f"{stream}, {cache}: refreshes", "% of lookups", [more * 100]))
    return figures


def _curve(made: dict[str, Any], stream: str, cache: str) -> list[dict[str, Any]]:
    """Return the rows of one curve, sorted by memory."""
    rows = [row for row in made["hits"] if (row["stream"], row["cache"]) == (stream, cache)]
    return sorted(rows, key=lambda row: row["memory"])


def _at(rows: Sequence[dict[str, Any]], memory: float) -> float | None:
    """Return a curve's hit rate within so many bytes, interpolated linearly over the logarithm of memory.

    It is `None` if the smallest cache needs more, and the largest one's if that needs less.
    """
    place = bisect.bisect_left([row["memory"] for row in rows], memory)
    if place == 0:
        return None
    if place == len(rows):
        return float(rows[-1]["hit_rate"])
    low, high = rows[place - 1], rows[place]
    share = math.log(memory / low["memory"]) / math.log(high["memory"] / low["memory"])
    return float(low["hit_rate"] + share * (high["hit_rate"] - low["hit_rate"]))


def _shared(made: dict[str, Any]) -> list[Figure]:
    """Return the questions and bytes of private caches and of a shared one."""
    figures = []
    for row in made["shared"]:
        name = (
            f"{row['caches']} private caches that keep TTLs ÷ one shared with a minimum TTL of {row['minimum_ttl']} s"
        )
        figures += [
            Figure.of(
                f"{row['caches']} private caches that keep TTLs: questions", "questions", [row["private_questions"]]
            ),
            Figure.of(f"{row['caches']} private caches that keep TTLs: bytes", "MB", [row["private_bytes"] / 1e6]),
            Figure.of(f"{name}: questions", "ratio", [row["private_questions"] / row["shared_questions"]]),
            Figure.of(f"{name}: bytes", "ratio", [row["private_bytes"] / row["shared_bytes"]]),
        ]
    if made["shared"]:
        row = made["shared"][0]
        figures += [
            Figure.of(
                f"one shared cache with a minimum TTL of {row['minimum_ttl']} s: questions",
                "questions",
                [row["shared_questions"]],
            ),
            Figure.of("one shared cache that keeps TTLs: questions", "questions", [row["shared_true_ttl_questions"]]),
        ]
    return figures


def _peers() -> list[Peer]:
    """Describe the peers."""
    with (ROOT / "Cargo.lock").open("rb") as lock:
        packages = tomllib.load(lock)["package"]
    version = next((package["version"] for package in packages if package["name"] == "lru"), None)
    return [
        Peer(LRU, version, "exact LRU by the crate lru, TTLs kept, failures kept 30 s"),
        Peer(SIEVE, "NSDI 2024", "SIEVE as its paper has it, in the same program, TTLs kept, failures kept 30 s"),
    ]


def _notes(made: dict[str, Any]) -> list[str]:
    """Describe the simulation."""
    names = f"{made['real_names']:,} real host names and more of their kind" if made["real_names"] else (
        "made up names, since there are no corpora (LYCOSA_CORPORA)"
    )  # fmt: skip
    return [
        f"hit rates are simulated: {made['lookups']:,} lookups of each stream, {made['rate']} a second, on {names}; "
        f"the window has {made['window']:,} domains",
        *(f"stream {name}: {text}" for name, text in STREAMS.items()),
        "memory is what each cache says of itself, with what malloc adds; a hit is an answer that still holds by the "
        "cache's own rule: async-lru and optimiser have periods of their own and keep no failures, others keep TTLs",
        "private and shared caches have room for everything; bytes are IPv4 packets of A questions and answers",
    ]


def draw(made: dict[str, Any], path: Path) -> None:
    """Draw hit rate over memory for each stream, and questions over the number of crawlers."""
    try:
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise BenchmarkError("--plot needs matplotlib: pip install 'lycosa[plot]'") from None
    picture = Picture(figsize=(11, 10), dpi=100, layout="constrained")
    grid = picture.subplots(3, 2)
    for axes, (stream, text) in zip(grid[:2].flat, STREAMS.items(), strict=True):
        axes.set_title(text, fontsize=9, loc="left")
        for cache, colour in COLOURS.items():
            if rows := _curve(made, stream, cache):
                axes.plot(
                    [row["memory"] / 1e6 for row in rows],
                    [row["hit_rate"] * 100 for row in rows],
                    color=colour,
                    linestyle="-" if cache in OWN else "--",
                    marker="o",
                    markersize=3,
                    label=cache,
                )
        axes.set_xscale("log")
        axes.set_xlabel("memory, MB", fontsize=8)
        axes.set_ylabel("hits, % of lookups")
        axes.set_ylim(0, 100)
    questions, size = grid[2]
    for axes, key, unit, scale in (
        (questions, "questions", "DNS questions, thousands", 1e3),
        (size, "bytes", "DNS traffic, MB", 1e6),
    ):
        rows = made["shared"]
        counts = [str(row["caches"]) for row in rows]
        axes.set_title(f"polite crawl, sites spread over crawlers: {unit}", fontsize=9, loc="left")
        axes.bar(
            [place - 0.2 for place in range(len(rows))],
            [row[f"private_{key}"] / scale for row in rows],
            0.4,
            color="#bdbdbd",
            label="private caches that keep TTLs",
        )
        axes.bar(
            [place + 0.2 for place in range(len(rows))],
            [row[f"shared_{key}"] / scale for row in rows],
            0.4,
            color=COLOURS["compact"],
            label="one shared cache with a minimum TTL",
        )
        axes.set_xticks(range(len(rows)), counts)
        axes.set_xlabel("crawlers", fontsize=8)
    for axes in grid.flat:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
    picture.savefig(path)
