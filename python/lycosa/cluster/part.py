"""The frontier of one partition, as its member uses it."""

from __future__ import annotations

from typing import Protocol

from lycosa.records import Outcomes, Requests


class Part(Protocol):
    """A view of one partition's journal: which of its URLs is next."""

    def load(self, end: int) -> tuple[int, bytes]:
        """Load the newest readable snapshot that is not beyond an end of the journal.

        Returns its position, and what was saved with it; or 0 and nothing.
        """

    def restore(self, data: bytes, position: int) -> None:
        """Replay a message of the journal; ``position`` is behind it."""

    def restored(self, is_given_back: bool, final: int) -> Outcomes:
        """End the replay: the clocks of all hosts begin anew, links for others that the journal implies were sent.

        Returns outcomes that take earlier ones back, to be recorded: an earlier owner that has not given it back may
        have recorded a captive portal's answers. final: what the journal has up to this position is not taken back.
        """

    def doubted_for(self) -> float | None:
        """Return for how many seconds an outcome has been there that nothing has confirmed; `None`: none is."""

    def doubt(self) -> Outcomes:
        """Take back what a captive portal may have answered, before it is given back; to be recorded."""

    def accept(self, links: bytes) -> bytes:
        """Accept links of other partitions, or what they tell; returns the message for the journal."""

    def take(self, max: int) -> Requests:
        """Return at most ``max`` requests that may start now, each on lease."""

    def leased(self, requests: Requests) -> bytes:
        """Return the message for the journal of requests that are about to be sent."""

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Decide which outcomes are their URL's last; returns all, and those settled unfetched."""

    def settled(self, outcomes: Outcomes) -> list[bytes]:
        """Return the messages for the journal of outcomes."""

    def pages(self, outcomes: Outcomes) -> tuple[list[bytes], bool]:
        """Return the messages for outputs of outcomes, and whether these take earlier ones back."""

    def done(self, outcomes: Outcomes) -> None:
        """End the leases of outcomes that will be committed, and admit their links."""

    def tell(self) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Return what is to be told to other partitions of addresses that are lent: the record of it, and messages.

        The record is empty if there is none. Messages come to ``accept`` of their receivers, records to ``restore``.
        """

    def outbox(self) -> list[tuple[int, bytes]]:
        """Take the links for other partitions: their owners, and messages."""

    def save(self, position: int, beside: bytes) -> None:
        """Begin a snapshot of the current state, for a position of the journal. beside: is saved with it."""

    def saved(self) -> bool:
        """Whether the snapshot that was begun is complete, or was given up; it is on its way to the others then."""

    def wait(self) -> float:
        """Return the seconds until there may be something to take; at most 0.05."""

    def is_idle(self) -> bool:
        """Return whether nothing waits and nothing is in flight."""

    def share(self, part: float) -> None:
        """Use this part of shared limits: caps, and rates of hosts where these are shared."""

    def set_max_pages(self, pages: int) -> None:
        """Record no more pages than these, in all."""

    def room(self) -> tuple[int, int]:
        """Return how many pages may still be begun, and how many URLs wait."""

    def counts(self) -> dict[str, int]:
        """Return counts for reports."""

    def close(self) -> None:
        """Let go of its files and threads."""
