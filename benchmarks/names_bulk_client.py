"""The DNS client compared with a bare program that only sends and receives the same packets: the limit."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from benchmarks.harness import Cores, Options, build_example, environment, measure, progress
from benchmarks.report import Claim, Figure, Report

TIMEOUT = 600.0  # seconds for one run
IN_FLIGHT = 1_000  # names under way, for both
LIMIT = 1.3  # times the bare program's CPU that a name may take


def run(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Run the example, which measures both in one process, one after the other."""
    if options.peers_only:
        return
    program = str(build_example("lycosa-names", "bulk"))
    sizes = {100_000: 3} if options.quick else {100_000: 5, 1_000_000: 3}
    for names, rounds in sizes.items():
        found = []
        for turn in range(rounds):
            log = folder / "bulk.log"
            command = [program, str(names), str(IN_FLIGHT)]
            # The server answers on the other core.
            both = cores.client | cores.server
            measure("bulk", command, cores=both, timeout=TIMEOUT, log=log, env=environment())
            found.append(json.loads(log.read_text().splitlines()[-1]))
            made = found[-1]
            told = f"{made['us_a_name']} µs a name, bare {made['bare_us_a_name']} µs"
            progress(f"round {turn + 1}/{rounds} client, {names:,} names: {told}")
        title = f"client, {names:,} names"
        report.figures += [
            Figure.of(f"{title}: CPU a name", "µs", [made["us_a_name"] for made in found]),
            Figure.of(f"{title}: CPU a name of the bare program", "µs", [made["bare_us_a_name"] for made in found]),
            Figure.of(f"{title}: names a second", "names/s", [made["names_per_second"] for made in found]),
        ]
        ratio = statistics.median(made["ratio"] for made in found)
        text = f"CPU a name, the client ÷ a bare sender and receiver of the same packets ({names:,} names), at most"
        report.claims.append(Claim.at_most(f"names_bulk.bare_{names}", text, ratio, "times", LIMIT))
        lost = sum(names - made["resolved"] for made in found)
        report.claims.append(Claim.at_most(f"names_bulk.client_lost_{names}", f"{title}: lost", lost, "names", 0))
    report.notes.append(
        "client: CPU of the thread that asks, as the kernel counts it; the bare program sends the client's own "
        f"questions, both {IN_FLIGHT:,} under way, both answered by one loop on another thread"
    )
