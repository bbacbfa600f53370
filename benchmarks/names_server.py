"""The `names_server` benchmark: answers of `lycosa dns`, of a bare responder and of other servers."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import dns_peers, dns_perf
from benchmarks.dns_perf import Load
from benchmarks.dns_servers import Recipe, Server, running, running_ours
from benchmarks.harness import Cores, Options, build_example, pinned, progress
from benchmarks.names_server_report import CAPACITY, NAMES, RATE, Contestant, judge, show
from benchmarks.report import BenchmarkError, Peer, Report
from benchmarks.served import Served, serving

COLD = 50_000  # that no cache has, for each round
PASSES = 5  # over the names, at most, until each was answered
FORGOTTEN = 0.001  # of what is asked: lost while warming, asked upstream again under load; somebody always is
SHARED = Path("/dev/shm")  # noqa: S108  (memory that is a file system, where Knot Resolver's cache belongs)
CACHE = "names.cache"  # our file
LYCOSA, BARE = "Lycosa", "bare responder"
#: All names live for a day, so that nothing expires; everything else is as in the profile `lan`.
MODEL = 'description = "names that stay"\n\n[dns]\nttl = [{ seconds = 86400, share = 1.0 }]\n'


@dataclass(frozen=True, slots=True)
class Plan:
    """Durations."""

    rounds: int
    full: float  # seconds
    equal: float  # seconds
    equal_rounds: int  # beside those of the full load: a p99 depends on what else the machine does
    cold_rounds: int  # shorter than the others
    cold: int  # names of each


PLAN, QUICK = Plan(3, 2.5, 2.0, 8, 5, COLD), Plan(1, 1.0, 1.0, 0, 1, 5_000)


def run(options: Options) -> Report:
    """Warm all servers, load them in turn, then ask each for uncached names."""
    report = Report("names_server", options.quick)
    plan, cores = QUICK if options.quick else PLAN, Cores.split()
    report.peers.append(dns_perf.described())
    if report.peers[0].missing:
        raise BenchmarkError(f"dnsperf is missing, which makes the load: {report.peers[0].missing}")
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(pinned(cores.client))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-bench-", dir=_memory())))
        model = folder / "stay.toml"
        model.write_text(MODEL)
        world = {"hosts": NAMES + plan.cold_rounds * plan.cold, "pages": 1, "seed": 8, "profile": str(model)}
        upstream = stack.enter_context(serving(world, cores.client, folder))
        names = list(upstream.hosts)
        known, rest = names[:NAMES], names[NAMES:]
        contestants = list(_start(report, stack, upstream, folder, cores, with_ours=not options.peers_only))
        questions = dns_perf.write(known, folder / "known")
        for contestant in contestants:
            if contestant.is_cache:
                _warm(contestant, questions, cores)
            if contestant.is_ours:
                contestant.stored = (contestant.server.folder / CACHE).stat().st_size / NAMES
        for turn in range(plan.rounds):
            for contestant in contestants:
                _load(contestant, questions, upstream, plan, cores)
            progress(
                f"round {turn + 1}/{plan.rounds}: " + ", ".join(f"{c.name} {c.costs[-1]:.2f} µs" for c in contestants)
            )
        for turn in range(plan.equal_rounds):
            for contestant in contestants[turn:] + contestants[:turn]:  # nobody always comes after the same one
                _load_equally(contestant, questions, plan, cores)
            late = ", ".join(f"{c.name} {c.equal[-1].late:.2f} ms" for c in contestants)
            progress(f"p99 at {RATE:,}/s, round {turn + 1}/{plan.equal_rounds}: {late}")
        for turn in range(plan.cold_rounds):
            fresh = dns_perf.write(rest[turn * plan.cold : (turn + 1) * plan.cold], folder / "fresh")
            for contestant in contestants[turn:] + contestants[:turn]:  # nobody always comes first
                if contestant.is_cache:
                    _ask_cold(contestant, fresh, cores)
            told = ", ".join(f"{c.name} {c.cold[-1].rate:,.0f}/s" for c in contestants if c.is_cache)
            progress(f"cold {turn + 1}/{plan.cold_rounds}: {told}")
        show(report, contestants)
        if not options.peers_only:
            judge(report, contestants)
    report.notes += [
        f"servers on core {min(cores.server)}, one thread each, all running and warm, loaded in turn; dnsperf and "
        f"the simulated upstream on core {min(cores.client)}",
        "CPU an answer: user's and system's time of a server's processes from /proc, over dnsperf's answers; "
        f"{NAMES:,} names, one A record each, asked for in the same order, no EDNS",
        "memory a name: resident memory gained by warming; dnsmasq takes its memory when it starts, so for it: what "
        f"each of its {dns_peers.NAMES:,} empty places takes; ours: that, or the cache file if it takes more",
        f"cold: {plan.cold:,} names a round that no cache has; the upstream has no delay",
        f"took {time.monotonic() - begin:.0f} s",
    ]
    return report


def _memory() -> Path | None:
    """Return a folder in memory for all files, so that no server waits for a disk; `None`: the usual one."""
    return SHARED if SHARED.is_dir() else None


def _start(
    report: Report,
    stack: contextlib.ExitStack,
    upstream: Served,
    folder: Path,
    cores: Cores,
    *,
    with_ours: bool,
) -> Sequence[Contestant]:
    """Start all servers; missing ones are reported."""
    contestants = []
    if with_ours:
        settings = f'workers = 1\ncapacity = {CAPACITY}\ncache = "{folder / "lycosa" / CACHE}"'
        made = running_ours(folder / "lycosa", [upstream.resolver], settings=settings, cores=cores.server)
        server = stack.enter_context(made)
        server.name = LYCOSA
        contestants.append(Contestant(server, is_ours=True))
    bare = Recipe(
        BARE,
        str(build_example("lycosa-names-server", "bare_responder")),
        "cargo",
        lambda _, port: [f"127.0.0.1:{port}"],
    )
    server = stack.enter_context(running(bare, folder / "bare", cores=cores.server))
    contestants.append(Contestant(server, is_ours=False, is_cache=False))
    settings = "recvmmsg and sendmmsg of 64, turns each question around: the limit"
    report.peers.append(Peer(BARE, None, settings))
    for make in dns_peers.PEERS:
        recipe = make(upstream.resolver)
        report.peers.append(dns_peers.described(recipe))
        if report.peers[-1].missing:
            progress(f"{recipe.name} is missing")
            continue
        server = stack.enter_context(running(recipe, folder / recipe.program, cores=cores.server))
        contestants.append(Contestant(server, is_ours=False))
        if recipe.name == "dnsmasq":
            contestants[-1].growth = _places(upstream, folder, server.resident)
    return contestants


def _places(upstream: Served, folder: Path, resident: int) -> float:
    """Return the bytes per cache entry of dnsmasq, compared with one without a cache."""
    with running(dns_peers.dnsmasq(upstream.resolver, names=0), folder / "without") as server:
        return (resident - server.resident) / dns_peers.NAMES


def _warm(contestant: Contestant, questions: Path, cores: Cores) -> None:
    """Ask for all names until each has been answered; the load shows whether they are cached."""
    server = contestant.server
    before = server.resident
    for turn in range(PASSES):
        load = dns_perf.once(server.port, questions, cores.client)
        progress(f"warming {contestant.name}, pass {turn + 1}: {load.rate:,.0f}/s, {load.lost} lost")
        if load.lost <= NAMES * FORGOTTEN:
            break
    else:
        raise BenchmarkError(f"{contestant.name} loses {load.lost:,} of {NAMES:,} names in pass {PASSES}")
    contestant.growth = contestant.growth or (server.resident - before) / NAMES


def _load(contestant: Contestant, questions: Path, upstream: Served, plan: Plan, cores: Cores) -> None:
    """Load a server fully, then at that rate."""
    asked = _asked(upstream)
    load, cost = _costing(contestant.server, lambda port: dns_perf.full(port, questions, cores.client, plan.full))
    contestant.full.append(load)
    contestant.costs.append(cost)
    load, cost = _costing(
        contestant.server, lambda port: dns_perf.full(port, questions, cores.client, plan.full, dns_perf.MANY)
    )
    contestant.many.append(load)
    contestant.many_costs.append(cost)
    _load_equally(contestant, questions, plan, cores)
    again = _asked(upstream) - asked
    answers = contestant.full[-1].answers + contestant.many[-1].answers + contestant.equal[-1].answers
    contestant.asked_again += again
    if again > answers * FORGOTTEN:
        raise BenchmarkError(f"{contestant.name} does not keep {NAMES:,} names: {again:,} of {answers:,} asked again")


def _load_equally(contestant: Contestant, questions: Path, plan: Plan, cores: Cores) -> None:
    """Load a server at a rate that all can handle."""
    load, cost = _costing(
        contestant.server, lambda port: dns_perf.at_rate(port, questions, cores.client, plan.equal, RATE)
    )
    contestant.equal.append(load)
    contestant.equal_costs.append(cost)


def _ask_cold(contestant: Contestant, questions: Path, cores: Cores) -> None:
    """Ask for names that are not cached."""
    load, cost = _costing(contestant.server, lambda port: dns_perf.once(port, questions, cores.client))
    contestant.cold.append(load)
    contestant.cold_costs.append(cost)


def _costing(server: Server, load: Callable[[int], Load]) -> tuple[Load, float]:
    """Load a server; returns its result and the microseconds of CPU per answer."""
    before = server.cpu
    made = load(server.port)
    if not server.alive:
        raise BenchmarkError(f"{server.name} ended under load with status {server.child.returncode}")
    if not made.answers:
        raise BenchmarkError(f"{server.name} answered nothing")
    return made, (server.cpu - before) / made.answers * 1e6


def _asked(upstream: Served) -> int:
    """Return how many questions the upstream received."""
    return int(upstream.report["totals"]["dns_questions"])
