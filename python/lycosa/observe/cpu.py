"""The CPU time of a process by stage."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from lycosa.observe.turns import Turns

#: Threads of the core, by the names that the system knows, and the stages that they work for.
THREADS = {
    "lycosa-fetch": "fetch",
    "lycosa-names": "names",
    "lycosa-log": "log",
    "lycosa-seen": "frontier",
    "lycosa-snapshot": "frontier",
    "lycosa-parse": "parse",
}

#: The system's unit of CPU time of threads.
TICK = 1 / os.sysconf("SC_CLK_TCK")

#: Fields of /proc/self/task/N/stat behind the name: user and system time.
USER, SYSTEM = 11, 12


def cpu_by_stage(
    lanes: Iterable[Turns],
    outputs: Iterable[Turns],
    since: float = 0.0,
    threads: Path = Path("/proc/self/task"),
) -> dict[str, float]:
    """Return seconds of CPU by stage: frontier, fetch, parse, log, names, caller, outputs, other.

    ``other`` is what is left of the process's: the start, Python's own threads, threads that have ended. since: what
    the process had used before the crawl.
    """
    found = dict.fromkeys(("frontier", "fetch", "parse", "log", "names", "outputs", "caller"), 0.0)
    for turns in lanes:
        for stage, seconds in dict(turns.cpu_seconds).items():
            found[stage] = found.get(stage, 0.0) + seconds
    found["outputs"] += sum(sum(dict(turns.cpu_seconds).values()) for turns in outputs)
    for name, seconds in _threads(threads):
        if (of := THREADS.get(name)) is not None:
            found[of] += seconds
    found["other"] = max(time.process_time() - since - sum(found.values()), 0.0)
    return found


def _threads(folder: Path) -> Iterable[tuple[str, float]]:
    """Yield the names of threads, and seconds of CPU of each."""
    for path in folder.iterdir():
        try:
            text = (path / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended
        # A name may have spaces and brackets.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        yield name, (int(fields[USER]) + int(fields[SYSTEM])) * TICK
