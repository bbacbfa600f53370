"""A full disk makes a crawl wait, not fail: what cannot be written is kept and tried again."""

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

#: Seconds between two tries, and between two looks at whether the crawl is to end.
TRY, LOOK = 1.0, 0.05


class Patience:
    """Waits for room on a disk. Shared by all that write, so that each place is told of once. For any thread."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        """``stopping``: whether the crawl is to end, so that there is nothing to wait for."""
        self._stopping = stopping
        self._full: dict[Path | str, int] = {}
        self._lock = threading.Lock()

    def wait(self, place: Path | str) -> bool:
        """Wait until it is worth another try; False when the crawl is to end."""
        with self._lock:
            self._full[place] = self._full.get(place, 0) + 1
            first = self._full[place] == 1
        if first:
            logger.warning("the disk of %s is full; free space and the crawl goes on; Ctrl-C ends it", place)
        until = time.monotonic() + TRY
        while not self._stopping():
            if time.monotonic() >= until:
                return True
            time.sleep(LOOK)
        return False

    def insist(self, place: Path | str, write: Callable[[], None], lost: str = "nothing is lost") -> None:
        """Write as soon as there is room, again and again until then: what failed has changed nothing.

        place: as it is told. lost: what becomes of it when the crawl is to end meanwhile; StorageFull says so.
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
        """Tell that there is room again."""
        if not self._full:
            return
        with self._lock:
            tries = self._full.pop(place, 0)
        if tries:
            logger.warning("the disk of %s has room again; the crawl goes on", place)

    def full(self) -> list[str]:
        """The places that are waited for."""
        with self._lock:
            return [str(place) for place in self._full]


class PatientLog:
    """A log that waits while its disk is full; raises StorageFull only when the crawl is to end meanwhile.

    While it waits no new work is taken, because the loop waits with it. What it does not write is the log's own.
    """

    def __init__(self, log: Log, place: Path, patience: Patience) -> None:
        """``place``: the directory, as it is told."""
        self._log, self._place, self._patience = log, place, patience

    def __getattr__(self, name: str) -> Any:
        """What only reads is done by the log."""
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
        """Bring what was appended to the disk."""
        self._try(self._log.sync)

    def _try(self, write: Callable[[], None]) -> None:
        """Write as soon as there is room. A log that was full is unchanged, so that the same may be written again."""
        self._patience.insist(self._place, write, "what was not recorded is fetched again next time")
