"""A model of Kafka: topics with transactions, and a group whose members share partitions.

As Kafka does it: what a transaction appends is seen once it is committed, and in order: nothing behind an open
transaction is seen before that has ended. Positions of a group are committed within a transaction by members of the
current generation only, and cannot be read while a transaction with them is open (KIP-447). Partitions move in two
rounds: who has to give some back does so, then others are assigned them (KIP-429).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from lycosa.cluster.broker import Aborted, DeadLetter, Ends, Fenced, Message, Owner, Settled, Transaction, Unavailable
from lycosa.cluster.release import Released

from tests.unit.cluster.world import Process, World

T = TypeVar("T")

#: Seconds: sessions of members; transactions that are not ended; a request whose answer does not come.
SESSION, OPEN, ANSWER = 10.0, 10.0, 1.0

#: Seconds until a client gives a commit up, and does not know what became of it.
COMMIT = 8.0

#: Seconds for which an open transaction of an earlier owner is waited for before its writer is expelled.
PATIENCE = 0.5


class End(Enum):
    """How a transaction stands."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(eq=False)
class Open:
    """A transaction at the engine."""

    writer: int
    began: float
    end: End = End.OPEN
    what: Transaction | None = None
    positions: dict[int, int] = field(default_factory=dict)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)  # behind what it has appended


@dataclass
class Member:
    """A member of the group, as the coordinator knows it."""

    heard: float
    serial: int = -1  # of its last request to join: copies that come late are ignored
    owned: set[int] = field(default_factory=set)
    has_joined: bool = False
    assigned: set[int] | None = None  # of the current generation
    generation: int = -1


