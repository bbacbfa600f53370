"""The `names_bulk` benchmark: the cost of resolving many names through one server, and lost names."""

from __future__ import annotations

from benchmarks import names_bulk_client, names_bulk_python
from benchmarks.harness import Options, run_parts
from benchmarks.report import Report


def run(options: Options) -> Report:
    """Run all parts."""
    return run_parts("names_bulk", (names_bulk_client.run, names_bulk_python.run), options)
