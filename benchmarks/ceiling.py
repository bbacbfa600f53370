"""simnet's ceiling: how many requests per second one core serves, and at what CPU cost.

A crawl judged on simnet is only as fast as simnet; its ceiling should be three times the fastest crawler.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.harness import Cores, progress
from benchmarks.report import Figure, Peer, Report
from benchmarks.served import serving

SECONDS = 2  # of load in each round
ENCODINGS = ("identity", "gzip")
WORLD = {"hosts": 20, "pages": 100, "seed": 1}


@dataclass(frozen=True, slots=True)
class Loaded:
    """One round of load on one encoding: responses, and simnet's CPU seconds."""

    load: load.Load
    cpu: float

    @property
    def rate(self) -> float:
        """Requests per second of wall time."""
        return self.load.requests / self.load.seconds

    @property
    def per_core(self) -> float:
        """Requests per second of simnet's CPU time."""
        return self.load.requests / self.cpu


def add(report: Report, cores: Cores, fastest: Sequence[float]) -> None:
    """Measure simnet under plain load and add its figures; `fastest`: the crawler's pages per second."""
    rounds = measure(WORLD, cores, rounds=1 if report.quick else 5)
    report.peers.append(peer())
    for encoding, made in rounds.items():
        report.figures += figures("lan", encoding, made)
        ratio = f"simnet lan, {encoding}: ceiling ÷ lycosa's speed"
        report.figures.append(Figure.ratio(ratio, [one.rate for one in made], fastest))


def measure(
    world: Mapping[str, Any],
    cores: Cores,
    *,
    rounds: int,
    seconds: int = SECONDS,
    encodings: Sequence[str] = ENCODINGS,
    errors: bool = False,
) -> dict[str, list[Loaded]]:
    """Load simnet in turn with all encodings, each round in a new process; `errors` allows failed requests."""
    made: dict[str, list[Loaded]] = {encoding: [] for encoding in encodings}
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        for turn in range(rounds):
            progress(f"round {turn + 1}/{rounds} simnet {world.get('profile', 'lan')}: HTTP")
            with serving(world, cores.server, folder) as net:
                targets = load.find(net.port, net.seeds, net.hosts)
                for encoding in encodings:
                    before = net.cpu
                    done = load.run(net.port, targets, encoding, seconds, cores.client, folder, errors=errors)
                    made[encoding].append(Loaded(done, net.cpu - before))
    return made


def figures(profile: str, encoding: str, made: Sequence[Loaded]) -> list[Figure]:
    """Return the figures of one profile and encoding."""
    name = f"simnet {profile}, {encoding}"
    return [
        Figure.of(f"{name}: ceiling", "requests/s", [one.rate for one in made]),
        Figure.of(f"{name}: CPU", "µs/request", [1e6 / one.per_core for one in made]),
        Figure.of(f"{name}: answer", "KiB", [one.load.size / one.load.requests / 1024 for one in made]),
    ]


def peer() -> Peer:
    """Describe the load generator."""
    settings = f"the load on simnet: {load.CONNECTIONS} connections, one core"
    return Peer(load.generator(), load.version(), settings)
