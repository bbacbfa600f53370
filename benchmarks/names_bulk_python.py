"""Bulk resolution from Python and the command line, compared with aiodns and massdns, by one server on loopback."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, Options, Run, environment, measure, progress
from benchmarks.report import Claim, Figure, Peer, Report
from benchmarks.served import Served, serving

TIMEOUT = 600.0  # seconds for one run
THOUSAND, MILLION = 1_000, 1_000_000
CONCURRENCY = (1_000, 10_000, 50_000)  # names under way; the last is the most that Lycosa takes
USUAL = CONCURRENCY[0]
#: aiodns takes a socket of its own for each server only: more tasks than these cost it time and bring nothing.
TASKS = 500


@dataclass(frozen=True, slots=True)
class Cost:
    """The result of one run."""

    names: int
    found: int
    cpu: float  # seconds
    wall: float

    @property
    def each(self) -> float:
        """Microseconds of CPU per name."""
        return self.cpu / self.names * 1e6

    @property
    def lost(self) -> int:
        """Number of names without an answer, although all have one."""
        return self.names - self.found


def run(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Run all contestants in turn."""
    rounds = 1 if options.quick else 5
    aiodns = Peer.package("aiodns", ["aiodns", "pycares", "uvloop"], f"uvloop, {TASKS} tasks, 4 tries of 2 s")
    massdns = _massdns()
    report.peers += [aiodns, massdns]
    with serving({"hosts": 100 * THOUSAND, "pages": 1, "seed": 6}, cores.server, folder) as net:
        names = _write(net, folder)
        others = [] if options.peers_only else ["resolve", "stream", "command"]
        others += [peer.name for peer in (aiodns, massdns) if not peer.missing]
        costs: dict[str, list[Cost]] = {who: [] for who in others}
        for turn in range(rounds):
            for who in others:
                made = _one(who, names, net, TASKS if who == "aiodns" else USUAL, cores, folder)
                costs[who].append(made)
                progress(f"round {turn + 1}/{rounds} {who}: {made.each:.1f} µs a name, {made.lost} lost")
        _figures(report, costs)
        if not options.peers_only:
            _python(report, costs)
            _massdns_cost(report, costs)
            _lost(report, names, net, massdns, cores, folder)
    if not options.quick and not options.peers_only:
        _million(report, cores, folder)
    report.notes += [
        f"{cores.describe}; the server is the simulated Internet's DNS, all of whose names have an address",
        "resolve, stream and aiodns: CPU of their process from the first name to the last answer; command: all of "
        "`lycosa resolve`, its start and its output as JSON lines included; massdns likewise",
    ]


def _one(who: str, names: Path, net: Served, concurrency: int, cores: Cores, folder: Path) -> Cost:
    """Let one contestant resolve the names."""
    log, out = folder / f"{who}.log", folder / f"{who}.out.jsonl"
    count = sum(1 for _ in names.open())
    if who == "command":
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "lycosa", "resolve", str(names), "-o", str(out), "--resolver", net.resolver]
        made = _measure(who, [*command, "--concurrency", str(concurrency), "-q", "--json"], cores, log)
        found: dict[str, Any] = json.loads(log.read_text())
        lines = sum(1 for _ in out.open())
        return Cost(count, min(found["statuses"]["ok"], lines), made.cpu, made.wall)
    if who == "massdns":
        (folder / "resolvers").write_text(f"{net.resolver}\n")
        command = ["massdns", "-q", "-r", str(folder / "resolvers"), "-t", "A", "-o", "Sq", "-w", str(out)]
        made = _measure(who, [*command, "-s", str(concurrency), "--root", str(names)], cores, log)
        lines = len({line.split(" ")[0] for line in out.read_text().splitlines() if " A " in line})
        return Cost(count, lines, made.cpu, made.wall)
    program = [sys.executable, "-m", "benchmarks.peers.names_bulk_client"]
    _measure(who, [*program, who, str(names), net.resolver, str(concurrency)], cores, log)
    return Cost(**json.loads(log.read_text().splitlines()[-1]))


def _measure(who: str, command: list[str], cores: Cores, log: Path) -> Run:
    """Run a contestant on its core."""
    return measure(who, command, cores=cores.client, timeout=TIMEOUT, log=log, env=environment())


