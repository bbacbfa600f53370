"""The `names_cache` benchmark: what it costs to know the addresses of names, and what the caches know."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import hit_rates, names_costs
from benchmarks.harness import Cores, Options, pinned
from benchmarks.report import Report

#: What is measured, one part after the other; each adds its claims, figures, peers and notes.
PARTS = (hit_rates.run, names_costs.run)


def run(options: Options) -> Report:
    """Run all parts."""
    report = Report("names_cache", options.quick)
    cores = Cores.split()
    begin = time.monotonic()
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        for part in PARTS:
            part(report, options, cores, Path(folder))
    report.notes.append(f"took {time.monotonic() - begin:.0f} s")
    return report
