"""Reads the lines of a file or pipe ahead on a thread: names for `lycosa resolve`."""

from __future__ import annotations

import os
import queue
import threading
from typing import BinaryIO, NamedTuple

from lycosa._core import NameBatch, NameLines

#: Bytes per read, and batches read ahead.
CHUNK, AHEAD = 1 << 17, 4


class Read(NamedTuple):
    """A batch of names."""

    names: NameBatch
    #: Bytes of the file up to their end.
    position: int


class LineReader:
    """Reads a file's lines in batches; counts and skips blank lines."""

    def __init__(self, file: BinaryIO) -> None:
        """Start to read."""
        self._file = file
        self._read: queue.Queue[Read | OSError | None] = queue.Queue(AHEAD)
        self._cut = NameLines()
        # A daemon, since its read from a pipe cannot be interrupted.
        threading.Thread(target=self._run, name="lycosa-lines", daemon=True).start()

    @property
    def lines(self) -> int:
        """Lines so far, blank ones included."""
        return self._cut.lines

    @property
    def blank(self) -> int:
        """Blank lines so far."""
        return self._cut.blank

    def next(self, within: float) -> Read | None:
        """Return the next batch, `None` at the end. Raises TimeoutError if none arrives in time, or OSError."""
        try:
            read = self._read.get(timeout=within) if within else self._read.get_nowait()
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(read, OSError):
            raise read
        return read

    def _run(self) -> None:
        """Read to the end; the thread's body."""
        position = 0
        try:
            while chunk := os.read(self._file.fileno(), CHUNK):
                position += len(chunk)
                self._put(self._cut.feed(chunk), position)
            self._put(self._cut.end(), position)
            self._read.put(None)
        except (OSError, ValueError) as error:
            if self._file.closed:
                return  # who has closed it wants no more of it
            if not isinstance(error, OSError):
                raise
            self._read.put(error)

    def _put(self, names: NameBatch, position: int) -> None:
        """Enqueue names, if there are any."""
        if len(names):
            self._read.put(Read(names, position))