def _figures(report: Report, costs: dict[str, list[Cost]]) -> None:
    """Add the cost of each."""
    for who, made in costs.items():
        report.figures += [
            Figure.of(f"{who}: CPU a name", "µs", [cost.each for cost in made]),
            Figure.of(f"{who}: names a second", "names/s", [cost.names / cost.wall for cost in made]),
            Figure.of(f"{who}: lost of 100,000", "names", [cost.lost for cost in made]),
        ]


def _python(report: Report, costs: dict[str, list[Cost]]) -> None:
    """Compare with aiodns."""
    ratio = None
    if "aiodns" in costs:
        middle = {who: statistics.median(cost.each for cost in costs[who]) for who in ("aiodns", "resolve")}
        ratio = middle["aiodns"] / middle["resolve"]
        each = [[cost.each for cost in costs[who]] for who in ("aiodns", "resolve")]
        report.figures.append(Figure.ratio("aiodns / lycosa.resolve, CPU a name", *each))
    text = "from Python: how many times less CPU a name than aiodns"
    report.claims.append(Claim.at_least("names_bulk.python", text, ratio, "times", 10))


def _massdns_cost(report: Report, costs: dict[str, list[Cost]]) -> None:
    """Compare with massdns as a program; if it is missing, the peers say so."""
    if "massdns" not in costs:
        return
    each = [[cost.each for cost in costs[who]] for who in ("command", "massdns")]
    figure = Figure.ratio("lycosa resolve / massdns, CPU a name", *each)
    report.figures.append(figure)
    text = "CPU a name, `lycosa resolve` ÷ massdns, at most"
    report.claims.append(Claim.at_most("names_bulk.massdns", text, figure.median, "ratio", 0.8))


def _lost(report: Report, names: Path, net: Served, massdns: Peer, cores: Cores, folder: Path) -> None:
    """Count lost names at each concurrency."""
    lost = {}
    for concurrency in CONCURRENCY:
        lost[concurrency] = _one("resolve", names, net, concurrency, cores, folder).lost
        progress(f"{concurrency:,} under way: {lost[concurrency]} lost")
        report.figures.append(Figure.of(f"resolve, {concurrency:,} under way: lost", "names", [lost[concurrency]]))
        if not massdns.missing:
            other = _one("massdns", names, net, concurrency, cores, folder).lost
            report.figures.append(Figure.of(f"massdns, {concurrency:,} under way: lost", "names", [other]))
    text = f"names lost of 100,000, at {', '.join(f'{each:,}' for each in CONCURRENCY)} under way"
    report.claims.append(Claim.at_most("names_bulk.lost", text, sum(lost.values()), "names", 0))


def _million(report: Report, cores: Cores, folder: Path) -> None:
    """Resolve a million names at each concurrency, once."""
    lost = 0
    with serving({"hosts": MILLION, "pages": 1, "seed": 6}, cores.server, folder) as net:
        names = _write(net, folder)
        for concurrency in CONCURRENCY:
            made = _one("resolve", names, net, concurrency, cores, folder)
            lost += made.lost
            title = f"resolve, 1,000,000 names, {concurrency:,} under way"
            progress(f"{title}: {made.each:.1f} µs a name, {made.lost} lost")
            report.figures += [
                Figure.of(f"{title}: CPU a name", "µs", [made.each]),
                Figure.of(f"{title}: lost", "names", [made.lost]),
            ]
    text = f"names lost of 1,000,000, at {', '.join(f'{each:,}' for each in CONCURRENCY)} under way"
    report.claims.append(Claim.at_most("names_bulk.lost_million", text, lost, "names", 0))


def _write(net: Served, folder: Path) -> Path:
    """Write the names of a world's hosts, one per line."""
    names = folder / "names.txt"
    names.write_text("".join(f"{name}\n" for name in net.hosts))
    return names


def _massdns() -> Peer:
    """Describe massdns, if it is installed."""
    settings = f"-s {USUAL}, -o Sq"
    if not shutil.which("massdns"):
        why = "not on this machine: build it from github.com/blechschmidt/massdns and put it on the PATH"
        return Peer("massdns", None, settings, why)
    done = subprocess.run(["massdns", "--version"], capture_output=True, text=True, timeout=10, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return Peer("massdns", lines[0] if lines else None, settings)
