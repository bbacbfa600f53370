"""Cost of the compact cache, against the bars that the issue set; other designs and peers are in `names_beside`.

Most of it is one program, `crates/names/examples/names_cache_compact`. What is counted runs on both cores at once;
what is timed runs alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import names_beside, side_by_side
from benchmarks.harness import Cores, Options, build_example, environment, measure, progress
from benchmarks.hit_rates import host_names
from benchmarks.names_beside import MILLION, size
from benchmarks.report import Claim, Figure, Report

TIMEOUT = 1_800.0  # seconds
FALSE_POSITIVES = 1e-6  # of the negative filters
KEY = 76  # bits of the published key
OWN_KEY = 64 + 12 + 32  # bits of a slot that stand for the name: verification, TLD code, label
MODES = ("keyed", "published")  # of verification
EXAMPLE = 5 + 13 + 3 + 2  # bytes of the name by which the publication reckons


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of names, or reads, per measurement."""

    memory: tuple[int, ...]
    negative: int
    wrong: tuple[int, ...]
    lookups: int
    prefix: int
    torn: int


FULL = Sizes(
    memory=(MILLION, 10 * MILLION, 100 * MILLION),
    negative=10 * MILLION,
    wrong=(10 * MILLION, 100 * MILLION),
    lookups=10 * MILLION,
    prefix=100 * MILLION,
    torn=1_000 * MILLION,
)
QUICK = Sizes(
    memory=(MILLION,),
    negative=MILLION // 4,
    wrong=(MILLION,),
    lookups=MILLION // 2,
    prefix=MILLION,
    torn=10 * MILLION,
)


