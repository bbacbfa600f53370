"""Where the log and the frontier meet: restoring from a snapshot and the log after it, and making snapshots."""

from __future__ import annotations

import contextlib
import time

from lycosa.errors import JobDamaged, JobVersionError, StorageError, StorageFull
from lycosa.stages import Frontier, Log
from lycosa.store.restart import is_whole

#: A snapshot is not due before the log has grown by this many times the size of the one before: writing them costs
#: at most half of what the log costs, however large the frontier is.
GROWTH = 2


class Snapshots:
    """The snapshots of a frontier: all that is made of the log, at one of its positions."""

    def __init__(self, frontier: Frontier, log: Log, *, place: str, log_bytes: int, seconds: float) -> None:
        """Nothing is read or written.

        place: the job's directory, as it is told. log_bytes: that the log grows between two snapshots, at least.
        seconds: between two, at least.
        """
        self._frontier, self._log, self._place = frontier, log, place
        self._log_bytes, self._seconds = log_bytes, seconds
        self._last = self._size = 0
        self._made = time.monotonic()

    def restore(self) -> int:
        """Restore frontier and log from the newest snapshot that can be read, and the log after it; give its records.

        A snapshot that is damaged or of another version is passed over for the one before, and goes once the frontier
        is whole: it must not stand for parts of the log that are to be removed. Raises JobDamaged or JobVersionError
        where none can be read and the log's beginning is gone.
        """
        frontier, log = self._frontier, self._log
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

    def save_if_due(self) -> bool:
        """Make a snapshot if the log has grown enough and enough time has passed.

        Nothing may be between its record in the log and its confirmation. A full disk is no error: the snapshots
        before serve on.
        """
        grown = self._log.end() - self._last
        if grown < max(self._log_bytes, GROWTH * self._size) or time.monotonic() - self._made < self._seconds:
            return False
        return self.save()

    def save(self) -> bool:
        """Make a snapshot of now; whether there was room for it."""
        self._made = time.monotonic()
        with contextlib.suppress(StorageFull):
            position, views = self._log.checkpoint()
            if size := self._frontier.save(position, views):
                self._log.checkpointed(position)
                self._last, self._size = position, size
                return True
        return False

    def _load(self) -> tuple[int | None, bytes | None, list[tuple[int, StorageError]]]:
        """Load the newest snapshot that can be read: its position and what the log counted; and those that cannot."""
        unreadable: list[tuple[int, StorageError]] = []
        for position in reversed(self._frontier.snapshots()):
            try:
                return position, self._frontier.load(position), unreadable
            except StorageError as error:
                unreadable.append((position, error))
        return None, None, unreadable

    def _stranded(self, first: int, unreadable: list[tuple[int, StorageError]]) -> StorageError:
        """The error for a job whose snapshots and log's beginning are gone."""
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