class Engine:
    """Topics, transactions and the group."""

    def __init__(self, world: World, partitions: int) -> None:
        self.world, self.partitions = world, partitions
        self.topics: dict[tuple[str, int], list[tuple[bytes, Open]]] = {
            (topic, partition): []
            for topic in ("journal", "pages", "links", "status")
            for partition in range(partitions)
        }
        self.positions = dict.fromkeys(range(partitions), 0)
        self.first = dict.fromkeys(range(partitions), 0)  # of journals, whose beginning is removed
        self.released = dict.fromkeys(range(partitions), Released())  # told with them
        self.dead_letters: list[DeadLetter] = []
        self._visible: dict[tuple[str, int], int] = {}
        self.transactions: list[Open] = []
        self.writers: dict[str, int] = {}  # the current epoch of each writer
        self._epochs = itertools.count(1)
        self.members: dict[int, Member] = {}
        self.numbers = itertools.count(1)
        self.gone: set[int] = set()
        self.generation, self.is_rebalancing = 0, False
        self.committing: Callable[[Transaction], None] = lambda _: None  # is told of each transaction
        world.every(lambda: 0.2, self._look)

    # transactions

    def begin_writer(self, name: str) -> int:
        """Begin a new epoch of a writer: its open transaction is aborted."""
        if name in self.writers:
            self._end_all(self.writers[name], End.ABORTED)
        self.writers[name] = next(self._epochs)
        return self.writers[name]

    def begin(self, writer: int) -> Open | None:
        """Begin a transaction; `None`: the writer was replaced or expelled."""
        if writer not in self.writers.values():
            return None
        transaction = Open(writer, self.world.now)
        self.transactions.append(transaction)
        return transaction

    def append(self, transaction: Open, what: Transaction) -> Ends | None:
        """Append all records once; returns their ends, or `None` where the transaction has ended."""
        if transaction.end is not End.OPEN:
            return None
        transaction.what = what
        statuses = {partition: [data] for partition, data in what.status.items()}
        parted = (("journal", what.journal), ("pages", what.pages), ("links", what.links), ("status", statuses))
        for topic, parts in parted:
            for partition, messages in parts.items():
                if (topic, partition) not in transaction.ends:
                    self.topics[topic, partition].extend((data, transaction) for data in messages)
                    transaction.ends[topic, partition] = len(self.topics[topic, partition])
        journal = {partition: transaction.ends["journal", partition] for partition in what.journal}
        return Ends(journal, {partition: transaction.ends["pages", partition] for partition in what.pages})

    def add_positions(self, transaction: Open, positions: dict[int, int], member: int, generation: int) -> str | None:
        """Add positions to a transaction; returns why not."""
        if transaction.end is not End.OPEN:
            return "the transaction has ended"
        if not positions:
            return None  # nobody asks the group
        known = self.members.get(member)
        if known is None:
            return "unknown member"
        if generation != self.generation:
            return "generation"
        transaction.positions = positions
        return None

    def commit(self, transaction: Open) -> bool:
        """Commit; returns whether it is committed."""
        if transaction.end is End.OPEN:
            transaction.end = End.COMMITTED
            if transaction.what is not None:
                self.committing(transaction.what)
                self.dead_letters += transaction.what.dead_letters
                if transaction.positions:
                    self.released.update(transaction.what.released)
            self.positions.update(transaction.positions)
        return transaction.end is End.COMMITTED

    def abort(self, transaction: Open) -> None:
        """Abort, unless it has ended."""
        if transaction.end is End.OPEN:
            transaction.end = End.ABORTED

    def visible(self, topic: str, partition: int) -> int:
        """Return the position up to which all transactions have ended."""
        records, at = self.topics[topic, partition], self._visible.get((topic, partition), 0)
        while at < len(records) and records[at][1].end is not End.OPEN:
            at += 1
        self._visible[topic, partition] = at
        return at

    def writers_open(self, partition: int, end: int) -> set[int]:
        """Return the writers of open transactions below a position of a journal."""
        records = self.topics["journal", partition][:end]
        return {of.writer for _, of in records if of.end is End.OPEN}

    def expel(self, writers: set[int]) -> None:
        """End these epochs: their open transactions are aborted, and nothing more is accepted of them."""
        for name, writer in list(self.writers.items()):
            if writer in writers:
                self._end_all(writer, End.ABORTED)
                del self.writers[name]

    def committed(self, topic: str, partition: int) -> list[bytes]:
        """Return all committed records."""
        return [data for data, of in self.topics[topic, partition] if of.end is End.COMMITTED]

    def _end_all(self, writer: int, end: End) -> None:
        """End the open transactions of a writer."""
        for transaction in self.transactions:
            if transaction.writer == writer and transaction.end is End.OPEN:
                transaction.end = end
        self.transactions = [one for one in self.transactions if one.end is End.OPEN]

    # the group

    def join(self, number: int, owned: set[int], serial: int) -> None:
        """A member joins the next generation, with what it owns."""
        if number in self.gone:
            return
        if number not in self.members:
            self.members[number] = Member(self.world.now)
            self._rebalance()
        member = self.members[number]
        if serial <= member.serial:
            return
        member.heard, member.serial, member.owned = self.world.now, serial, set(owned)
        if not self.is_rebalancing:
            self._rebalance()
        member.has_joined = True
        self._complete()

    def leave(self, number: int) -> None:
        """A member leaves."""
        if self.members.pop(number, None) is not None:
            self.gone.add(number)
            self._rebalance()
            self._complete()

    def heard(self, number: int) -> None:
        """A heartbeat came."""
        if number in self.members:
            self.members[number].heard = self.world.now

    def _rebalance(self) -> None:
        """All members have to join again."""
        self.is_rebalancing = True
        for member in self.members.values():
            member.has_joined = False

    def _complete(self) -> None:
        """Begin the next generation once all have joined."""
        if not self.is_rebalancing or not all(member.has_joined for member in self.members.values()):
            return
        self.is_rebalancing = False
        self.generation += 1
        targets = self._targets()
        taken = set().union(*(member.owned for member in self.members.values())) if self.members else set()
        for number, member in self.members.items():
            member.assigned = {one for one in targets[number] if one in member.owned or one not in taken}
            member.generation = self.generation

    def _targets(self) -> dict[int, set[int]]:
        """Share the partitions out evenly; each member keeps as many of its own as possible."""
        numbers = sorted(self.members)
        if not numbers:
            return {}
        most = -(-self.partitions // len(numbers))
        targets: dict[int, set[int]] = {}
        for number in numbers:
            targets[number] = set(sorted(self.members[number].owned)[:most])
        free = set(range(self.partitions)) - set().union(*targets.values())
        for partition in sorted(free):
            least = min(numbers, key=lambda number: (len(targets[number]), number))
            targets[least].add(partition)
        while True:
            least, largest = (f(numbers, key=lambda number: len(targets[number])) for f in (min, max))
            if len(targets[largest]) - len(targets[least]) <= 1:
                return targets
            targets[least].add(targets[largest].pop())

    def _look(self) -> None:
        """End sessions and transactions whose time is over."""
        for number, member in list(self.members.items()):
            if self.world.now - member.heard > SESSION:
                self.leave(number)
        for transaction in self.transactions:
            if transaction.end is End.OPEN and self.world.now - transaction.began > OPEN:
                self.expel({transaction.writer})


class Network:
    """Requests and answers that take time, are lost, and come twice."""

    def __init__(self, world: World, loss: float) -> None:
        self.world, self.loss = world, loss

    def ask(self, process: Process, work: Callable[[], T], give_up: float = float("inf")) -> T:
        """Do something at the engine; raises TimeoutError if no answer comes in time. ``work`` may be done twice."""
        began = process.clock()
        while True:
            process.sleep(self._delay())
            if not process.is_cut and not self._is_lost():
                if self._is_lost():
                    self.world.later(self._delay() * 30, work)  # a copy comes late
                answer = work()
                is_due = process.strike is not None and self.world.now >= process.strike_from
                if give_up < float("inf") and is_due and self.world.random.random() < 0.3:
                    strike, process.strike = process.strike, None
                    assert strike is not None
                    strike()
                process.sleep(self._delay())
                if not process.is_cut and not self._is_lost():
                    return answer
            process.sleep(ANSWER)
            if process.clock() - began > give_up:
                raise TimeoutError

    def _delay(self) -> float:
        """Half a round trip."""
        return self.world.random.choice((0.001, 0.002, 0.005, 0.03)) if self.loss else 0.002

    def _is_lost(self) -> bool:
        """Whether a message is lost."""
        return self.loss > 0 and self.world.random.random() < self.loss


class Client:
    """A member's client (``lycosa.cluster.broker.Broker``)."""

    def __init__(self, engine: Engine, network: Network, process: Process) -> None:
        self._engine, self._network, self._process = engine, network, process
        self._owned: set[int] = set()
        self._reading: dict[int, int] = {}
        self._number: int | None = None
        self._generation, self._serial = -1, 0
        self._writer: int | None = None
        self.losses = 0  # how often all partitions were lost

        def beat() -> None:
            is_heard = not process.is_cut and not process.is_suspended and engine.world.now >= process.silent_until
            if self._number is not None and process.is_alive and is_heard:
                engine.heard(self._number)

        engine.world.every(lambda: 0.5 + engine.world.random.random() * 2, beat)

    @property
    def is_excluded(self) -> bool:
        """Whether the group has excluded it from its partitions, and it does not know that yet."""
        return bool(self._owned) and self._number not in self._engine.members

    def _ask(self, work: Callable[[], T], give_up: float = float("inf")) -> T:
        """Ask the engine."""
        return self._network.ask(self._process, work, give_up)

    def poll(self, owner: Owner, within: float) -> list[Message]:
        """See ``Broker``. Requests of the group go on beside the lane, so that nothing waits for them here."""
        engine, process = self._engine, self._process
        process.sleep(0.001)
        if process.is_cut:
            return []
        if self._number is None:
            self._number = next(engine.numbers)
            self._join()
        elif self._number not in engine.members:
            self._number, self._generation, is_loss = None, -1, bool(self._owned)
            self._owned, self._reading = set(), {}
            if is_loss:
                self.losses += 1
                owner.lost()
            return []
        member = engine.members[self._number]
        if engine.is_rebalancing and not member.has_joined:
            self._join()
        if not engine.is_rebalancing and member.generation > self._generation:
            self._generation = member.generation
            self._change(owner, set(member.assigned or ()))
        return self._links()

    def _links(self) -> list[Message]:
        """Return the links that have come."""
        messages = []
        for partition, position in list(self._reading.items()):
            end = self._engine.visible("links", partition)
            records = self._engine.topics["links", partition][position:end]
            messages += [
                Message(partition, position + place + 1, data)
                for place, (data, of) in enumerate(records)
                if of.end is End.COMMITTED
            ]
            if position < end:
                messages.append(Message(partition, end, b""))
            self._reading[partition] = end
        return messages

    def _join(self) -> None:
        """Join the next generation, with what is owned."""
        if self._number is not None:
            self._serial += 1
            self._engine.join(self._number, self._owned, self._serial)

    def _change(self, owner: Owner, assigned: set[int]) -> None:
        """Give back and take over."""
        revoked, added = self._owned - assigned, assigned - self._owned
        if revoked:
            owner.revoked(sorted(revoked))
            for partition in revoked:
                self._reading.pop(partition, None)
            self._owned = self._owned - revoked
            self._join()
        if added:
            self._owned = self._owned | added
            owner.assigned(sorted(added))

    def read_from(self, partition: int, position: int) -> None:
        """See ``Broker``."""
        self._reading[partition] = position

    def commit(self, transaction: Transaction) -> Ends:
        """See ``Broker``."""
        engine, began = self._engine, self._process.clock()
        if self._writer is None:
            self._writer = self._ask(lambda: engine.begin_writer(f"{self._process.name} {began}"))
        writer = self._writer

        def left() -> float:
            return COMMIT - (self._process.clock() - began)

        begun: list[Open] = []

        def begin() -> Open | None:
            if not begun and (opened := engine.begin(writer)) is not None:
                begun.append(opened)
            return begun[0] if begun else None

        try:
            if (opened := self._ask(begin, left())) is None:
                raise Fenced("the writer was expelled")
            number, generation = self._number or -1, self._generation
            ends = self._ask(lambda: engine.append(opened, transaction), left())
            why = self._ask(lambda: engine.add_positions(opened, transaction.read, number, generation), left())
            if why == "generation":
                self._ask(lambda: engine.abort(opened), left())
                raise Aborted(why)
            if why is not None or ends is None:
                raise Fenced(why or "the transaction has ended")
            if not self._ask(lambda: engine.commit(opened), left()):
                raise Fenced("the transaction was aborted")
        except TimeoutError:
            raise Fenced("whether it was committed is unknown") from None
        return ends

    def settled(self, partition: int) -> Settled:
        """See ``Broker``."""
        engine, process = self._engine, self._process
        if self._network.loss and process.world.random.random() < self._network.loss:
            raise Unavailable("the brokers do not answer")

        def position() -> tuple[int, Released] | None:
            is_open = any(partition in one.positions and one.end is End.OPEN for one in engine.transactions)
            return None if is_open else (engine.positions[partition], engine.released[partition])

        while (found := self._ask(position)) is None:
            process.sleep(0.1)  # the transaction ends, or its time does
        end = self._ask(lambda: len(engine.topics["journal", partition]))
        deadline = process.clock() + PATIENCE
        while self._ask(lambda: engine.visible("journal", partition)) < end:
            if process.clock() > deadline:
                self._ask(lambda: engine.expel(engine.writers_open(partition, end)))
            process.sleep(0.1)
        return Settled(*found, end, self._ask(lambda: engine.visible("pages", partition)))

    def journal(self, partition: int, position: int, end: int) -> Iterator[Message]:
        """See ``Broker``."""
        records = self._engine.topics["journal", partition]
        while position < end:
            read = functools.partial(_piece, records, position, min(position + 50, end))
            for data, of in self._ask(read):
                position += 1
                if of.end is End.COMMITTED:
                    yield Message(partition, position, data)

    def first(self, partition: int) -> int:
        """See ``Broker``."""
        return self._ask(lambda: self._engine.first[partition])

    def rejoin(self) -> None:
        """See ``Broker``."""
        number, self._number, self._generation = self._number, None, -1
        self.losses += 1
        self._owned, self._reading, self._writer = set(), {}, None
        if number is not None and not self._process.is_cut:
            self._engine.leave(number)

    def leave(self, owner: Owner) -> None:
        """Give all back, and leave the group."""
        if self._owned:
            owner.revoked(sorted(self._owned))
        if (number := self._number) is not None:
            self._ask(lambda: self._engine.leave(number))
        self._owned, self._reading = set(), {}


def _piece(records: list[tuple[bytes, Open]], first: int, end: int) -> list[tuple[bytes, Open]]:
    """Some of the records."""
    return records[first:end]
