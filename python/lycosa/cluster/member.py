"""A member of a job's group: owns partitions, and commits what happens to them.

The order of things for a partition: assigned → its snapshot and the journal behind it are loaded → an earlier owner's
requests are over → links are read and requests are taken → given back, or lost.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Protocol

from lycosa.cluster.broker import Aborted, Broker, Fenced, Message, Unavailable
from lycosa.cluster.journal import GIVEN_BACK, Journal
from lycosa.cluster.ownership import Ownership, State
from lycosa.cluster.part import Part
from lycosa.cluster.status import Status

logger = logging.getLogger("lycosa")

#: A member that has nothing to commit renews its right to start requests so many times within the fence.
RENEWALS = 3

#: Seconds after which the status of each partition is told again.
STATUS = 2.0

#: Seconds until a partition is loaded again that could not be loaded.
AGAIN = 1.0

#: Tries of a commit while the member is not allowed to poll.
TRIES = 5


@dataclass(frozen=True, slots=True)
class Loaded:
    """A partition that was loaded."""

    part: Part
    position: int  # of links
    end: int  # of its journal
    final: float  # when the end of its journal was known to be final
    is_given_back: bool


class Load(Protocol):
    """A load that was started."""

    def done(self) -> bool:
        """Whether it has ended."""

    def result(self) -> Loaded:
        """Return its result, or raise its error."""

    def cancel(self) -> object:
        """Do not begin it, if it has not begun."""


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
        make: Callable[[int], Part],
        start: Callable[[Callable[[], Loaded]], Load],
        clock: Callable[[], float],
        *,
        partitions: int,
        fence: float,
        interval: float,
        snapshots: float,
    ) -> None:
        """Own nothing yet.

        make: creates the empty part of a partition. start: runs a load beside the lane. partitions: of the job.
        fence: see ``Ownership``. interval: minimum seconds from the beginning of one commit to the next. snapshots:
        seconds between two snapshots of a partition.
        """
        self.ownership, self.journal = Ownership(fence), Journal()
        self.parts: dict[int, Part] = {}
        self._broker, self._make, self._start, self._clock = broker, make, start, clock
        self._partitions = partitions
        self._interval, self._renewal, self._snapshots = interval, fence / RENEWALS, snapshots
        self._loads: dict[int, Load] = {}
        self._again: dict[int, float] = {}  # when partitions are loaded again
        self._tried = float("-inf")  # when the last commit began
        self._is_told = False  # whether the broker is telling changes: it must not be polled
        self._is_out = False  # whether it has dropped all partitions, and is to join again
        self._ends: dict[int, int] = {}  # of journals
        self._told: dict[int, Status] = {}  # how partitions stand by what was committed
        self._told_at = float("-inf")  # when all were told
        self._given_back: set[int] = set()  # partitions that were given back by their earlier owners
        self._saved: dict[int, float] = {}  # when the last snapshot of a partition began
        self._saving: set[int] = set()  # partitions whose snapshots are being written
        self._kept: dict[int, int] = {}  # the positions of their last snapshots
        self.lane: Lane | None = None

    def look(self) -> None:
        """Take note of changes, accept links, and own what is loaded. To be called often."""
        if self._is_out:
            self._is_out = False
            self._broker.rejoin()
        self._poll(0.0)
        for partition, load in list(self._loads.items()):
            if load.done():
                del self._loads[partition]
                try:
                    self._take_over(partition, load.result())
                except Unavailable as error:
                    logger.warning("partition %d is loaded again: %s", partition, error)
                    self._again[partition] = self._clock() + AGAIN
        for partition, at in list(self._again.items()):
            if self._clock() >= at:
                del self._again[partition]
                self._begin_load(partition)
        due = self.ownership.due(self._clock())
        for partition in due:
            taken_back = self.parts[partition].restored(partition in self._given_back)
            if taken_back is not None:
                self.journal.record(partition, taken_back)
            self.ownership.own(partition)
            self._broker.read_from(partition, self.journal.positions[partition])
        if due:
            self._share()

    def commit_if_due(self) -> None:
        """Commit what was recorded, or renew the right to start requests, if it is time."""
        now = self._clock()
        if now >= self._tried + (self._interval if self.journal else self._renewal) and self.journal.positions:
            self.commit()

    def commit(self) -> None:
        """Commit what was recorded; what cannot be committed is dropped with its partitions."""
        for _ in range(TRIES):
            transaction, self._tried = self.journal.transaction(), self._clock()
            if not transaction:
                return
            statuses = self._new_statuses()
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
            self.journal.clear()
            self._told.update(statuses)
            self.ownership.committed(self._tried)
            self._ends.update(ends)
            self._lane.committed()
            self._save_if_due()
            return
        self._is_out = True
        self.lost()

    def assigned(self, partitions: Collection[int]) -> None:
        """Load partitions that are this member's."""
        for partition in partitions:
            self.ownership.assign(partition)
            self._begin_load(partition)

    def revoked(self, partitions: Collection[int]) -> None:
        """Give partitions back: nothing of them is in flight, and their journals say so, once this returns."""
        self._is_told = True
        try:
            leaving = self.ownership.leave(partitions)
            self._share()
            self._lane.withdraw(leaving)
            self._lane.settle(leaving)
            still = [partition for partition in leaving if self.ownership.state(partition) is State.LEAVING]
            for partition in still:
                if (taken_back := self.parts[partition].doubt()) is not None:
                    self.journal.record(partition, taken_back)
                self.journal.record(partition, GIVEN_BACK)
            if still:
                self.commit()
            self._drop(partitions)
        finally:
            self._is_told = False

    def lost(self) -> None:
        """Drop all partitions: others may own them already."""
        self._lane.cancel()
        self._drop(self.ownership.assigned())

    def _poll(self, within: float) -> None:
        """Poll, and accept the links that have come."""
        try:
            messages = self._broker.poll(self, within)
        except Fenced as error:
            logger.warning("partitions are dropped and loaded again: %s", error)
            self._is_out = True
            self.lost()
            return
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
            self.journal.record(partition, self.parts[partition].accept(message.data))
            self.journal.read(partition, message.position)

    def _load(self, partition: int) -> Loaded:
        """Load a partition: its newest snapshot, and the journal behind it. Beside the lane."""
        position, end = self._broker.settled(partition)
        final = self._clock()
        part = self._make(partition)
        since, is_given_back = part.load(end), end == 0
        for message in self._broker.journal(partition, since, end):
            is_given_back = message.data == GIVEN_BACK
            if not is_given_back:
                part.restore(message.data, message.position)
        return Loaded(part, position, end, final, is_given_back)

    def _new_statuses(self) -> dict[int, Status]:
        """How partitions stand that are idle or not since the last commit; all of them once in a while."""
        if is_due := self._clock() >= self._told_at + STATUS:
            self._told_at = self._clock()
        found = {}
        for partition in self.ownership.working():
            status = Status(self.parts[partition].is_idle(), self.journal.positions[partition])
            if is_due or status.differs(self._told.get(partition)):
                found[partition] = replace(status, counts=self.parts[partition].counts())
        return found

    def _begin_load(self, partition: int) -> None:
        """Load a partition beside the lane."""
        self._loads[partition] = self._start(functools.partial(self._load, partition))

    def _take_over(self, partition: int, loaded: Loaded) -> None:
        """A partition is loaded."""
        self.parts[partition] = loaded.part
        self.journal.positions[partition] = loaded.position
        self._ends[partition] = loaded.end
        self._saved[partition] = self._clock()
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
            self.parts[partition].save(self._ends[partition])
            self._saving.add(partition)

    def _drop(self, partitions: Collection[int]) -> None:
        """Forget partitions."""
        self.ownership.drop(partitions)
        for partition in partitions:
            if (load := self._loads.pop(partition, None)) is not None:
                load.cancel()
            self.journal.drop(partition)
            self._again.pop(partition, None)
            self._given_back.discard(partition)
            self._saving.discard(partition)
            for of in (self._ends, self._told, self._saved, self._kept):
                of.pop(partition, None)
            if (part := self.parts.pop(partition, None)) is not None:
                part.close()

    @property
    def _lane(self) -> Lane:
        """The stages that work for it."""
        assert self.lane is not None
        return self.lane
