"""Which stage a lane is in, since when, and what each stage has cost."""

from __future__ import annotations

import time
from collections.abc import Callable


class Turns:
    """Notes the turns of a lane. Called by the lane's thread, read by others.

    >>> turn = Turns(clock=iter([0.0, 1.0, 5.0]).__next__, spent=iter([0.5, 2.0]).__next__)
    >>> turn("fetch")
    >>> turn("parse")
    >>> turn.stage, turn.since, turn.cpu_seconds
    ('parse', 5.0, {'fetch': 1.5})
    """

    __slots__ = ("_before", "_clock", "_spent", "cpu_seconds", "last", "since", "stage")

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, spent: Callable[[], float] = time.thread_time
    ) -> None:
        """Be in none yet. clock: seconds that pass. spent: seconds of CPU that the calling thread has used."""
        self._clock, self._spent = clock, spent
        #: The stage, and when it began, by the clock.
        self.stage, self.since = "start", clock()
        #: CPU seconds of the lane's thread by stage.
        self.cpu_seconds: dict[str, float] = {}
        #: When the last turn of each stage began and ended.
        self.last: dict[str, tuple[float, float]] = {}
        self._before: float | None = None

    def __call__(self, stage: str) -> None:
        """Note that another stage begins."""
        # Taken in the lane's thread: another one may have made this object.
        spent, now = self._spent(), self._clock()
        if self._before is not None:
            self.cpu_seconds[self.stage] = self.cpu_seconds.get(self.stage, 0.0) + spent - self._before
            self.last[self.stage] = (self.since, now)
        self._before, self.stage, self.since = spent, stage, now
