"""The `names_cache` benchmark: cost and hit rates of the caches of names."""

from __future__ import annotations

from benchmarks import hit_rates, names_costs
from benchmarks.harness import Options, run_parts
from benchmarks.report import Report


def run(options: Options) -> Report:
    """Run all parts."""
    return run_parts("names_cache", (hit_rates.run, names_costs.run), options)
