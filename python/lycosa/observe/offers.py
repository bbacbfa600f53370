"""Whether a frontier moves: URLs wait, nothing is out, and no reason is known why none of them is taken."""

from __future__ import annotations

import time
from typing import Any, Protocol

from lycosa.observe.stuck import Stuck
from lycosa.words import counted


class Offering(Protocol):
    """A frontier, as it is looked at from outside; see ``lycosa.stages.Frontier``."""

    def counts(self) -> dict[str, int]:
        """Its numbers."""

    def due(self) -> float | None:
        """In how many seconds there is something to take."""

    def suspensions(self) -> list[dict[str, Any]]:
        """Why the crawl is suspended."""

    def doubted_since(self) -> float | None:
        """Since when outcomes may be a captive portal's."""


class Offers:
    """Looks at a frontier again and again, and remembers since when it has not moved."""

    def __init__(self) -> None:
        """It moves."""
        self._since, self._ended = time.monotonic(), -1

    def find_stuck(self, frontier: Offering, *, is_waited: bool, longest: float) -> list[Stuck]:
        """Return whether it is stuck.

        is_waited: whether the crawl waits for something else: a disk, an output, the caller. longest: seconds that a
        frontier may offer nothing without a reason: a name may be resolved meanwhile.
        """
        now, counts = time.monotonic(), frontier.counts()
        ended = counts["done"] + counts["failed"] + counts["refused"]
        if is_waited or ended != self._ended or _has_reason(frontier, counts):
            self._since, self._ended = now, ended
        seconds = now - self._since
        return [Stuck("frontier", _told(frontier, counts), seconds)] if seconds > longest else []


def _has_reason(frontier: Offering, counts: dict[str, int]) -> bool:
    """Whether it may offer nothing for now: politeness, retries and suspensions have a time at which they end."""
    if counts["waiting"] == 0 or counts["leased"] > 0:
        return True
    due = frontier.due()
    if due is not None and due > 0:
        return True
    return bool(frontier.suspensions()) or frontier.doubted_since() is not None


def _told(frontier: Offering, counts: dict[str, int]) -> str:
    """What it does instead."""
    waiting = f"{counted(counts['waiting'], 'URL')} to fetch"
    if frontier.due() is not None:
        return f"{waiting}, something may be taken, and nothing is"
    if counts["unresolved"] > 0:
        return f"{waiting}, and {counted(counts['unresolved'], 'host')} without an answer of the resolver"
    return f"{waiting}, and none of them has a turn"
