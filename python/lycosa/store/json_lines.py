"""JSON lines: one object a row, in UTF-8.

The position stands in a file of its own in the job directory, beside the output's length there: on resume the output
is cut to the length, so that each record is in it once. The last checkpoints are kept, for the case that the log's
end is damaged and goes back itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from pathlib import Path
from typing import BinaryIO

from lycosa.records import Rows
from lycosa.store.directory import JobDirectory
from lycosa.store.replace import replace_file, sync_directory
from lycosa.store.restart import check_restart

#: Checkpoints kept: the newest all, of older ones ever fewer.
CHECKPOINTS = 64

#: A position in the log and the output's bytes up to it.
Checkpoint = tuple[int, int]


class JsonLinesSink:
    """Writes ``.jsonl``; what has been written can be read while the crawl goes on."""

    rows: int = 1_000
    bytes: int = 8 << 20
    commit_bytes: int = 8 << 20
    commit_seconds: float = 1.0

    @staticmethod
    def check(path: Path) -> None:
        """Nothing beyond the package is needed."""

    def __init__(self, output: str, fields: list[str], directory: JobDirectory, job_id: str) -> None:
        """Nothing is opened yet."""
        self.path = Path(output)
        self._fields, self._job = fields, job_id
        self._sidecar = directory.sinks / f"{_sidecar_name(directory.named(output))}.json"
        self._file: BinaryIO | None = None
        self._checkpoints: list[Checkpoint] = []
        self._written: Checkpoint = (0, 0)

    def open(self, first: int, end: int) -> int:
        """Cut the output to its newest checkpoint that the log has; see ``lycosa.stages.Sink``."""
        self._drop()
        known, fields = self._read()
        size = self._size()
        if known and fields != self._fields and size is not None:
            check_restart(self.path, first, "its columns change")
            size = None
        within = [(at, length) for at, length in known if at <= end]
        kept = [(at, length) for at, length in within if size is not None and length <= size]
        if kept != within and within[-1][1] > 0 and fields == self._fields:
            check_restart(self.path, None, "it is missing, or shorter than it was")
        kept = kept or [(0, 0)]
        self._checkpoints, self._written = kept, kept[-1]
        # First the checkpoints, then the output: a longer output is cut next time as well.
        if kept != known or fields != self._fields:
            self._sidecar.parent.mkdir(parents=True, exist_ok=True)
            self._keep()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._file = os.fdopen(descriptor, "wb")
        self._file.truncate(kept[-1][1])
        self._file.seek(kept[-1][1])
        sync_directory(self.path.absolute().parent)
        return kept[-1][0]

    def write(self, rows: Rows, position: int) -> int:
        """Write rows."""
        assert self._file is not None, "opened before"
        # Lines are never in memory as a whole: escaped, a body is up to six times as long.
        length = rows.write_lines(self.path, self._written[1])
        self._written = (position, self._written[1] + length)
        return length

    def commit(self) -> None:
        """Sync the output, then keep position and length."""
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
        """The position kept."""
        if self._checkpoints:
            return self._checkpoints[-1][0]
        known, size = self._read()[0], self._size()
        return next((at for at, length in reversed(known) if size is not None and length <= size), None)

    def close(self) -> None:
        """Commit and close."""
        self.commit()
        self._drop()

    def remove(self) -> None:
        """Remove output and position."""
        self._drop()
        self._sidecar.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def _drop(self) -> None:
        """Close the file; what was not committed may be lost."""
        if self._file is not None:
            # What is buffered may not fit; it is written again.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _size(self) -> int | None:
        """The output's length; None where it is missing."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return None

    def _read(self) -> tuple[list[Checkpoint], list[str]]:
        """The checkpoints and the columns as kept; none where that cannot be read: the output is made again."""
        try:
            content = json.loads(self._sidecar.read_bytes())
            if content["job"] != self._job:
                return [], []
            return [(int(at), int(length)) for at, length in content["checkpoints"]], list(content["fields"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return [], []

    def _keep(self) -> None:
        """Replace the file of checkpoints."""
        content = {
            "version": 1,
            "job": self._job,
            "output": str(self.path),
            "fields": self._fields,
            "checkpoints": self._checkpoints,
        }
        replace_file(self._sidecar, json.dumps(content).encode())


def _sidecar_name(name: str) -> str:
    """A file name for an output's: the same where it stands in the job directory itself."""
    return name if "/" not in name else f"{Path(name).name[:200]}.{zlib.crc32(name.encode()):08x}"
