"""Outputs take turns, so that the rows of one alone are in memory; one that does not return lets the next go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds after which the next output goes on beside one that has not returned: its rows are in memory, too.
LONGEST = 10.0


class Turn:
    """Whose turn it is. For any thread."""

    def __init__(self, longest: float = LONGEST, clock: Callable[[], float] = time.monotonic) -> None:
        """longest: seconds of a turn, after which the next one begins beside it."""
        self._freed, self._longest, self._clock = threading.Condition(), longest, clock
        self._holder: object | None = None
        self._since = 0.0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turn, once it is free or overdue."""
        mine = object()
        with self._freed:
            while self._holder is not None and (left := self._since + self._longest - self._clock()) > 0:
                self._freed.wait(left)
            self._holder, self._since = mine, self._clock()
        try:
            yield
        finally:
            with self._freed:
                # It may have passed to another one meanwhile.
                if self._holder is mine:
                    self._holder = None
                    self._freed.notify()
