"""What each stage promises. The loop in ``loop.py`` knows these, never an implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from lycosa.records import Pages, Requests, Responses, Rows


class Frontier(Protocol):
    """Which URL next: admission, dedup, names, robots.txt, politeness, retries, redirects."""

    def add(self, seeds: list[str]) -> int:
        """Accept seeds; give how many were new."""

    def take(self, max: int) -> Requests:
        """Give at most ``max`` requests that may start now, each on lease."""

    def judge(self, pages: Pages) -> None:
        """Decide which outcomes are their URL's last, and add those settled without a fetch."""

    def done(self, pages: Pages) -> None:
        """Confirm outcomes that are in the log: leases end, links are admitted."""

    def idle(self) -> bool:
        """Tell whether the crawl has ended."""

    def wait(self) -> float:
        """Seconds until there may be something to take; at most 0.05."""

    def counts(self) -> dict[str, int]:
        """Numbers for progress and reports."""


class Fetch(Protocol):
    """Request → response. Keeps nothing that a crash may lose, and asks nobody."""

    def free(self) -> int:
        """Slots that are free."""

    def in_flight(self) -> int:
        """Requests submitted and not completed."""

    def submit(self, requests: Requests) -> None:
        """Start requests; never waits."""

    def completed(self, max: int, within: float) -> Responses:
        """Give what is complete; wait at most ``within`` seconds for the first."""

    def cancel(self) -> None:
        """End everything in flight at once."""


class Parse(Protocol):
    """Response → page: character set, links, title, robots directives."""

    def parse(self, responses: Responses) -> Pages:
        """Parse a batch."""


class Log(Protocol):
    """The one truth: seeds and outcomes in the order in which they happened."""

    def append_seeds(self, seeds: list[str]) -> None:
        """Record accepted seeds."""

    def append_leases(self, requests: Requests) -> None:
        """Record requests that are about to be sent."""

    def append(self, pages: Pages) -> None:
        """Record outcomes."""

    def sync(self) -> None:
        """Bring what was appended to the disk."""

    def end(self) -> int:
        """Position after the last record, in bytes."""

    def summary(self) -> dict[str, Any]:
        """What was recorded, in numbers."""


class Sink(Protocol):
    """Takes rows that follow the log, in its order, each once; commits output and position together.

    After a crash, or a disk that was full, :meth:`open` drops what was not committed and says where to go on.
    """

    #: Rows, and bytes of bodies, that are taken at once, at most.
    rows: int
    bytes: int
    #: Bytes and seconds that may be uncommitted, at most.
    commit_bytes: int
    commit_seconds: float

    def open(self, first: int, end: int) -> int:
        """Drop what was not committed, or lies beyond the log's ``end``; give the position to go on from.

        first: position of the oldest record in the log; 0 is given where there is no output yet.
        """

    def write(self, rows: Rows, position: int) -> int:
        """Take rows, after which the log goes on at ``position``; give their bytes."""

    def commit(self) -> None:
        """Bring output and position to the disk, together."""

    def committed(self) -> int | None:
        """The position that is on the disk; None where there is no output yet. Known without :meth:`open`."""

    def close(self) -> None:
        """Commit, and make the output complete."""

    def remove(self) -> None:
        """Remove the output."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of one crawl."""

    frontier: Frontier
    fetch: Fetch
    parse: Parse
    log: Log
