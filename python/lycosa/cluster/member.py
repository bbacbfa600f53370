"""A member of a job's group: owns partitions, and commits what happens to them.

The order of things for a partition: assigned → its snapshot and the journal behind it are loaded → an earlier owner's
requests are over → links are read and requests are taken → given back, or lost.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Protocol

from lycosa.cluster.broker import (
    Aborted,
    Broker,
    DeadLetter,
    Ends,
    Fenced,
    Message,
    Settled,
    Transaction,
)
from lycosa.cluster.budget import PREFIX, Budgets
from lycosa.cluster.journal import GIVEN_BACK, Journal
from lycosa.cluster.loading import UNREADABLE, Loaded, Loader
from lycosa.cluster.ownership import Ownership, State
from lycosa.cluster.part import Part
from lycosa.cluster.release import Release, Released
from lycosa.cluster.status import Status
from lycosa.records import Outcomes

logger = logging.getLogger("lycosa")

#: A member that has nothing to commit renews its right to start requests so many times within the fence.
RENEWALS = 3

#: Seconds after which the status of each partition is told again.
STATUS = 2.0

#: The part of the time for which outcomes may be taken back that counts, at most, between two times that a lane comes
#: by: it may have been suspended, or have waited for brokers.
LONGEST_GAP = 1 / 15

#: Seconds between two looks at what is left of the pages that partitions may fetch.
BUDGETS = 0.1

#: Tries of a commit while the member is not allowed to poll.
TRIES = 5


class Lane(Protocol):
    """The stages that work for a member."""

    def committed(self) -> None:
        """Send the requests whose leases are committed, until ``Ownership.fence``."""

    def withdraw(self, partitions: Collection[int]) -> None:
        """Do not send what of these partitions was taken and is not committed."""

    def settle(self, partitions: Collection[int]) -> None:
        """Confirm outcomes until nothing of these partitions is in flight."""

    def cancel(self) -> None:
        """End and forget all that was taken."""


class Member:
    """Owns the partitions that the group assigns to it. For the thread of its lane."""

    def __init__(
        self,
        broker: Broker,
        loader: Loader,
        clock: Callable[[], float],
        *,
        partitions: int,
        fence: float,
        interval: float,
        snapshots: float,
        distance: float,
        max_pages: int | None = None,
    ) -> None:
        """Own nothing yet.

        partitions: of the job. fence: see ``Ownership``. interval: minimum seconds from the beginning of one commit
        to the next. snapshots: seconds between two snapshots of a partition. distance: seconds for which outcomes may
        be taken back. max_pages: of the whole job; `None`: no limit.
        """
        self.ownership, self.journal = Ownership(fence), Journal()
        self._budgets = None if max_pages is None else Budgets(max_pages, self._send)
        self._looked = float("-inf")  # when budgets were looked at
        self.parts: dict[int, Part] = {}
        self._broker, self._clock = broker, clock
        self._partitions, self._distance = partitions, distance
        self._interval, self._renewal, self._snapshots = interval, fence / RENEWALS, snapshots
        self._loader = loader
        self._assigned_at: dict[int, float] = {}  # of those that are not owned yet
        self._tried = float("-inf")  # when the last commit began
        self._asked = float("-inf")  # when parts were asked what they have to tell, with nothing to commit
        self._is_told = False  # whether the broker is telling changes: it must not be polled
        self._is_out = False  # whether it has dropped all partitions, and is to join again
        self._error: Exception | None = None  # while partitions were given back
        self._ends: dict[int, int] = {}  # of journals
        self._releases: dict[int, Release] = {}
        self._came_by, self._hung = clock(), 0.0  # when this was last looked at, and for how long nobody had come by
        self._settled: dict[int, Settled] = {}  # where they stood when they were loaded
        self._told: dict[int, Status] = {}  # how partitions stand by what was committed
        self._told_at = float("-inf")  # when all were told
        self._given_back: set[int] = set()  # partitions that were given back by their earlier owners
        self._saved: dict[int, float] = {}  # when the last snapshot of a partition began
        self._saving: set[int] = set()  # partitions whose snapshots are being written
        self._kept: dict[int, int] = {}  # the positions of their last snapshots
        self.lane: Lane | None = None
        self.is_paused = False  # whether nothing is taken
        self.takeovers, self.takeover_seconds, self.longest_takeover = 0, 0.0, 0.0  # from assigned to owned
        self.commits = self.losses = self.dead_letters = 0

    def look(self) -> None:
        """Take note of changes, accept links, and own what is loaded. To be called often."""
        self._healthy()
        if self._is_out:
            self._is_out = False
            self._broker.rejoin()
        self._poll(0.0)
        for partition, loaded in self._loader.loaded():
            self._take_over(partition, loaded)
        due = self.ownership.due(self._clock())
        for partition in due:
            settled = self._settled[partition]
            taken_back = self.parts[partition].restored(partition in self._given_back, settled.released.journal)
            self.record(partition, taken_back)
            self._releases[partition] = Release(self._distance, settled.released, settled.journal, settled.pages)
            if self._budgets is not None:
                self.parts[partition].set_max_pages(self._budgets.all[partition].lent)
            self.ownership.own(partition)
            seconds = self._clock() - self._assigned_at.pop(partition)
            self.takeovers, self.takeover_seconds = self.takeovers + 1, self.takeover_seconds + seconds
            self.longest_takeover = max(self.longest_takeover, seconds)
            self._broker.read_from(partition, self.journal.positions[partition])
        if due:
            self._share()
        if self._budgets is not None and self._clock() >= self._looked + BUDGETS:
            self._looked = self._clock()
            self._look_at_budgets(self._budgets)

    def commit_if_due(self) -> None:
        """Commit what was recorded, or renew the right to start requests, if it is time."""
        now = self._clock()
        if not self.journal.positions or now < self._tried + self._interval:
            return
        if not self.journal and now >= self._asked + self._interval:
            self._asked = now
            self._tell()
        if self.journal or now >= self._tried + self._renewal:
            self.commit()

    def record(self, partition: int, outcomes: Outcomes) -> None:
        """Record outcomes, for the journal and for outputs."""
        if len(outcomes) > 0:
            part = self.parts[partition]
            records, (pages, takes_back) = part.settled(outcomes), part.pages(outcomes)
            for record in records:
                self.journal.record(partition, record)
            self.journal.page(partition, pages, takes_back)

    def commit(self, *, is_last: bool = False) -> None:
        """Commit what was recorded; what cannot be committed is dropped with its partitions.

        is_last: nothing may follow what was recorded.
        """
        for _ in range(TRIES):
            self._tried = self._clock()
            if not is_last:
                self._tell()
                self._link()
            if is_due := self._tried >= self._told_at + STATUS:
                self._told_at = self._tried
            transaction = self.journal.transaction(self._newly_released() if is_due else ())
            if not transaction:
                return
            transaction.released = {partition: self._released(partition) for partition in transaction.read}
            statuses = self._new_statuses(is_due)
            transaction.status = {partition: status.encode() for partition, status in statuses.items()}
            try:
                ends = self._broker.commit(transaction)
            except Aborted as error:
                logger.info("a transaction is tried again: %s", error)
                if not self._is_told:
                    self._poll(0.0)
                continue
            except Fenced as error:
                logger.warning("partitions are dropped and loaded again: %s", error)
                break
            self._told.update(statuses)
            self.ownership.committed(self._tried)
            self._note(transaction, ends)
            self.journal.clear()
            self.commits += 1
            self._lane.committed()
            self._save_if_due()
            return
        self._is_out = True
        self.lost()

    def assigned(self, partitions: Collection[int]) -> None:
        """Load partitions that are this member's."""
        for partition in partitions:
            self.ownership.assign(partition)
            self._assigned_at[partition] = self._clock()
            self._loader.begin(partition)

    def revoked(self, partitions: Collection[int]) -> None:
        """Give partitions back: nothing of them is in flight, and their journals say so, once this returns."""
        self._is_told = True
        try:
            self._give_back(partitions)
        except Exception as error:
            # What is raised within a poll may not arrive where it was called; and others have the partitions soon.
            self._error = error
            self.lost()
        finally:
            self._drop(partitions)
            self._is_told = False

    def _give_back(self, partitions: Collection[int]) -> None:
        """End what is in flight of partitions, and commit that nothing of them is."""
        leaving = self.ownership.leave(partitions)
        self._share()
        self._lane.withdraw(leaving)
        self._lane.settle(leaving)
        still = [partition for partition in leaving if self.ownership.state(partition) is State.LEAVING]
        for partition in still:
            self.record(partition, self.parts[partition].doubt())
        if self.journal:
            self.commit()
        # With the last record, all that is before it is released: outputs do not wait for the next owner.
        still = [partition for partition in still if self.ownership.state(partition) is State.LEAVING]
        for partition in still:
            self._releases[partition].end()
            self.journal.record(partition, GIVEN_BACK)
        if still:
            self.commit(is_last=True)

    def lost(self) -> None:
        """Drop all partitions: others may own them already, or an error has left them half changed."""
        self.losses += 1
        try:
            self._lane.cancel()
        finally:
            self._drop(self.ownership.assigned())

    @contextlib.contextmanager
    def dropping(self) -> Iterator[None]:
        """Drop all partitions when an error ends the block: nothing that is half recorded is committed."""
        try:
            yield
        except GeneratorExit:
            raise  # who iterates has left; each batch is whole then
        except BaseException:
            self.lost()
            raise

    def _poll(self, within: float) -> None:
        """Poll, and accept the links that have come."""
        try:
            messages = self._broker.poll(self, within)
        except Fenced as error:
            logger.warning("partitions are dropped and loaded again: %s", error)
            self._is_out = True
            self.lost()
            return
        if self._error is not None:
            raise self._error
        for message in messages:
            self._accept(message)

    def _accept(self, message: Message) -> None:
        """Accept links for a partition, if it is still owned."""
        partition = message.partition
        # What was on its way when the partition moved may come again.
        if (
            self.ownership.state(partition) is not State.OWNED
            or message.position <= self.journal.positions[partition]
        ):
            return
        if not message.data:
            self.journal.positions[partition] = message.position
        else:
            try:
                self.journal.record(partition, self._accepted(partition, message.data))
            except UNREADABLE as error:
                self._give_up(DeadLetter("links", partition, message.position, message.data, str(error)))
            self.journal.read(partition, message.position)

    def _accepted(self, partition: int, data: bytes) -> bytes:
        """Accept links, or a message about budgets; returns the record of that."""
        if self._budgets is None or not data.startswith(PREFIX):
            return self.parts[partition].accept(data)
        record = self._budgets.accept(partition, data)
        self.parts[partition].set_max_pages(self._budgets.all[partition].lent)
        return record

    def _look_at_budgets(self, budgets: Budgets) -> None:
        """Ask for pages, and give back what is not needed."""
        for partition in self.ownership.owned():
            part = self.parts[partition]
            if (record := budgets.look(partition, *part.room(), part.is_idle())) is not None:
                part.set_max_pages(budgets.all[partition].lent)
                self.journal.record(partition, record)

    def _tell(self) -> None:
        """Record what partitions tell each other of addresses."""
        for partition in self.ownership.working():
            record, messages = self.parts[partition].tell()
            if record:
                self.journal.record(partition, record)
            if messages:
                self.journal.link(partition, messages)

    def _link(self) -> None:
        """Record the links that partitions have found for others since the last commit: fewer and larger messages."""
        for partition in self.journal.recorded():
            self.journal.link(partition, self.parts[partition].outbox())

    def _send(self, partition: int, to: int, message: bytes) -> None:
        """Send a message about budgets to another partition."""
        self.journal.link(partition, [(to, message)])

    def _give_up(self, letter: DeadLetter) -> None:
        """Put a message aside that cannot be read; its partition goes on."""
        self.dead_letters += 1
        at, where = f"{letter.topic} of partition {letter.partition}", letter.position - 1
        logger.error("%s, message %d, is put to the dead letters: %s", at, where, letter.reason)
        self.journal.give_up(letter)

    def _newly_released(self) -> list[int]:
        """The partitions of which more is released than was told."""
        found, now = [], self._healthy()
        for partition in self.ownership.working():
            if partition in self.journal.taking:
                continue
            doubted = self.parts[partition].doubted_for()
            if self._releases[partition].look(now, None if doubted is None else now - doubted):
                found.append(partition)
        return found

    def _healthy(self) -> float:
        """The time without that in which nobody came by: the stages decided nothing then."""
        now = self._clock()
        self._hung += max(now - self._came_by - self._distance * LONGEST_GAP, 0.0)
        self._came_by = now
        return now - self._hung

    def _released(self, partition: int) -> Released:
        """What is released of a partition."""
        release = self._releases.get(partition)
        return self._settled[partition].released if release is None else release.now

    def _note(self, transaction: Transaction, ends: Ends) -> None:
        """Take note of what was committed."""
        for partition, released in transaction.released.items():
            if partition in self._releases:
                self._releases[partition].told = released
        for partition in transaction.journal.keys() | transaction.pages.keys():
            journal, pages = ends.journal.get(partition), ends.pages.get(partition)
            takes_back = partition in self.journal.taking
            self._releases[partition].committed(journal, pages, takes_back, self._healthy())
        self._ends.update(ends.journal)

    def _new_statuses(self, is_due: bool) -> dict[int, Status]:
        """How partitions stand that are idle or not since the last commit; all of them once in a while."""
        found = {}
        for partition in self.ownership.working():
            part, read = self.parts[partition], self.journal.positions[partition]
            is_idle = part.is_idle()
            if self._budgets is not None:
                is_idle = is_idle and not self._budgets.is_short(partition, *part.room())
            status = Status(is_idle, read, pages=self._releases[partition].pages)
            if is_due or status.differs(self._told.get(partition)):
                found[partition] = replace(status, counts=self.parts[partition].counts())
        return found

    def _take_over(self, partition: int, loaded: Loaded) -> None:
        """A partition is loaded."""
        self.parts[partition] = loaded.part
        settled = loaded.settled
        self.journal.positions[partition] = settled.read
        self._ends[partition], self._settled[partition] = settled.journal, settled
        self._saved[partition] = self._clock()
        if self._budgets is not None:
            self._budgets.all[partition] = loaded.budget
        for letter in loaded.unreadable:
            self._give_up(letter)
        if loaded.is_given_back:
            self._given_back.add(partition)
        self.ownership.loaded(partition, loaded.final, loaded.is_given_back)

    def _share(self) -> None:
        """Use the part of shared limits that the owned partitions have: the parts of all members are one at most."""
        owned = len(self.ownership.owned())
        for partition in self.ownership.owned():
            self.parts[partition].share(owned / self._partitions)

    def _save_if_due(self) -> None:
        """Begin the snapshot that is due longest, if one is: all that the parts hold is committed."""
        self._saving = {partition for partition in self._saving if not self.parts[partition].saved()}
        due = [partition for partition in self.ownership.owned() if partition not in self._saving]
        partition = min(due, key=self._saved.__getitem__, default=None)
        if partition is None or self._clock() < self._saved[partition] + self._snapshots:
            return
        self._saved[partition] = self._clock()
        if self._ends[partition] > self._kept.get(partition, 0):
            self._kept[partition] = self._ends[partition]
            beside = b"" if self._budgets is None else self._budgets.all[partition].encode()
            self.parts[partition].save(self._ends[partition], beside)
            self._saving.add(partition)

    def _drop(self, partitions: Collection[int]) -> None:
        """Forget partitions."""
        self.ownership.drop(partitions)
        for partition in partitions:
            self._loader.cancel(partition)
            self.journal.drop(partition)
            self._given_back.discard(partition)
            self._saving.discard(partition)
            for of in (
                self._assigned_at,
                self._ends,
                self._releases,
                self._settled,
                self._told,
                self._saved,
                self._kept,
            ):
                of.pop(partition, None)
            if (part := self.parts.pop(partition, None)) is not None:
                part.close()
            if self._budgets is not None:
                self._budgets.all.pop(partition, None)

    @property
    def _lane(self) -> Lane:
        """The stages that work for it."""
        assert self.lane is not None
        return self.lane
