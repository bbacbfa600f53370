"""Followers: each sink reads the log at its own pace, on a thread of its own."""

from __future__ import annotations

import threading
from pathlib import Path

from lycosa import _core
from lycosa.errors import StorageError
from lycosa.stages import Sink

#: How often a follower that has caught up looks again, in seconds.
PAUSE = 0.2


class Follower:
    """Feeds one sink from the log until it is closed."""

    def __init__(self, log_directory: Path, sink: Sink, fields: list[str]) -> None:
        """Open the log at its beginning and start."""
        self._reader = _core.LogReader(log_directory, fields)
        self._sink = sink
        self._ending = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="lycosa-sink", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what the sink's thread died of, if it did."""
        if self._error is not None:
            raise StorageError(f"an output cannot be written: {self._error}") from self._error

    def position(self) -> int:
        """Position in the log up to which rows were taken."""
        return self._reader.position()

    def close(self) -> None:
        """Follow to the log's end, then make the output complete."""
        self._ending.set()
        self._thread.join()
        self.check()

    def _follow(self) -> None:
        """Take rows as they come; the thread's body."""
        try:
            while True:
                # Asked before reading: what was written before the end was told is still taken.
                ending = self._ending.is_set()
                before = self._reader.position()
                rows = self._reader.read(self._sink.rows, self._sink.bytes)
                if len(rows) > 0:
                    self._sink.write(rows)
                if self._reader.position() == before:
                    if ending:
                        break
                    self._ending.wait(PAUSE)
            self._sink.close()
        except Exception as error:
            self._error = error
