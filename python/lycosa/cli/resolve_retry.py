"""``lycosa resolve --retry-failed``: resolves names with failures again, and replaces their rows.

The new output is written beside the old one and replaces it when it is complete: after a crash the old one is intact,
and the same command starts over. It has the unchanged rows, then new answers; a name without a new answer at the end
(Ctrl-C, names that the input does not have any more) keeps its old row. At any time each name has exactly its rows:
an old output that was not read to its end is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lycosa._core import Resolutions
from lycosa.cli.resolve_outputs import Answered, Output, ParquetOutput, StandardOutput, TextOutput
from lycosa.errors import SettingError
from lycosa.store.replace import sync_directory

#: Statuses that can be retried, and the default.
STATUSES, DEFAULT = ("servfail", "timeout", "nxdomain", "nodata"), ("servfail", "timeout")


def retrying(target: Output, asked: bool | str) -> Output:
    """Return the output that retries failures; raises SettingError for a bad status or output.

    asked: False for none, True for transient ones, or comma-separated statuses.
    """
    if asked is False:
        return target
    statuses = DEFAULT if asked is True else tuple(name.strip() for name in str(asked).split(","))
    for status in statuses:
        if status not in STATUSES:
            raise SettingError("--retry-failed", status, ", ".join(STATUSES))
    if isinstance(target, StandardOutput) or not isinstance(target, TextOutput | ParquetOutput):
        raise SettingError("--retry-failed", "", "with an existing output: -o FILE")
    return RetryingOutput(target, frozenset(statuses))


class RetryingOutput:
    """An output that is written anew beside the old one, without its failures."""

    def __init__(self, old: TextOutput | ParquetOutput, statuses: frozenset[str]) -> None:
        """Open nothing yet."""
        self._old, self._statuses = old, statuses
        path = old.path
        self._path = path.with_name(f"{path.stem}.retry{path.suffix}")
        self._new = old.beside(self._path)
        #: Failures by name, until they are answered again: a name may have several rows.
        self._failed: dict[str, list[Answered]] = {}
        #: Whether all rows of the old output are in the new one or in ``_failed``.
        self._is_read = False

    def open(self) -> Iterator[list[str]]:
        """Copy the unchanged rows, and yield their names: the others are resolved again."""
        for _ in self._old.open():
            pass
        self._drop()
        # A new output has no rows.
        for _ in self._new.open():
            pass
        for rows in self._old.rows():
            kept = [row for row in rows if row.status not in self._statuses]
            self._new.copy(kept)
            for row in rows:
                if row.status in self._statuses:
                    self._failed.setdefault(row.name, []).append(row)
            yield [row.name for row in kept]
        self._is_read = True

    def write(self, answers: Resolutions) -> None:
        """Write answers, which replace failures of their names."""
        self._new.write(answers)
        if self._failed:
            for answer in answers:
                rows = self._failed.get(answer.name)
                if rows is not None and (rows.pop() and not rows):
                    del self._failed[answer.name]

    def close(self) -> None:
        """Keep the failures that have no new answer, and replace the old output by the new one.

        If the old one was not read to its end, it stays.
        """
        if not self._is_read:
            self._new.close()
            self._drop()
            self._old.close()
            return
        for rows in self._failed.values():
            self._new.copy(rows)
        self._failed.clear()
        self._new.close()
        path: Path = self._old.path
        self._path.replace(path)
        sync_directory(path.absolute().parent)
        self._old.remove()

    def _drop(self) -> None:
        """Remove what an earlier run left."""
        self._path.unlink(missing_ok=True)
        folder = self._path.with_name(f"{self._path.name}.parts")
        if folder.is_dir():
            for part in folder.iterdir():
                part.unlink()
            folder.rmdir()
