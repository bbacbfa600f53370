"""Waits while a disk is full instead of failing: a failed write is retried."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lycosa.errors import StorageFull
from lycosa.records import Outcomes, Requests
from lycosa.stages import Log
from lycosa.store.replace import is_full

logger = logging.getLogger("lycosa")

#: Seconds between two tries, and between two checks whether the crawl should end.
TRY, LOOK = 1.0, 0.05

#: Seconds until an output that does not answer is tried again, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0

#: Doublings of the first pause, at most.
DOUBLINGS = 16


def pause_after(tries: int) -> float:
    """Return the seconds until an output is tried again that has not answered so often, which is at least once."""
    return min(FIRST_PAUSE * 2.0 ** min(tries - 1, DOUBLINGS), LONGEST_PAUSE)


class Patience:
    """Waits for disk space. Shared by all writers, so that each path is reported once. For any thread."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        """``stopping``: returns whether the crawl should end, and the wait with it."""
        self._stopping = stopping
        self._full: dict[Path | str, int] = {}
        self._lock = threading.Lock()
        #: Called while a writer waits, in its thread.
        self.meanwhile: Callable[[], None] | None = None

    def wait(self, place: Path | str) -> bool:
        """Wait until the next try; returns False if the crawl should end."""
        with self._lock:
            self._full[place] = self._full.get(place, 0) + 1
            first = self._full[place] == 1
        if first:
            logger.warning("the disk of %s is full; free space and it continues; Ctrl-C ends it", place)
        until = time.monotonic() + TRY
        while not self._stopping():
            if time.monotonic() >= until:
                return True
            if self.meanwhile is not None:
                self.meanwhile()
            time.sleep(LOOK)
        return False

    def insist(self, place: Path | str, write: Callable[[], None], lost: str = "nothing is lost") -> None:
        """Write as soon as there is space, with retries until then: a failed write has changed nothing.

        place: as in messages. lost: the consequence if the crawl ends meanwhile, for the message of StorageFull.
        """
        while True:
            try:
                write()
            except (OSError, StorageFull) as error:
                if not isinstance(error, StorageFull) and not is_full(error):
                    raise
                if not self.wait(place):
                    raise StorageFull(f"the disk of {place} is full; {lost}") from None
            else:
                self.written(place)
                return

    def written(self, place: Path | str) -> None:
        """Report that there is space again."""
        if not self._full:
            return
        with self._lock:
            tries = self._full.pop(place, 0)
        if tries:
            logger.warning("the disk of %s has space again; it continues", place)

    def full(self) -> list[str]:
        """Return the paths whose disks are full."""
        with self._lock:
            return [str(place) for place in self._full]


class PatientLog:
    """A log that waits while its disk is full; raises StorageFull only if the crawl ends meanwhile.

    While it waits the loop takes no new work, because it is blocked. Methods that do not write are the log's own.
    """

    def __init__(self, log: Log, place: Path, patience: Patience) -> None:
        """``place``: the directory, as in messages."""
        self._log, self._place, self._patience = log, place, patience

    def __getattr__(self, name: str) -> Any:
        """Return a method of the log that only reads."""
        return getattr(self._log, name)

    def append_seeds(self, seeds: list[str]) -> None:
        """Record accepted seeds."""
        self._try(lambda: self._log.append_seeds(seeds))

    def append_requests(self, requests: Requests) -> None:
        """Record accepted requests."""
        self._try(lambda: self._log.append_requests(requests))

    def append_leases(self, requests: Requests) -> None:
        """Record requests that are about to be sent."""
        self._try(lambda: self._log.append_leases(requests))

    def append(self, outcomes: Outcomes) -> None:
        """Record outcomes."""
        self._try(lambda: self._log.append(outcomes))

    def sync(self) -> None:
        """Sync appended records to the disk."""
        self._try(self._log.sync)

    def _try(self, write: Callable[[], None]) -> None:
        """Write as soon as there is space. A failed write can be tried again: what it wrote is not written twice."""
        self._patience.insist(self._place, write, "what was not recorded is fetched again next time")
