"""Snapshots of the frontier: writes them, and restores frontier and log from a snapshot and the log after it."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from lycosa.errors import JobDamaged, JobVersionError, StorageError, StorageFull
from lycosa.stages import Frontier, Log
from lycosa.store.restart import is_whole

logger = logging.getLogger("lycosa")

#: A snapshot is due only when the log has grown by this many times the size of the last one: snapshots cost at most
#: half as many writes as the log, however large the frontier is.
GROWTH = 2

#: Seconds between two looks at a snapshot that is waited for.
LOOK = 0.005

#: Seconds of waiting after which it is reported.
TELL = 2.0


class Snapshots:
    """The snapshots of a frontier, each for a position of the log."""

    def __init__(
        self,
        frontier: Frontier,
        log: Log,
        *,
        place: str,
        log_bytes: int,
        seconds: float,
        quiet: Callable[[], AbstractContextManager[bool]] = lambda: contextlib.nullcontext(True),
    ) -> None:
        """Read and write nothing yet.

        place: the job's directory, as in messages. log_bytes: minimum growth of the log between two snapshots.
        seconds: minimum time between two. quiet: prevents changes to frontier and log by other threads meanwhile, and
        gives whether they agree.
        """
        self._frontier, self._log, self._place = frontier, log, place
        self._log_bytes, self._seconds, self._quiet = log_bytes, seconds, quiet
        self._last = self._size = 0
        self._begun: int | None = None  # the position of a snapshot that is being written
        self._made = time.monotonic()

    def restore(self) -> int:
        """Restore frontier and log from the newest readable snapshot and the log after it; returns how many records.

        A snapshot that is damaged or of another version is skipped, and removed once the frontier is restored: it
        must not count as a snapshot when parts of the log are removed. Raises JobDamaged or JobVersionError if none
        can be read and the log's beginning is gone.
        """
        frontier, log = self._frontier, self._log
        self._begun = None
        position, views, unreadable = self._load()
        if position is None:
            first = log.first()
            if not is_whole(first):
                raise self._stranded(first, unreadable)
            frontier.clear()
        count = log.restore(position, views)
        self._last = position or 0
        while len(entries := log.read(position)) > 0:
            position = entries.position
            frontier.restore(entries)
        frontier.restored([position for position, _ in unreadable])
        return count

    def save_if_due(self) -> None:
        """Begin a snapshot if the log has grown enough and enough time has passed; complete the one that was begun.

        All records of the log must be confirmed. A full disk is not an error: the earlier snapshots stay in use.
        """
        if self._begun is not None:
            self._complete(self._begun)
            return
        grown = self._log.end() - self._last
        if grown >= max(self._log_bytes, GROWTH * self._size) and time.monotonic() - self._made >= self._seconds:
            self.begin()

    @property
    def is_writing(self) -> bool:
        """Whether a snapshot was begun and is not complete."""
        return self._begun is not None

    def wait(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait for the snapshot that is being written, if there is one; it is left out as soon as ``is_over``.

        Raises StorageError if the log cannot be synced.
        """
        if self.is_writing:
            self._log.sync()
        told_at = time.monotonic() + TELL
        while self._begun is not None and not is_over():
            self._complete(self._begun)
            if time.monotonic() >= told_at:
                told_at = math.inf
                logger.info("a snapshot is being written, so that the crawl resumes faster; Ctrl-C leaves it out")
            if self.is_writing:
                time.sleep(LOOK)

    def begin(self) -> None:
        """Begin a snapshot of the current state."""
        self._made = time.monotonic()
        with _warned(), self._quiet() as agree:
            if agree:
                position, views = self._log.checkpoint()
                self._frontier.save(position, views)
                self._begun = position

    def _complete(self, position: int) -> None:
        """Complete the snapshot of a position, if it is written and the log is durable up to there."""
        size: int | None = 0
        with _warned():
            size = self._frontier.saved() if self._log.is_durable(position) else None
        if size is not None:
            self._begun = None
        if size:
            self._last, self._size = position, size

    def _load(self) -> tuple[int | None, bytes | None, list[tuple[int, StorageError]]]:
        """Load the newest readable snapshot; returns its position, the log's counts, and the unreadable snapshots."""
        unreadable: list[tuple[int, StorageError]] = []
        for position in reversed(self._frontier.snapshots()):
            try:
                return position, self._frontier.load(position), unreadable
            except StorageError as error:
                unreadable.append((position, error))
        return None, None, unreadable

    def _stranded(self, first: int, unreadable: list[tuple[int, StorageError]]) -> StorageError:
        """Return the error for a job without readable snapshots and without the log's beginning."""
        why = "there is no snapshot of what came before"
        if unreadable:
            why = f"no snapshot of what came before can be read ({unreadable[0][1]})"
        leave = (
            f"lycosa job export {self._place} FILE reads what is left, lycosa job import FILE NEW makes a job of it"
        )
        text = f"{self._place}: the log begins at position {first}, and {why}"
        if unreadable and isinstance(unreadable[0][1], JobVersionError):
            go_on = "go on with the version of Lycosa that wrote it"
            return JobVersionError(f"{text}; {go_on}, or take what is left: {leave}; the rest is fetched again")
        return JobDamaged(f"{text}; {leave}")


@contextlib.contextmanager
def _warned() -> Iterator[None]:
    """Warn of a snapshot that cannot be written: the crawl needs none, and its log reports trouble with the disk."""
    try:
        yield
    except StorageFull:
        pass  # the log waits for space, and says so
    except StorageError as error:
        logger.warning("no snapshot was written: %s; until there is one a restart takes longer", error)