def run(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Run timed measurements one after the other, then counted ones in parallel."""
    large = names_beside.run(report, options, cores, folder)
    if options.peers_only:
        for rows in side_by_side.run([large], cores, folder, TIMEOUT) if large else []:
            names_beside.show_large(report, rows)
        return
    sizes = QUICK if options.quick else FULL
    program = str(build_example("lycosa-names", "names_cache_compact"))
    both = cores.client | cores.server  # for readers and a writer that meet
    file = folder / "lookups.cache"
    lookups = [program, "lookups", str(sizes.lookups)]
    in_memory = _ask(lookups, cores.client, folder)
    in_file = _ask([*lookups, str(file)], cores.client, folder)
    file.unlink()
    _lookups(report, {"in memory": in_memory, "mapped file": in_file})
    _prefix(report, _ask([program, "prefix", str(sizes.prefix)], cores.client, folder), sizes.prefix)
    _torn(report, _ask([program, "torn", str(sizes.torn)], both, folder), sizes.torn)
    progress("side by side: what is counted, not timed")
    memory = [[program, "memory", str(count)] for count in sizes.memory]
    beside = str(build_example("lycosa-names-published", "names_cache_peers"))
    negative = [[program, "negative", str(sizes.negative)], [beside, "burst", str(min(sizes.negative, MILLION))]]
    keyed, published = ([[program, "wrong", str(count), mode] for count in sizes.wrong] for mode in MODES)
    # Both lanes take about as long.
    first, second = side_by_side.run([memory + negative + keyed, published + large], cores, folder, TIMEOUT)
    _memory(report, first[: len(memory)])
    _negative(report, first[len(memory)], first[len(memory) + 1])
    _wrong(report, dict(zip(MODES, (first[-len(keyed) :], second[: len(published)]), strict=True)))
    names_beside.show_large(report, second[len(published) :])
    _key_bits(report, folder)
    if options.quick:
        report.notes.append("quick: claims on 10 and 100 million names are judged by fewer, which fit caches better")


def _ask(command: list[str], cores: frozenset[int], folder: Path) -> dict[str, Any]:
    """Run a program and parse the object that it prints."""
    log, title = folder / "costs.log", " ".join(command[1:3])
    made = measure(title, command, cores=cores, timeout=TIMEOUT, log=log, env=environment())
    progress(f"{title}: {made.cpu:.2f} s CPU, {made.wall:.2f} s")
    row: dict[str, Any] = json.loads(log.read_text().strip().splitlines()[-1])
    return row


def _memory(report: Report, rows: Sequence[dict[str, Any]]) -> None:
    """Judge the table by its largest size per name; address sets are separate."""
    for row in rows:
        title = f"compact, {size(row['names'])}"
        report.figures += [
            Figure.of(f"{title}: table", "bytes/name", [row["bytes_a_name"]]),
            Figure.of(f"{title}: load of the table", "%", [row["load"] * 100]),
            Figure.of(f"{title}: evicted early", "%", [row["evicted_early_share"] * 100]),
        ]
        if row["names"] > names_beside.MANY:
            continue  # the mix ends there
        mix = row["mix"]
        title = f"compact, {size(row['names'])} with several addresses as in the wild"
        report.figures += [
            Figure.of(f"{title}: address sets in use", "bytes/name", [mix["set_bytes_in_use_a_name"]]),
            Figure.of(f"{title}: room kept for address sets", "bytes/name", [mix["set_bytes_reserved_a_name"]]),
            Figure.of(f"{title}: resolutions that found no room", "sets", [mix["sets_full"]]),
        ]
    upto = f", up to {size(rows[-1]['names'])}"
    bytes_a_name = max(row["bytes_a_name"] for row in rows)
    early = max(row["evicted_early_share"] for row in rows) * 100
    report.claims += [
        Claim.at_most("names-bytes", f"compact: table at 90 % load{upto}, at most", bytes_a_name, "bytes/name", 24),
        Claim.at_most("names-early", f"compact: evicted early at 90 % load{upto}, at most", early, "%", 2),
    ]


def _key_bits(report: Report, folder: Path) -> None:
    """Judge the publication's saving of key bits by real host names, compared with its own calculation."""
    saved = None
    reckoned = 100 * (1 - KEY / (8 * EXAMPLE))
    report.figures.append(Figure.of(f"key bits saved by {KEY} bits, as published", "%", [reckoned]))
    if file := host_names(folder):
        names = file.read_text(encoding="utf-8").split()
        mean = sum(len(name.encode()) for name in names) / len(names)
        saved = 100 * (1 - KEY / (8 * mean))
        report.figures += [
            Figure.of(f"real host names ({len(names):,}): mean length", "bytes", [mean]),
            Figure.of(f"key bits saved by {KEY} bits, real host names", "%", [saved]),
            Figure.of(
                f"key bits saved by the {OWN_KEY} that a slot of Lycosa's keeps, real host names",
                "%",
                [100 * (1 - OWN_KEY / (8 * mean))],
            ),
        ]
    else:
        report.notes.append("no real host names, since there are no corpora (LYCOSA_CORPORA)")
    text = f"key bits saved by a key of {KEY} bits against the text, real host names (as published), at least"
    report.claims.append(Claim.at_least("names-key-bits", text, saved, "%", 59))


def _negative(report: Report, row: dict[str, Any], burst: dict[str, Any]) -> None:
    """Judge the bits of both filters, and whether their false positive rate is within the statistical error.

    They are filled evenly over their time; the effect of a burst of names is a separate figure.
    """
    for key, what, bar in (("clear_all", "clear-all", 29), ("generations", "four generations", 32)):
        made = row[key]
        title = f"negative filter, {what}, {size(made['names'])}"
        report.figures += [
            Figure.of(f"{title}: false positives", "rate", [made["false_positive_rate"]]),
            Figure.of(f"{title}: names that it does not know", "names", [made["missed"]]),
            Figure.of(f"{title}: bits set", "%", [made["fill"] * 100]),
        ]
        for times, rate in zip(("as many names as it is made for", "twice as many"), burst[key], strict=True):
            name = f"negative filter, {what}, {size(burst['names'])}: false positives, {times} within a second"
            report.figures.append(Figure.of(name, "rate", [rate]))
        expected = made["probes"] * FALSE_POSITIVES
        above = (made["false_positives"] - expected) / math.sqrt(expected)
        text = f"{title}: false positives above {FALSE_POSITIVES:g} × {made['probes']:,}, at most"
        claim = f"names-{key.replace('_', '-')}"
        report.claims += [
            Claim.at_most(claim, f"{title}, at most", made["bits_a_name"], "bits/name", bar),
            Claim.at_most(f"{claim}-rate", text, above, "standard deviations", 3),
        ]


def _lookups(report: Report, places: dict[str, dict[str, Any]]) -> None:
    """Judge both verify modes by the slower of memory and mapped file.

    From a text to an answer; `keyed`, the default, normalizes the name and hashes all of it, `published` also splits
    it into suffix, label and rest.
    """
    modes = {"keyed": "keyed", "published": "published key, which splits the name"}
    for where, row in places.items():
        title = f"compact, {where}, {size(row['names'])}"
        for mode, text in modes.items():
            for kind in ("known", "unknown"):
                values = [row[f"{mode}_batched_{kind}_a_cpu_second"]]
                report.figures.append(
                    Figure.of(f"{title}: lookups in batches, {text}, {kind}", "names/CPU s", values)
                )
            single = [row[f"{mode}_single_nanoseconds"]]
            report.figures.append(Figure.of(f"{title}: a lookup, one at a time, {text}", "ns", single))
    for mode, claim in zip(MODES, ("names-lookups", "names-lookups-split"), strict=True):
        slower = min(row[f"{mode}_batched_known_a_cpu_second"] for row in places.values())
        count = size(places["in memory"]["names"])
        text = f"lookups in Rust in batches, {modes[mode]}, slower of memory and file, {count}, at least"
        report.claims.append(Claim.at_least(claim, text, slower, "names/CPU s", 5 * MILLION))


def _prefix(report: Report, row: dict[str, Any], count: int) -> None:
    """Judge a scan of the table; a quick run's is extrapolated to 100 million."""
    stretch = 100 * MILLION / count
    report.figures += [
        Figure.of(f"compact, {size(count)}: names under com", "names", [row["under_com"]]),
        Figure.of(f"compact, {size(count)}: a count of each top-level domain", "s", [row["count_by_tld_seconds"]]),
    ]
    text = "count of the names under com, of 100 million"
    text += ", at most" if stretch == 1 else f" (a straight line from {size(count)}), at most"
    report.claims.append(Claim.at_most("names-prefix", text, row["slowest_seconds"] * stretch, "s", 2))


def _torn(report: Report, row: dict[str, Any], reads: int) -> None:
    """Judge answers read while another process writes; too few reads mean that a reader failed."""
    title = f"{row['reads']:,} reads by 2 processes while 1 writes the same 4,000 names"
    report.figures += [
        Figure.of(f"{title}: found", "% of reads", [100 * row["answers"] / max(row["reads"], 1)]),
        Figure.of(f"{title}: wall time", "s", [row["seconds"]]),
    ]
    torn = row["torn"] if row["reads"] >= reads and row["answers"] > 0 else None
    report.claims.append(Claim.at_most("names-torn", f"torn answers in {title}, at most", torn, "answers", 0))


def _wrong(report: Report, modes: dict[str, Sequence[dict[str, Any]]]) -> None:
    """Judge wrong answers of the keyed mode; those of the published key are compared with the prediction."""
    for mode, rows in modes.items():
        for row in rows:
            title = f"verify {mode}, {size(row['names'])}"
            report.figures += [
                Figure.of(f"{title}: wrong answers for names that were put in", "answers", [row["wrong_of_known"]]),
                Figure.of(f"{title}: wrong answers for as many other names", "answers", [row["wrong_of_unknown"]]),
                Figure.of(f"{title}: predicted for as many other names", "answers", [row["predicted_wrong"]]),
            ]
    keyed = modes["keyed"]
    counts = " and ".join(size(row["names"]) for row in keyed)
    wrong = sum(row["wrong_of_known"] + row["wrong_of_unknown"] for row in keyed)
    text = f"verify keyed: wrong answers, {counts} known and as many unknown, at most"
    predicted = max(row["predicted_rate"] for row in keyed)
    chance = "verify keyed: predicted wrong answers a lookup, at most"
    report.claims += [
        Claim.at_most("names-wrong", text, wrong, "answers", 0),
        Claim.at_most("names-wrong-predicted", chance, predicted, "ratio", 1e-12),
    ]
