"""What a member has recorded and not committed yet. Filled by stages and by links that come, emptied by commits."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.cluster.broker import DeadLetter, Transaction

#: The last record of an owner that has given a partition back: nothing of it is in flight.
GIVEN_BACK = b"\x00given back"


class Journal:
    """Records by partition, links for other partitions by the partition that found them, and positions of links."""

    def __init__(self) -> None:
        """Nothing is recorded."""
        self._records: dict[int, list[bytes]] = {}
        self._leases: dict[int, list[bytes]] = {}
        self._pages: dict[int, list[bytes]] = {}
        self._links: dict[int, list[tuple[int, bytes]]] = {}
        self._dead_letters: dict[int, list[DeadLetter]] = {}
        self._read: set[int] = set()  # partitions whose links were accepted since the last commit
        self.taking: set[int] = set()  # partitions of which something is taken back
        self.positions: dict[int, int] = {}  # of links, up to which they are accepted; of each owned partition

    def __bool__(self) -> bool:
        """Whether anything waits to be committed."""
        return bool(self._records or self._leases or self._links or self._read or self._dead_letters)

    def recorded(self) -> list[int]:
        """The partitions of which something was recorded since the last commit."""
        return list(self._records)

    def record(self, partition: int, data: bytes) -> None:
        """Record what happened to a partition."""
        self._records.setdefault(partition, []).append(data)

    def lease(self, partition: int, data: bytes) -> None:
        """Record requests that will be sent once this is committed."""
        self._leases.setdefault(partition, []).append(data)

    def page(self, partition: int, messages: Iterable[bytes], takes_back: bool) -> None:
        """Record pages of a partition for outputs. takes_back: whether earlier ones are taken back."""
        self._pages.setdefault(partition, []).extend(messages)
        if takes_back:
            self.taking.add(partition)

    def link(self, partition: int, links: Iterable[tuple[int, bytes]]) -> None:
        """Record links that a partition has found for others: owner, and links."""
        self._links.setdefault(partition, []).extend(links)

    def read(self, partition: int, position: int) -> None:
        """Record up to which position links of a partition are accepted, with the record of what they are."""
        self.positions[partition] = position
        self._read.add(partition)

    def give_up(self, letter: DeadLetter) -> None:
        """Record a message of a partition that cannot be read."""
        self._dead_letters.setdefault(letter.partition, []).append(letter)

    def withdraw_leases(self, partition: int) -> None:
        """The requests of these leases will not be sent."""
        self._leases.pop(partition, None)

    def drop(self, partition: int) -> None:
        """Nothing of a partition is to be committed any more."""
        self._records.pop(partition, None)
        self._leases.pop(partition, None)
        self._pages.pop(partition, None)
        self._links.pop(partition, None)
        self._dead_letters.pop(partition, None)
        self._read.discard(partition)
        self.taking.discard(partition)
        self.positions.pop(partition, None)

    def transaction(self, also: Iterable[int] = ()) -> Transaction:
        """Return all of it as one transaction, with the positions of all partitions that it is about, and of others.

        If nothing waits, it has one position as it was: whoever commits it is a member of the group still.
        """
        links: dict[int, list[bytes]] = {}
        for found in self._links.values():
            for owner, data in found:
                links.setdefault(owner, []).append(data)
        # Leases come behind the rest: their requests were taken after it.
        journal = {
            partition: self._records.get(partition, []) + self._leases.get(partition, [])
            for partition in sorted(self._records.keys() | self._leases.keys())
        }
        about = journal.keys() | self._links.keys() | self._dead_letters.keys() | self._read | set(also)
        about = about or set(list(self.positions)[:1])
        positions = {partition: self.positions[partition] for partition in sorted(about)}
        letters = [letter for some in self._dead_letters.values() for letter in some]
        return Transaction(journal, dict(self._pages), links, positions, dead_letters=letters)

    def clear(self) -> None:
        """All of it is committed."""
        self._records.clear()
        self._leases.clear()
        self._pages.clear()
        self._links.clear()
        self._dead_letters.clear()
        self._read.clear()
        self.taking.clear()
