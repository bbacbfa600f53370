"""Results of `names_server`: figures of all servers, Lycosa compared with the bare responder and the best other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.dns_perf import MANY, Load
from benchmarks.dns_servers import Server
from benchmarks.report import Claim, Figure, Report

NAMES = 100_000  # in every cache
CAPACITY = NAMES  # of our cache: it keeps as many as it says
RATE = 40_000  # questions a second at which latencies are compared


@dataclass(slots=True)
class Contestant:
    """A running server and its results."""

    server: Server
    is_ours: bool
    is_cache: bool = True  # the bare responder is none
    costs: list[float] = field(default_factory=list)  # µs of CPU an answer at full load
    full: list[Load] = field(default_factory=list)
    many_costs: list[float] = field(default_factory=list)  # the same, with a socket for each question under way
    many: list[Load] = field(default_factory=list)
    equal: list[Load] = field(default_factory=list)
    equal_costs: list[float] = field(default_factory=list)
    cold: list[Load] = field(default_factory=list)
    cold_costs: list[float] = field(default_factory=list)
    growth: float = 0.0  # bytes of resident memory a name
    stored: float = 0.0  # bytes of our cache file a name
    asked_again: int = 0  # questions to the upstream for names that were in memory

    @property
    def name(self) -> str:
        """Its name."""
        return self.server.name


def show(report: Report, contestants: Sequence[Contestant]) -> None:
    """Return the figures of all servers."""
    for each in contestants:
        who = each.name
        rates = [load.rate for load in each.full]
        busy = [cost * rate / 1e4 for cost, rate in zip(each.costs, rates, strict=True)]
        report.figures += [
            Figure.of(f"{who}: CPU an answer, full load", "µs", each.costs),
            Figure.of(f"{who}: answers a second, full load", "answers/s", rates),
            Figure.of(f"{who}: its core busy at full load", "%", busy),
            Figure.of(f"{who}: lost at full load", "questions", [load.lost for load in each.full]),
            Figure.of(f"{who}: CPU an answer, full load, {MANY} sockets", "µs", each.many_costs),
            Figure.of(
                f"{who}: answers a second, full load, {MANY} sockets", "answers/s", [load.rate for load in each.many]
            ),
            Figure.of(f"{who}: CPU an answer at {RATE:,}/s", "µs", each.equal_costs),
            Figure.of(f"{who}: p99 at {RATE:,}/s", "ms", [load.late for load in each.equal]),
            Figure.of(f"{who}: lost at {RATE:,}/s", "questions", [load.lost for load in each.equal]),
        ]
        if each.is_cache:
            report.figures += [
                Figure.of(f"{who}: cold names a second", "names/s", [load.rate for load in each.cold]),
                Figure.of(f"{who}: CPU a cold name", "µs", each.cold_costs),
                Figure.of(f"{who}: cold names lost", "names", [load.lost for load in each.cold]),
                Figure.of(f"{who}: memory a name", "bytes", [each.growth]),
                Figure.of(f"{who}: asked upstream for names in memory", "questions", [each.asked_again]),
            ]
        if each.is_ours:
            name = f"{who}: cache file for {CAPACITY:,} names ÷ {NAMES:,}"
            report.figures.append(Figure.of(name, "bytes", [each.stored]))


def judge(report: Report, contestants: Sequence[Contestant]) -> None:
    """Compare with the bare responder and with the best of the other servers in each discipline."""
    ours = next(each for each in contestants if each.is_ours)
    bare = next(each for each in contestants if not each.is_cache)
    peers = [each for each in contestants if each.is_cache and not each.is_ours]
    cost, many_cost = statistics.median(ours.costs), statistics.median(ours.many_costs)
    report.figures.append(Figure.ratio("Lycosa ÷ bare responder, CPU an answer", ours.costs, bare.costs))
    for peer in peers:
        report.figures += [
            Figure.ratio(f"Lycosa ÷ {peer.name}, CPU an answer", ours.costs, peer.costs),
            Figure.ratio(f"bare responder ÷ {peer.name}, CPU an answer", bare.costs, peer.costs),
            Figure.ratio(f"Lycosa ÷ {peer.name}, memory a name", [max(ours.growth, ours.stored)], [peer.growth]),
        ]

    def best(value: Callable[[Contestant], float], choose: Callable[..., float] = min) -> float | None:
        return choose(value(peer) for peer in peers) if peers else None

    def ratio(value: float, beside: float | None) -> float | None:
        return value / beside if beside else None

    def median(value: Callable[[Load], float], loads: Sequence[Load]) -> float:
        return statistics.median(value(load) for load in loads)

    best_cost = best(lambda peer: statistics.median(peer.costs))
    best_many = best(lambda peer: statistics.median(peer.many_costs))
    best_late = best(lambda peer: median(lambda load: load.late, peer.equal))
    best_cold = best(lambda peer: median(lambda load: load.rate, peer.cold), max)
    best_lost = best(lambda peer: sum(load.lost for load in peer.cold))
    best_memory = best(lambda peer: peer.growth)
    lost = sum(load.lost for load in ours.cold)
    late = median(lambda load: load.late, ours.equal)
    cold = median(lambda load: load.rate, ours.cold)
    report.claims += [
        Claim.at_most(
            "names_server.bare",
            "CPU an answer from memory ÷ that of a bare recvmmsg/sendmmsg responder, at most",
            cost / statistics.median(bare.costs),
            "times",
            1.2,
        ),
        Claim.at_most(
            "names_server.bare_many",
            f"the same with {MANY} sockets that ask, each one question at a time, at most",
            many_cost / statistics.median(bare.many_costs),
            "times",
            1.2,
        ),
        Claim.at_most(
            "names_server.peer",
            "CPU an answer from memory ÷ the best peer's, at most",
            ratio(cost, best_cost),
            "times",
            0.8,
        ),
        Claim.at_most(
            "names_server.peer_many",
            f"the same with {MANY} sockets that ask, each one question at a time, at most",
            ratio(many_cost, best_many),
            "times",
            0.8,
        ),
        Claim.at_least(
            "names_server.core",
            "answers a second of one core (a second ÷ CPU an answer) ÷ the best peer's, at least",
            ratio(best_cost or 0.0, cost),
            "times",
            1.25,
        ),
        Claim.at_most(
            "names_server.p99",
            f"p99 latency at {RATE:,} questions/s ÷ the best peer's, at most",
            ratio(late, best_late),
            "times",
            1.0,
        ),
        Claim.at_least(
            "names_server.cold",
            "names a second that were not in memory ÷ the best peer's, at least",
            ratio(cold, best_cold),
            "times",
            1.0,
        ),
        Claim.at_most(
            "names_server.cold_lost",
            "names lost that were not in memory, less those of the best peer, at most",
            None if best_lost is None else lost - best_lost,
            "names",
            0,
        ),
        Claim.at_most(
            "names_server.memory",
            "memory a name ÷ the least peer's, at most",
            ratio(max(ours.growth, ours.stored), best_memory),
            "times",
            0.1,
        ),
    ]
