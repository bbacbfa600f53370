"""The frontier of one partition, as its member uses it."""

from __future__ import annotations

from typing import Protocol

from lycosa.records import Outcomes, Requests


class Part(Protocol):
    """A view of one partition's journal: which of its URLs is next."""

    def load(self, end: int) -> int:
        """Load the newest readable snapshot that is not beyond an end of the journal; returns its position, or 0."""

    def restore(self, data: bytes, position: int) -> None:
        """Replay a message of the journal; ``position`` is behind it."""

    def restored(self, is_given_back: bool) -> bytes | None:
        """End the replay: the clocks of all hosts begin anew, links for others that the journal implies were sent.

        Returns a message for the journal of what is taken back: an earlier owner that has not given it back may have
        recorded a captive portal's answers.
        """

    def doubt(self) -> bytes | None:
        """Take back what a captive portal may have answered, before it is given back; returns the message of that."""

    def accept(self, links: bytes) -> bytes:
        """Accept links of other partitions; returns the message for the journal."""

    def take(self, max: int) -> Requests:
        """Return at most ``max`` requests that may start now, each on lease."""

    def leased(self, requests: Requests) -> bytes:
        """Return the message for the journal of requests that are about to be sent."""

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Decide which outcomes are their URL's last; returns all, and those settled unfetched."""

    def settled(self, outcomes: Outcomes) -> bytes:
        """Return the message for the journal of outcomes."""

    def done(self, outcomes: Outcomes) -> None:
        """End the leases of outcomes that will be committed, and admit their links."""

    def outbox(self) -> dict[int, bytes]:
        """Take the links for other partitions: a message for each."""

    def save(self, position: int) -> None:
        """Begin a snapshot of the current state, for a position of the journal."""

    def saved(self) -> bool:
        """Whether the snapshot that was begun is complete, or was given up; it is on its way to the others then."""

    def wait(self) -> float:
        """Return the seconds until there may be something to take; at most 0.05."""

    def is_idle(self) -> bool:
        """Return whether nothing waits and nothing is in flight."""

    def share(self, part: float) -> None:
        """Use this part of limits that workers share: rates of addresses, and of hosts where these are shared."""

    def counts(self) -> dict[str, int]:
        """Return counts for reports."""

    def close(self) -> None:
        """Let go of its files and threads."""
