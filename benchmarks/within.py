"""Measures a command from inside another one: `python -m benchmarks.within RESULT.json SECONDS COMMAND…`.

simnet and the crawler are one process tree; only the crawler's memory and CPU are measured.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

from benchmarks.harness import measure
from benchmarks.report import BenchmarkError


def main() -> None:
    """Run the command, write its cost, and return 1 if it failed."""
    result, seconds, *command = sys.argv[1:]
    cores = frozenset(os.sched_getaffinity(0))
    try:
        run = measure("crawler", command, cores=cores, timeout=float(seconds), log=Path(result).with_suffix(".log"))
    except BenchmarkError as error:
        Path(result).write_text(json.dumps({"failure": str(error)}))
        sys.exit(1)
    Path(result).write_text(json.dumps(dataclasses.asdict(run)))


if __name__ == "__main__":
    main()
