"""The `hosts` benchmark: a frontier with many more hosts than its memory has room for."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import Options, build_example, printed, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

MIB = 1024 * 1024
URLS = 3  # of each host
COLLISIONS = 5  # hosts that the count may lack
QUEUE_MEMORY = 32  # MiB of waiting URLs
# MiB of known URLs, hosts in memory, and MiB that all may take: with ten million hosts, and with a tenth of them
FULL = (10_000_000, 192, 50_000, 1_024)
QUICK = (1_000_000, 64, 5_000, 256)
PAGES = 200_000  # that are fetched while the hosts wait, robots.txt files among them


def run(options: Options) -> Report:
    """Admit the URLs of many hosts, each of its own domain, and fetch some; quick: a tenth of the hosts."""
    hosts, seen_memory, warm, budget = QUICK if options.quick else FULL
    report = Report("hosts", options.quick)
    program = build_example("lycosa-frontier", "hosts")
    progress(f"{hosts:,} hosts of {URLS} URLs each, {warm:,} of them in memory")
    result = _hosts(program, hosts, seen_memory, warm)
    # Hosts on disk whose keys of 48 bits collide count as one: of ten million, 0.2 on average.
    if not hosts - COLLISIONS <= result["hosts"] <= hosts or result["urls"] != hosts * URLS:
        raise BenchmarkError(f"hosts: {result['hosts']:,} hosts and {result['urls']:,} URLs were admitted")
    peak = max(result["peak_bytes"], result["opened_peak_bytes"]) / MIB
    name = f"{hosts // 1_000_000} M hosts of {URLS} URLs"
    report.figures += [
        Figure.of(f"{name}: admitted", "URLs/CPU s", [result["urls"] / result["admitted_seconds"]]),
        Figure.of(f"{name}: resident memory with all admitted", "MiB", [result["resident_bytes"] / MIB]),
        Figure.of(f"{name}: CPU of a request", "µs", [result["fetched_seconds"] / result["fetched"] * 1e6]),
        Figure.of(f"{name}: peak memory", "MiB", [peak]),
        Figure.of(f"{name}: on disk", "MB", [result["disk_bytes"] / 1e6]),
        Figure.of(f"{name}: snapshot", "MB", [result["snapshot_bytes"] / 1e6]),
        Figure.of(f"{name}: snapshot saved and synced", "s", [result["saved_seconds"]]),
        Figure.of(f"{name}: snapshot opened", "s", [result["opened_seconds"]]),
    ]
    text = f"{name}: peak memory of all: hosts, domains, known and waiting URLs, a snapshot saved and opened"
    report.claims.append(Claim.at_most("hosts-memory", text, peak, "MiB", budget))
    report.notes.append(
        f"{QUEUE_MEMORY} MiB for what waits, {seen_memory} MiB for what is known, {warm:,} hosts in memory; every "
        f"host has a registered domain and an address of its own; {PAGES:,} requests are answered meanwhile"
    )
    return report


def _hosts(program: Path, hosts: int, seen_memory: int, warm: int) -> dict[str, float]:
    """Run the program; returns its output."""
    sizes = [str(number) for number in (QUEUE_MEMORY, seen_memory, warm, PAGES)]
    return printed("hosts", lambda folder: [str(program), str(hosts), str(URLS), folder, *sizes], timeout=1_800)
