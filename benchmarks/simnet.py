"""The `simnet` benchmark: the cost of the simulated Internet itself, and whether it matches its model."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import ceiling, distributions, dns_load
from benchmarks.crawl import require_lycosa
from benchmarks.harness import Cores, Options, pinned, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report
from benchmarks.served import serving

LARGE = {"hosts": 10_000, "pages": 100, "seed": 1}  # for memory and DNS
STARTED = {"hosts": 2_000, "pages": 50, "seed": 1}
SEEN = {"hosts": 2_000, "pages": 20, "seed": 1}  # for distributions
SPEEDS = {"lan": 1.0, "internet": 5.0}  # distributions are looked at in scaled time: timers are good to a millisecond
PROFILES = ("internet", "hostile")  # with ceilings of their own where this version has them
TIMELESS = {"hosts": 200, "pages": 20, "seed": 1, "speed": 1e6}  # delays vanish: only work is left
WHOLE = 27  # KiB: an answer that counts for the claim has at least nearly as many


def run(options: Options) -> Report:
    """Measure rates, memory, start and distributions."""
    require_lycosa()
    report = Report("simnet", options.quick)
    cores = Cores.split()
    begin = time.monotonic()
    report.notes.append(f"{cores.describe}; a core's rate is answers ÷ CPU seconds of the server process")
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        _http(report, cores)
        _large(report, cores, folder)
        _start(report, cores, folder)
        found = {"lan": _distributions(report, cores, folder, "lan")}
        for profile in PROFILES:
            try:
                _other(report, cores, profile)
                if profile in SPEEDS:
                    found[profile] = _distributions(report, cores, folder, profile)
            except BenchmarkError as error:
                report.notes.append(f"profile {profile} was not measured: {error}")
    if options.plot:
        distributions.draw(found, options.plot)
    report.notes.append(f"took {time.monotonic() - begin:.0f} s")
    return report


def _http(report: Report, cores: Cores) -> None:
    """Load the profile without delays."""
    rounds, seconds = (3, 1) if report.quick else (7, 2)
    made_by = ceiling.measure(ceiling.WORLD, cores, rounds=rounds, seconds=seconds)
    report.peers.append(ceiling.peer())
    for encoding, made in made_by.items():
        report.figures += ceiling.figures("lan", encoding, made)
    plain = made_by["identity"]
    per_core = Figure.of("simnet lan, identity: requests a CPU second", "requests/s", [one.per_core for one in plain])
    report.figures.append(per_core)
    size = statistics.median(one.load.size / one.load.requests / 1024 for one in plain)
    text = f"HTTP requests a second and core for pages of {size:.1f} KiB, plain, at least"
    report.claims.append(Claim.at_least("simnet-http", text, per_core.median, "requests/s", 25_000))
    if size < WHOLE * 0.9:
        report.notes.append(f"the pages loaded have {size:.1f} KiB in the mean, less than the claim's {WHOLE}")


def _large(report: Report, cores: Cores, folder: Path) -> None:
    """Load DNS in a large world, then let its memory grow: all names, all front pages, some linked pages."""
    rounds, seconds = (3, 1) if report.quick else (7, 2)
    rates, costs = [], []
    with serving(LARGE, cores.server, folder) as net:
        fresh = net.peak
        for turn in range(rounds):
            progress(f"round {turn + 1}/{rounds} simnet: DNS")
            before = net.cpu
            done = dns_load.run(net.resolver, list(net.hosts), seconds, cores.client, folder)
            rates.append(done.answers / done.seconds)
            costs.append((net.cpu - before) / done.answers * 1e6)
    # A process of its own: the ledger of a flood of questions is not what a crawl leaves.
    with serving(LARGE, cores.server, folder) as net:
        progress("simnet: memory")
        seen = distributions.look(net, cores.client, folder, pages=1 if report.quick else 5)
        peak, pages = net.peak / 1e6, len(seen["pages"])
        served = net.report["totals"]["hosts_asked"]
    if served != LARGE["hosts"]:
        raise BenchmarkError(f"survey: only {served:,} of {LARGE['hosts']:,} front pages were served")
    settings = f"the load: {dns_load.SOCKETS} sockets, {dns_load.OUTSTANDING} questions under way, A, one core"
    report.peers.append(Peer(dns_load.generator(), dns_load.version(), settings))
    report.figures += [
        Figure.of("simnet lan, DNS over UDP: ceiling", "answers/s", rates),
        Figure.of("simnet lan, DNS over UDP: CPU", "µs/answer", costs),
        Figure.of("simnet, 10,000 hosts × 100 pages: memory when it starts to serve", "MB", [fresh / 1e6]),
        Figure.of(f"simnet, 10,000 hosts × 100 pages: peak memory after {pages:,} pages", "MB", [peak]),
    ]
    text = "peak memory of the process that serves 10,000 hosts × 100 pages, at most"
    per_core = 1e6 / statistics.median(costs)
    report.claims += [
        Claim.at_least("simnet-dns", "DNS answers a second and core, at least", per_core, "answers/s", 60_000),
        Claim.at_most("simnet-memory", text, peak, "MB", 400),
    ]


def _start(report: Report, cores: Cores, folder: Path) -> None:
    """Start a world several times; the interpreter's own start is part of it."""
    times = []
    for _ in range(3 if report.quick else 7):
        with serving(STARTED, cores.server, folder) as net:
            times.append(net.start)
    figure = Figure.of("simnet, 2,000 hosts × 50 pages: start of the process until it serves", "s", times)
    report.figures.append(figure)
    text = "seconds until 2,000 hosts × 50 pages are served, below"
    report.claims.append(Claim.at_most("simnet-start", text, figure.median, "s", 3))


def _other(report: Report, cores: Cores, profile: str) -> None:
    """Load another profile, with delays scaled away."""
    world: dict[str, Any] = {**TIMELESS, "profile": profile}
    rounds, seconds = (1, 1) if report.quick else (5, 2)
    made = ceiling.measure(world, cores, rounds=rounds, seconds=seconds, errors=True)
    for encoding, loaded in made.items():
        report.figures += ceiling.figures(profile, encoding, loaded)


def _distributions(report: Report, cores: Cores, folder: Path, profile: str) -> distributions.Found:
    """Survey a world and compare it with its model."""
    progress(f"simnet {profile}: distributions")
    speed = SPEEDS[profile]
    with serving({**SEEN, "profile": profile, "speed": speed}, cores.server, folder) as net:
        seen = distributions.look(net, cores.client, folder, pages=1, speed=speed)
        found = distributions.compare(seen, net.model, speed)
    report.figures += distributions.figures(profile, found)
    if profile == "internet":
        report.notes.append(
            "internet: names without an address are not seen, so addresses look less shared than they are"
        )
    return found
