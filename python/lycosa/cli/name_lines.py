"""The lines of a file or pipe, read ahead on a thread: names for `lycosa resolve`."""

from __future__ import annotations

import os
import queue
import threading
from dataclasses import dataclass
from typing import BinaryIO

#: Bytes read at once, and batches read ahead.
CHUNK, AHEAD = 1 << 17, 4

#: Bytes of a line that are looked at: no name has as many.
MAX_LINE = 4_096


@dataclass(frozen=True, slots=True)
class Names:
    """Lines that follow each other, without surrounding space and none of them blank."""

    #: The number of the first, from 1.
    first: int
    names: list[str]
    #: Bytes of the file up to and with them.
    position: int


class LineReader:
    """Reads a file's lines in batches; blank lines are counted and left out."""

    def __init__(self, file: BinaryIO) -> None:
        """Begin to read."""
        self._file = file
        self._read: queue.Queue[Names | OSError | None] = queue.Queue(AHEAD)
        self.lines = self.blank = 0
        # A daemon: nobody can end its wait for a pipe.
        threading.Thread(target=self._run, name="lycosa-lines", daemon=True).start()

    def next(self, within: float) -> Names | None:
        """The next batch; None at the end. Raises TimeoutError when none comes in time, OSError as reading does."""
        try:
            read = self._read.get(timeout=within) if within else self._read.get_nowait()
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(read, OSError):
            raise read
        return read

    def _run(self) -> None:
        """Read to the end; the thread's body."""
        begun, position = bytearray(), 0
        try:
            while chunk := os.read(self._file.fileno(), CHUNK):
                position += len(chunk)
                *whole, rest = chunk.split(b"\n")
                if whole:
                    whole[0] = bytes(begun) + whole[0]
                    begun.clear()
                    self._put(whole, position)
                # Of a line without an end no more is kept than is looked at.
                begun += rest[: MAX_LINE - len(begun)]
            if begun:
                self._put([bytes(begun)], position)
            self._read.put(None)
        except OSError as error:
            self._read.put(error)

    def _put(self, lines: list[bytes], position: int) -> None:
        """Hand lines over, in batches without blank ones."""
        first = self.lines + 1
        self.lines += len(lines)
        encoding = "utf-8-sig" if first == 1 else "utf-8"
        names = [
            line[:MAX_LINE].decode(encoding if place == 0 else "utf-8", "replace").strip()
            for place, line in enumerate(lines)
        ]
        begin = 0
        for place in range(len(names) + 1):
            if place == len(names) or not names[place]:
                if place > begin:
                    self._read.put(Names(first + begin, names[begin:place], position))
                self.blank += place < len(names)
                begin = place + 1
