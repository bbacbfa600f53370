"""What of a crawl does not move: a stage, an output, a request."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from lycosa.observe.turns import Turns

#: Turns in which a lane or an output waits for something else, as it should.
WAITING = frozenset({"start", "caller", "queue", "idle", "full disk", "away"})

#: Seconds in which each stage of a lane returns that is not held up.
TURNING = 5.0


class Stuck(NamedTuple):
    """Something that has not moved for long."""

    #: Such as ``stage parse of lane 0``, ``output pages.parquet``, ``request``.
    what: str
    #: What it does, or the URL that is asked for.
    at: str
    #: Since when, in seconds.
    seconds: float
    host: str | None = None
    url: str | None = None

    def __str__(self) -> str:
        """Return a line for users."""
        return f"{self.what} has not moved for {self.seconds:.0f} s: {self.at}"


class Output(Protocol):
    """An output, as it is looked at from outside."""

    @property
    def url(self) -> str:
        """Its name."""

    @property
    def turns(self) -> Turns:
        """What it does."""


class Out(Protocol):
    """Who knows which requests are out."""

    def oldest(self) -> tuple[str, float] | None:
        """Return the URL that is out longest, and for how many seconds; `None`: none is."""


def find_stuck(
    lanes: Sequence[Turns], outputs: Iterable[Output], frontier: Out, *, after: float, longest: float
) -> list[Stuck]:
    """Return what has not moved.

    lanes: their turns. frontier: of all lanes. after: seconds after which something is stuck. longest: seconds that
    a request may take.
    """
    now, found = time.monotonic(), list[Stuck]()
    for number, turns in enumerate(lanes):
        stage, seconds = turns.stage, now - turns.since
        if stage not in WAITING and seconds > after:
            lane = f" of lane {number}" if len(lanes) > 1 else ""
            found.append(Stuck(f"stage {stage}{lane}", "it has not returned", seconds))
    for output in outputs:
        does, seconds = output.turns.stage, now - output.turns.since
        if does not in WAITING and seconds > after:
            found.append(Stuck(f"output {output.url}", f"{does} has not returned", seconds))
    if (oldest := frontier.oldest()) is not None and oldest[1] > longest + after:
        url, seconds = oldest
        found.append(Stuck("request", url, seconds, urlsplit(url).hostname, url))
    return found


def is_turning(turns: Turns) -> bool:
    """Whether a lane goes through its stages: those of one that has nothing to do return soon, too."""
    return time.monotonic() - turns.since < TURNING
