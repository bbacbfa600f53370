"""What a member needs of the log engine: the group, journals, links, and transactions over them.

``kafka.py`` implements it with Kafka; the simulated cluster of the tests with a model of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from lycosa.cluster.release import Released
from lycosa.errors import LycosaError

#: Maximum bytes of a record that topics accept: a batch of outcomes with their links.
LARGEST = 16 * 1024 * 1024


class Fenced(LycosaError):
    """The group has given this member's partitions to others, or whether the transaction was committed is unknown.

    The journals tell what was committed. The member drops its partitions and joins the group again.
    """


class Aborted(LycosaError):
    """Nothing of the transaction was committed, and the member may try again once it has polled."""


class Unavailable(LycosaError):
    """The brokers do not answer, or not yet: the same call may succeed later."""


class StateLost(LycosaError):
    """No snapshot of a partition can be read, and the journal that would replace it is gone."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a journal or of the links: what it holds, and the position behind it.

    Links without data only tell that there are none up to that position.
    """

    partition: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that nobody here can read: a damaged one, or one of a newer encoding."""

    topic: str  # "links", "journal" or "pages"
    partition: int
    position: int  # behind it
    data: bytes
    reason: str


@dataclass(slots=True)
class Transaction:
    """What is committed together, by partition."""

    journal: dict[int, list[bytes]] = field(default_factory=dict)
    pages: dict[int, list[bytes]] = field(default_factory=dict)  # for outputs
    links: dict[int, list[bytes]] = field(default_factory=dict)  # for the owners of these partitions
    read: dict[int, int] = field(default_factory=dict)  # positions up to which links are accepted
    released: dict[int, Released] = field(default_factory=dict)  # with each of these positions
    status: dict[int, bytes] = field(default_factory=dict)  # replaces what was told before
    dead_letters: list[DeadLetter] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether it has anything."""
        return bool(self.journal or self.links or self.read)


@dataclass(frozen=True, slots=True)
class Ends:
    """The positions behind the last records of a transaction, by partition."""

    journal: dict[int, int]
    pages: dict[int, int]


@dataclass(frozen=True, slots=True)
class Settled:
    """Where a partition stands, once no earlier owner can change that."""

    read: int  # up to which position its links are accepted
    released: Released  # to outputs
    journal: int  # the end of its journal
    pages: int  # the end of its pages


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

    def commit(self, transaction: Transaction) -> Ends:
        """Commit a transaction, as a member of the group; raises Aborted or Fenced."""

    def read_from(self, partition: int, position: int) -> None:
        """Begin to read the links of a partition that is assigned."""

    def settled(self, partition: int) -> Settled:
        """Return where a partition stands, once that is final.

        No transaction of an earlier owner that is open at the time of this call is committed after it. For any
        thread. Raises Unavailable.
        """

    def journal(self, partition: int, position: int, end: int) -> Iterator[Message]:
        """Return the committed messages of a journal from a position up to an end. For any thread.

        Raises Unavailable.
        """

    def first(self, partition: int) -> int:
        """Return the position of the first message of a journal that is there. For any thread. Raises Unavailable."""

    def rejoin(self) -> None:
        """Join the group as another member, after ``Fenced``: the partitions of this one were dropped."""
