"""Runs commands on several cores at once: `python -m benchmarks.side_by_side LANES.json`.

For measurements that are counted, not timed. The file is a list of lanes, each
`{"core": number, "commands": [[word, …], …]}`; a lane runs its commands one after the other. Prints, for each lane,
a list of its commands' outputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, environment, measure
from benchmarks.report import BenchmarkError

SHORT = 0.05  # seconds between two looks at a command; what it prints is one line, so a pipe holds it


def run(lanes: Sequence[Sequence[Sequence[str]]], cores: Cores, folder: Path, timeout: float) -> list[list[Any]]:
    """Run lanes in a child process, alternately on the contestants' core and on the server's."""
    places = (min(cores.client), min(cores.server))
    plan = [{"core": places[lane % 2], "commands": commands} for lane, commands in enumerate(lanes)]
    file, log = folder / "lanes.json", folder / "lanes.log"
    file.write_text(json.dumps(plan))
    command = [sys.executable, "-m", "benchmarks.side_by_side", str(file)]
    measure("side by side", command, cores=cores.client | cores.server, timeout=timeout, log=log, env=environment())
    results: list[list[Any]] = json.loads(log.read_text().strip().splitlines()[-1])
    return results


def main() -> None:
    """Run all lanes; at the first failure kill the others, and return 1."""
    lanes = json.loads(Path(sys.argv[1]).read_text())
    failed = threading.Event()
    with ThreadPoolExecutor(len(lanes)) as threads:
        running = [threads.submit(_lane, lane["core"], lane["commands"], failed) for lane in lanes]
    reasons = [reason for each in running if (reason := each.exception())]
    if reasons:
        print(reasons[0], file=sys.stderr)
        sys.exit(1)
    print(json.dumps([each.result() for each in running]))


def _lane(core: int, commands: Sequence[Sequence[str]], failed: threading.Event) -> list[Any]:
    """Run commands one after the other, on the core of this thread, which they inherit."""
    os.sched_setaffinity(0, [core])
    results = []
    for command in commands:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            while child.poll() is None and not failed.wait(SHORT):
                pass
            child.kill()  # one that has ended is left as it is
            printed, _ = child.communicate()
        if failed.is_set():
            break
        if child.returncode:
            failed.set()
            raise BenchmarkError(f"{' '.join(command)}: exit status {child.returncode}")
        results.append(json.loads(printed))
    return results


if __name__ == "__main__":
    main()
