"""What each stage promises. The loop in ``loop.py`` knows these, never an implementation.

All that passes between stages are records, numbers and texts: a stage may be in another process. What methods give is
checked by these annotations where a stage is somebody's own (``checked.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from lycosa.records import Entries, Outcomes, Requests, Responses


class Frontier(Protocol):
    """Which URL next: admission, dedup, names, robots.txt, politeness, retries, redirects."""

    def add(self, seeds: list[str]) -> int:
        """Accept seeds; give how many were new."""

    def add_requests(self, requests: Requests) -> int:
        """Accept requests: seeds with more than a URL, links that another frontier owned; give how many were new."""

    def take(self, max: int) -> Requests:
        """Give at most ``max`` requests that may start now, each on lease."""

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Decide which outcomes are their URL's last; give all, with those settled without a fetch. Needs no body."""

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes that are in the log: leases end, links are admitted."""

    def take_outbox(self) -> dict[str, Requests]:
        """Give the links that other frontiers of the job own, by the owner's name.

        They are given again, also after a restart, until ``outbox_delivered``; while too many wait, none is taken.
        """

    def outbox_delivered(self) -> None:
        """Hear that what was given last was recorded and accepted (``append_requests``, ``add_requests``)."""

    def idle(self) -> bool:
        """Tell whether the crawl has ended."""

    def wait(self) -> float:
        """Seconds until there may be something to take; at most 0.05."""

    def counts(self) -> dict[str, int]:
        """Numbers for progress and reports."""

    def suspensions(self) -> list[dict[str, Any]]:
        """Why the crawl is suspended, if it is: cause, since, probe_at, domains, example, over."""

    def failing(self, max: int) -> list[tuple[str, str, int, float]]:
        """Hosts that fail and that something waits for: host, kind, URLs that wait, tried until at least."""

    def snapshots(self) -> list[int]:
        """Positions of the log that it has a snapshot of, in order."""

    def save(self, position: int, views: bytes) -> int:
        """Make a snapshot of now, for a position of the log, with what the log counts up to there.

        Gives its bytes; 0 where the disk is full: the snapshots before serve on.
        """

    def load(self, position: int) -> bytes:
        """Become what a snapshot holds; give what the log counted up to there.

        Raises JobDamaged, JobVersionError or StorageError where it cannot be read.
        """

    def clear(self) -> None:
        """Become empty: the whole log is to follow."""

    def restore(self, entries: Entries) -> None:
        """Do again what the log has recorded."""

    def restored(self, unreadable: list[int]) -> None:
        """End the restoring, and remove snapshots that could not be loaded."""

    def settled_of(self, requests: Requests) -> Requests:
        """Those of some seeds that are known and settled: done, failed or refused."""

    def reopen(self, outcomes: Outcomes) -> Outcomes:
        """Let settled URLs wait again; give the outcomes of those that are known, to be recorded before ``take``."""

    def doubted_since(self) -> float | None:
        """Since when outcomes may be a captive portal's, in seconds of the crawl's time; None: none may be."""

    def doubt_held(self) -> Outcomes:
        """Take back what a captive portal may have answered, at the end of the process; to be recorded."""

    def doubt_last(self, written: int | None = None) -> Outcomes:
        """Take back what a process that died may have recorded of a captive portal; to be recorded.

        written: up to which position of the log outputs have it; None: only rules of robots.txt are taken back.
        """

    def confirm_last(self) -> None:
        """Take what earlier processes recorded as the sites' own."""


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
    """Response → outcome: character set, links, title, robots directives."""

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch: an outcome for each response, in a later call where there is no memory for it now."""


@runtime_checkable
class Follow(Protocol):
    """A place in the log from which a sink is fed: each URL's last outcome, in the log's order."""

    def read(self, max_entries: int, max_bytes: int) -> Outcomes:
        """The next outcomes, of at most so many records and bytes; none while the log has no more."""

    def position(self) -> int:
        """The position of the next record."""


class Log(Protocol):
    """The one truth: accepted requests, leases and outcomes in the order in which they happened."""

    def append_seeds(self, seeds: list[str]) -> None:
        """Record accepted seeds."""

    def append_requests(self, requests: Requests) -> None:
        """Record accepted requests."""

    def append_leases(self, requests: Requests) -> None:
        """Record requests that are about to be sent."""

    def append(self, outcomes: Outcomes) -> None:
        """Record outcomes."""

    def sync(self) -> None:
        """Bring what was appended to the disk."""

    def first(self) -> int:
        """Position of the oldest record, in bytes."""

    def end(self) -> int:
        """Position after the last record, in bytes."""

    def committed(self) -> int:
        """Up to where it is on the disk."""

    def read(self, position: int | None = None, max_bytes: int = ...) -> Entries:
        """The records from a position on, or from the beginning; none at the end. Bodies stay in the log."""

    def restore(self, position: int | None = None, views: bytes | None = None) -> int:
        """Take in what was recorded since a checkpoint, or since the beginning; give the number of records.

        views: what was counted up to the checkpoint.
        """

    def checkpoint(self) -> tuple[int, bytes]:
        """Bring everything to the disk; give the position, and what is counted up to there."""

    def checkpointed(self, position: int) -> None:
        """Hear that a snapshot of a checkpoint is whole: nothing before it is read again."""

    def follow(self, position: int | None = None, with_body: bool = True, max_body_bytes: int = ...) -> Follow:
        """Feed a sink from a position on, or from the beginning, as far as the log is on the disk."""

    def keep_distance(self, distance: float) -> None:
        """Set for how many seconds sinks stay behind the log, since outcomes may be taken back; 0: not at all."""

    def doubt(self, since: float | None) -> None:
        """Hear since when outcomes may be a captive portal's, in seconds of the crawl's time; None: none may be."""

    def failed(self, kinds: list[str]) -> Failed:
        """The URLs that failed last with one of these kinds."""

    def ended(self, requests: Requests) -> Outcomes:
        """Outcomes that open settled URLs again, by how they had ended; what is not known is left out."""

    def retain(self, position: int) -> int:
        """Remove the files that end at or before a position; give how many."""

    def torn(self) -> tuple[int, int] | None:
        """What a crash left unfinished and was set aside when it was opened: position and bytes."""

    def summary(self) -> dict[str, Any]:
        """What was recorded, in numbers."""


@runtime_checkable
class Failed(Protocol):
    """URLs that failed, to be opened again."""

    def read(self, max: int) -> Outcomes:
        """The next of them, as outcomes that open them again; none when there are no more."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of one crawl."""

    frontier: Frontier
    fetch: Fetch
    parse: Parse
    log: Log


#: Puts stages of one's own in the place of others: ``lambda stages: replace(stages, fetch=MyFetch())``.
Change = Callable[[Stages], Stages]
