"""The Protocols of the stages. The loop in ``loop.py`` knows these, never an implementation.

Only records, numbers and texts pass between stages: a stage may be in another process. Return values of custom stages
are checked against these annotations (``checked.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lycosa.observe.turns import Turns
from lycosa.records import Entries, Outcomes, Requests, Responses


class Frontier(Protocol):
    """Decides which URL is next: admission, dedup, names, robots.txt, politeness, retries, redirects."""

    def add(self, seeds: list[str]) -> int:
        """Accept seeds; returns how many were new."""

    def add_requests(self, requests: Requests) -> int:
        """Accept requests: seeds with more than a URL, or links from another frontier; returns how many were new."""

    def take(self, max: int) -> Requests:
        """Return at most ``max`` requests that may start now, each on lease."""

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Decide which outcomes are their URL's last; returns all, and those settled unfetched. Needs no body."""

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes that are in the log: leases end, links are admitted."""

    def take_outbox(self) -> dict[str, Requests]:
        """Return the links that other frontiers of the job own, by the owner's name.

        They are returned again, also after a restart, until ``outbox_delivered``; while too many wait, ``take`` is
        empty.
        """

    def outbox_delivered(self) -> None:
        """Confirm that the last links were recorded and accepted (``append_requests``, ``add_requests``)."""

    def idle(self) -> bool:
        """Return whether the crawl has ended."""

    def wait(self) -> float:
        """Return the seconds until there may be something to take; at most 0.05."""

    def due(self) -> float | None:
        """Return in how many seconds there is something to take, 0 or less: now; `None`: nobody knows.

        Nobody does while only outcomes, or answers to names, can change what is to be taken.
        """

    def counts(self) -> dict[str, int]:
        """Return counts for progress and reports."""

    def suspensions(self) -> list[dict[str, Any]]:
        """Return why the crawl is suspended, if it is: cause, since, probe_at, domains, example, over."""

    def failing(self, max: int) -> list[tuple[str, str, int, float]]:
        """Return failing hosts with waiting URLs: host, kind, number of URLs, earliest end of the retries."""

    def oldest(self) -> tuple[str, float] | None:
        """Return the URL that is out longest, and for how many seconds; `None`: none is."""

    def slowed(self) -> list[tuple[str, float, float]]:
        """Return hosts that are asked more slowly since the last call: host, interval before and now, in seconds.

        Trouble of their own slows them: statuses such as 429 and 503, timeouts. The first call begins.
        """

    def snapshots(self) -> list[int]:
        """Return the log positions of its snapshots, in order."""

    def save(self, position: int, views: bytes) -> None:
        """Begin a snapshot of the current state, for a position of the log, with the log's counts up to there.

        What happens afterwards is not in it.
        """

    def saved(self) -> int | None:
        """Return the size in bytes of the snapshot that was begun last, once it is complete; `None` until then.

        Called again and again from the time at which the log is durable up to its position: before that, a snapshot
        must not become one of ``snapshots``. 0 if there was no space for it: the earlier snapshots stay in use.
        """

    def load(self, position: int) -> bytes:
        """Load the state of a snapshot; returns the log's counts up to its position.

        Raises JobDamaged, JobVersionError or StorageError if it cannot be read.
        """

    def clear(self) -> None:
        """Drop all state: the whole log will be replayed."""

    def restore(self, entries: Entries) -> None:
        """Replay records of the log."""

    def restored(self, unreadable: list[int]) -> None:
        """End the replay, and remove snapshots that could not be loaded."""

    def settled_of(self, requests: Requests) -> Requests:
        """Return those seeds that are known and settled: done, failed or refused."""

    def reopen(self, outcomes: Outcomes) -> Outcomes:
        """Enqueue settled URLs again; returns the outcomes of the known ones, to be recorded before ``take``."""

    def doubted_since(self) -> float | None:
        """Return since when outcomes may be a captive portal's, in seconds of the crawl's time, or `None`."""

    def doubt_held(self) -> Outcomes:
        """Take back what a captive portal may have answered, at the end of the process; to be recorded."""

    def doubt_last(self, written: int | None = None) -> Outcomes:
        """Take back what a process that died may have recorded of a captive portal; to be recorded.

        written: position of the log up to which outputs have it; `None`: only robots.txt rules are taken back.
        """

    def confirm_last(self) -> None:
        """Accept what earlier processes recorded as the sites' own responses."""


