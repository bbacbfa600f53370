"""The clock of master and download servers."""

from __future__ import annotations

import time

#: It never goes back and, where the system has one, goes on while the machine sleeps: what a server was granted, or
#: may start, must not outlast its time because the machine slept.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Return the time in seconds; only differences have a meaning."""
    return time.clock_gettime(CLOCK)
