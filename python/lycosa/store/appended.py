"""Outputs that are one file to which rows are added: JSON lines, CSV, WARC.

A file in the job directory has the position, with the output's length there: on resume the output is cut to the
length, so that each record is in it once. The last checkpoints are kept, in case the log's end is damaged and goes
back itself.
"""

from __future__ import annotations

import abc
import contextlib
import json
import os
from typing import BinaryIO

from lycosa.records import Outcomes
from lycosa.sink import SinkJob
from lycosa.store.file_sink import FileSink, set_needs
from lycosa.store.replace import replace_file, sync_directory
from lycosa.store.restart import check_restart

#: Maximum number of checkpoints: all of the newest, ever fewer of older ones.
CHECKPOINTS = 64

#: A position in the log and the output's bytes up to it.
Checkpoint = tuple[int, int]


class AppendedSink(FileSink, abc.ABC):
    """A file to which rows are added; it can be read while the crawl runs. A subclass has :meth:`append`."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self._file: BinaryIO | None = None
        self._checkpoints: list[Checkpoint] = []
        self._written: Checkpoint = (0, 0)
        self.fields: list[str] = []

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        self.fields = list(job.fields)
        set_needs(self, job.fields)

    def open(self, first: int, end: int) -> int:
        """Cut the output to its newest checkpoint within the log; see ``lycosa.sink.Sink``."""
        self.note()
        self._drop()
        known, fields = self._read()
        size = self._size()
        if known and fields != self.fields and size is not None:
            check_restart(self.path, first, "its columns change")
            size = None
        within = [(at, length) for at, length in known if at <= end]
        kept = [(at, length) for at, length in within if size is not None and length <= size]
        if kept != within and within[-1][1] > 0 and fields == self.fields:
            check_restart(self.path, None, "it is missing, or shorter than it was")
        kept = kept or [(0, 0)]
        self._checkpoints, self._written = kept, kept[-1]
        # Checkpoints before the output: an output that is too long is cut next time.
        if kept != known or fields != self.fields:
            self.position_file().parent.mkdir(parents=True, exist_ok=True)
            self._keep()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._file = os.fdopen(descriptor, "wb")
        self._file.truncate(kept[-1][1])
        self._file.seek(kept[-1][1])
        sync_directory(self.path.absolute().parent)
        return kept[-1][0]

    @abc.abstractmethod
    def append(self, outcomes: Outcomes, offset: int) -> int:
        """Write outcomes into the file from an offset on; returns the bytes that it has more."""

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Add outcomes."""
        assert self._file is not None, "opened before"
        length = self.append(outcomes, self._written[1]) if len(outcomes) > 0 else 0
        self._written = (position, self._written[1] + length)
        return length

    def commit(self, position: int) -> None:
        """Sync the output, then store position and length."""
        if self._file is not None:
            self._written = (position, self._written[1])
        if self._file is None or self._written == self._checkpoints[-1]:
            return
        self._file.flush()
        if self._written[1] != self._checkpoints[-1][1]:
            os.fdatasync(self._file.fileno())
        checkpoints = [*self._checkpoints, self._written]
        if len(checkpoints) > CHECKPOINTS:
            half = CHECKPOINTS // 2
            checkpoints = checkpoints[:-half:2] + checkpoints[-half:]
        before, self._checkpoints = self._checkpoints, checkpoints
        try:
            self._keep()
        except OSError:
            self._checkpoints = before
            raise

    def committed(self) -> int | None:
        """Return the stored position."""
        return self._checkpoints[-1][0] if self._checkpoints else self.position_at(self._size())

    def position_at(self, size: int | None) -> int | None:
        """Return the newest stored position whose output is no longer than so many bytes; `None`: it is gone."""
        known = self._read()[0]
        return next((at for at, length in reversed(known) if size is not None and length <= size), None)

    def close(self) -> None:
        """Close the file: everything is committed."""
        self._drop()

    def remove(self) -> None:
        """Remove output and position."""
        self._drop()
        self.position_file().unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def _drop(self) -> None:
        """Close the file; what was not committed may be lost."""
        if self._file is not None:
            # The buffer may not fit on the disk; it is written again later.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _size(self) -> int | None:
        """Return the output's length, `None` if it is missing."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return None

    def _read(self) -> tuple[list[Checkpoint], list[str]]:
        """Return the stored checkpoints and columns; none if they cannot be read: the output is written again."""
        try:
            content = json.loads(self.position_file().read_bytes())
            if content["job"] != self.job.id:
                return [], []
            return [(int(at), int(length)) for at, length in content["checkpoints"]], list(content["fields"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return [], []

    def _keep(self) -> None:
        """Replace the file of checkpoints."""
        content = {
            "version": 1,
            "job": self.job.id,
            "output": str(self.path),
            "fields": self.fields,
            "checkpoints": self._checkpoints,
        }
        replace_file(self.position_file(), json.dumps(content).encode())