class Fetch(Protocol):
    """Request → response. Has no state that a crash must not lose, and calls no other stage."""

    def free(self) -> int:
        """Return the number of free slots."""

    def in_flight(self) -> int:
        """Return the number of requests submitted and not completed."""

    def submit(self, requests: Requests) -> None:
        """Start requests; never blocks."""

    def completed(self, max: int, within: float) -> Responses:
        """Return at most ``max`` complete responses; waits at most ``within`` seconds for the first."""

    def cancel(self) -> None:
        """Cancel all requests in flight at once."""


class Parse(Protocol):
    """Response → outcome: character set, links, title, robots directives."""

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch: one outcome per response, in a later call if there is no memory for it now."""


@runtime_checkable
class Follow(Protocol):
    """A reader of the log that feeds a sink: each URL's last outcome, in the log's order."""

    def read(self, max_entries: int, max_bytes: int) -> Outcomes:
        """Return the next outcomes, of at most so many records and bytes; empty while the log has no more."""

    def position(self) -> int:
        """Return the position of the next record."""


class Log(Protocol):
    """The authoritative record: accepted requests, leases and outcomes in the order in which they happened."""

    def append_seeds(self, seeds: list[str]) -> None:
        """Record accepted seeds."""

    def append_requests(self, requests: Requests) -> None:
        """Record accepted requests."""

    def append_leases(self, requests: Requests) -> None:
        """Record requests that are about to be sent."""

    def append(self, outcomes: Outcomes) -> None:
        """Record outcomes.

        After StorageFull it is called again with the same batch: what was recorded of it is not recorded again.
        """

    def sync(self) -> None:
        """Sync appended records to the disk."""

    def first(self) -> int:
        """Return the position of the oldest record, in bytes."""

    def end(self) -> int:
        """Return the position after the last record, in bytes."""

    def committed(self) -> int:
        """Return the position up to which the log is synced."""

    def read(self, position: int | None = None, max_bytes: int = ...) -> Entries:
        """Return the records from a position on, or from the beginning; empty at the end. Bodies stay in the log."""

    def restore(self, position: int | None = None, views: bytes | None = None) -> int:
        """Update the counts from the records since a checkpoint, or the beginning; returns the number of records.

        views: the counts up to the checkpoint.
        """

    def checkpoint(self) -> tuple[int, bytes]:
        """Return the position of the end, and the counts up to there, for a snapshot; starts to sync both."""

    def is_durable(self, position: int) -> bool:
        """Return whether a checkpoint is synced: the records before its position, and what is stored beside them."""

    def follow(self, position: int | None = None, with_body: bool = True, max_body_bytes: int = ...) -> Follow:
        """Return a reader from a position on, or from the beginning, as far as the log is synced."""

    def keep_distance(self, distance: float) -> None:
        """Set how many seconds sinks stay behind the log, since outcomes may be taken back; 0: not at all."""

    def doubt(self, since: float | None) -> None:
        """Set since when outcomes may be a captive portal's, in seconds of the crawl's time; `None`: none may be."""

    def failed(self, kinds: list[str]) -> Failed:
        """Return the URLs that failed last with one of these kinds."""

    def ended(self, requests: Requests) -> Outcomes:
        """Return outcomes that open settled URLs again, by how they ended; unknown URLs are left out."""

    def retain(self, position: int) -> int:
        """Remove the files that end at or before a position; returns how many."""

    def torn(self) -> tuple[int, int, bool] | None:
        """Return position and size of what was set aside at opening, and whether it has whole records; or `None`.

        A killed process leaves an unfinished record; whole records behind it are a sign of damage, or of a power cut.
        """

    def summary(self) -> dict[str, Any]:
        """Return counts of what was recorded."""


@runtime_checkable
class Failed(Protocol):
    """URLs that failed, to be opened again."""

    def read(self, max: int) -> Outcomes:
        """Return the next of them, as outcomes that open them again; empty when there are no more."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of one crawl."""

    frontier: Frontier
    fetch: Fetch
    parse: Parse
    log: Log
    #: Which of them the lane is in: for reports and the watchdog.
    turns: Turns = field(default_factory=Turns)


#: Replaces stages by custom ones: ``lambda stages: replace(stages, fetch=MyFetch())``.
Change = Callable[[Stages], Stages]
