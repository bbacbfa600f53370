"""The `links` benchmark: synthetic pages through the whole frontier and the log, fetch replaced by a stub."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import Options, build_example, printed, progress
from benchmarks.report import Claim, Figure, Report

MIB = 1024 * 1024
QUEUE_MEMORY = 128  # MiB of waiting URLs
# MiB of known URLs by count: all in memory, and mostly on disk
SEEN_MEMORY = (1280, 512)
OTHER_MEMORY = 256  # MiB of everything else: clocks and queues of 100,000 hosts, the log's batch, the stub's pages


def run(options: Options) -> Report:
    """Admit many new links, then as many known ones; quick: a tenth of them, without claims."""
    count = 5_000_000 if options.quick else 50_000_000
    report = Report("links", options.quick)
    program = build_example("lycosa-frontier", "links")
    for seen_memory in SEEN_MEMORY[: 1 if options.quick else 2]:
        progress(f"{count:,} new and {count:,} known links, {seen_memory} MiB for what is known")
        result = _links(program, count, seen_memory)
        budget = QUEUE_MEMORY + seen_memory + OTHER_MEMORY
        new = result["new_links"] / result["new_seconds"]
        known = result["known_links"] / result["known_seconds"]
        peak = result["peak_bytes"] / MIB
        name = f"{count // 1_000_000} M links, {seen_memory} MiB"
        report.figures += [
            Figure.of(f"{name}: new links, log included", "links/CPU s", [new]),
            Figure.of(f"{name}: known links, log included", "links/CPU s", [known]),
            Figure.of(f"{name}: peak memory", "MiB", [peak]),
            Figure.of(f"{name}: log", "MB", [result["log_bytes"] / 1e6]),
            Figure.of(f"{name}: snapshot", "MB", [result["snapshot_bytes"] / 1e6]),
            Figure.of(f"{name}: snapshot saved and synced", "s", [result["saved_seconds"]]),
            Figure.of(f"{name}: snapshot opened", "s", [result["opened_seconds"]]),
        ]
        if options.quick:
            continue
        report.claims += [
            Claim.at_least(f"links-known-{seen_memory}", f"{name}: known", known, "links/CPU s", 1_000_000),
            Claim.at_least(f"links-new-{seen_memory}", f"{name}: new", new, "links/CPU s", 300_000),
            Claim.at_most(f"links-memory-{seen_memory}", f"{name}: peak memory", peak, "MiB", budget),
        ]
    if options.quick:
        report.notes.append("quick: a tenth of the links; the claims are judged by the full run only")
    report.notes.append(
        f"budget: {QUEUE_MEMORY} MiB for what waits, the MiB named for what is known, {OTHER_MEMORY} MiB for the "
        "rest; each page has 50 links, 30 to its own host; making the links is not counted"
    )
    return report


def _links(program: Path, count: int, seen_memory: int) -> dict[str, float]:
    """Run the program; returns its output."""
    sizes = [str(QUEUE_MEMORY), str(seen_memory)]
    return printed("links", lambda folder: [str(program), str(count), folder, *sizes], timeout=1_800)
