"""What a member needs of the log engine: the group, journals, links, and transactions over them.

``kafka.py`` implements it with Kafka; the simulated cluster of the tests with a model of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from lycosa.errors import LycosaError


class Fenced(LycosaError):
    """The group has given this member's partitions to others, or whether the transaction was committed is unknown.

    The journals tell what was committed. The member drops its partitions and joins the group again.
    """


class Aborted(LycosaError):
    """Nothing of the transaction was committed, and the member may try again once it has polled."""


class Unavailable(LycosaError):
    """The brokers do not answer, or not yet: the same call may succeed later."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a journal or of the links: what it holds, and the position behind it.

    Links without data only tell that there are none up to that position.
    """

    partition: int
    position: int
    data: bytes


@dataclass(slots=True)
class Transaction:
    """What is committed together, by partition."""

    journal: dict[int, list[bytes]] = field(default_factory=dict)
    links: dict[int, list[bytes]] = field(default_factory=dict)  # for the owners of these partitions
    read: dict[int, int] = field(default_factory=dict)  # positions up to which links are accepted
    status: dict[int, bytes] = field(default_factory=dict)  # replaces what was told before

    def __bool__(self) -> bool:
        """Whether it has anything."""
        return bool(self.journal or self.links or self.read)


class Owner(Protocol):
    """Who is told of changes in what a member owns, within ``Broker.poll``."""

    def assigned(self, partitions: Collection[int]) -> None:
        """These partitions are the member's from now on."""

    def revoked(self, partitions: Collection[int]) -> None:
        """Give these partitions back: another member may own them once this returns."""

    def lost(self) -> None:
        """Drop all partitions: others may own them already, and nothing can be committed for them."""


class Broker(Protocol):
    """The log engine, as one member of a job's group sees it. ``poll`` and ``commit`` are for one thread."""

    def poll(self, owner: Owner, within: float) -> list[Message]:
        """Return links that have come for partitions that are read; waits at most ``within`` seconds for the first.

        Keeps the membership of the group; tells the owner of changes before it returns. Raises Fenced.
        """

    def commit(self, transaction: Transaction) -> dict[int, int]:
        """Commit a transaction, as a member of the group; raises Aborted or Fenced.

        Returns the positions behind its last records, by the partitions of their journals.
        """

    def read_from(self, partition: int, position: int) -> None:
        """Begin to read the links of a partition that is assigned."""

    def settled(self, partition: int) -> tuple[int, int]:
        """Return how far the links of a partition were accepted, and the end of its journal, once both are final.

        No transaction of an earlier owner that is open at the time of this call is committed after it. For any
        thread. Raises Unavailable.
        """

    def journal(self, partition: int, position: int, end: int) -> Iterator[Message]:
        """Return the committed messages of a journal from a position up to an end. For any thread.

        Raises Unavailable.
        """

    def rejoin(self) -> None:
        """Join the group as another member, after ``Fenced``: the partitions of this one were dropped."""
