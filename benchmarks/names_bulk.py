"""The `names_bulk` benchmark: what it costs to resolve many names through one server, and whether any is lost."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import names_bulk_client, names_bulk_python
from benchmarks.harness import Cores, Options, pinned
from benchmarks.report import Report

#: What is measured, one part after the other; each adds its claims, figures, peers and notes.
PARTS = (names_bulk_client.run, names_bulk_python.run)


def run(options: Options) -> Report:
    """Run all parts."""
    report = Report("names_bulk", options.quick)
    cores = Cores.split()
    begin = time.monotonic()
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        for part in PARTS:
            part(report, options, cores, Path(folder))
    report.notes.append(f"took {time.monotonic() - begin:.0f} s")
    return report
