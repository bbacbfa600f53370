"""Loads partitions that a member was assigned: the newest snapshot of each, and the journal behind it."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from lycosa.cluster.broker import Broker, DeadLetter, Settled, StateLost, Unavailable
from lycosa.cluster.budget import PREFIX, Budget
from lycosa.cluster.journal import GIVEN_BACK
from lycosa.cluster.part import Part
from lycosa.errors import JobVersionError

logger = logging.getLogger("lycosa")

#: Seconds until a partition is loaded again that could not be loaded.
AGAIN = 1.0

#: Seconds until a partition is looked at again whose state is lost.
LOST = 30.0

#: Tries of a load.
TRIES = 5

#: What is raised for a message that is damaged, or of a newer encoding.
UNREADABLE = (ValueError, JobVersionError)


@dataclass(slots=True)
class Loaded:
    """A partition that was loaded."""

    part: Part
    settled: Settled
    final: float  # when the end of its journal was known to be final
    since: int  # the position of its snapshot
    is_given_back: bool
    budget: Budget = field(default_factory=Budget)
    unreadable: list[DeadLetter] = field(default_factory=list)  # of its journal


class Load(Protocol):
    """A load that was started."""

    def done(self) -> bool:
        """Whether it has ended."""

    def result(self) -> Loaded:
        """Return its result, or raise its error."""

    def cancel(self) -> bool:
        """Do not begin it; returns whether it has not begun."""


class Loader:
    """Loads partitions beside the lane, again where that fails."""

    def __init__(
        self,
        broker: Broker,
        make: Callable[[int], Part],
        start: Callable[[Callable[[], Loaded]], Load],
        clock: Callable[[], float],
    ) -> None:
        """make: creates the empty part of a partition. start: runs a load beside the lane."""
        self._broker, self._make, self._start, self._clock = broker, make, start, clock
        self._loads: dict[int, Load] = {}
        self._overtaken: list[Load] = []  # which go on, and nobody waits for
        self._again: dict[int, float] = {}  # when partitions are loaded again

    def begin(self, partition: int) -> None:
        """Begin to load a partition."""
        self._loads[partition] = self._start(functools.partial(self._load, partition))

    def cancel(self, partition: int) -> None:
        """A partition is not needed any more."""
        self._again.pop(partition, None)
        if (load := self._loads.pop(partition, None)) is not None and not load.cancel():
            self._overtaken.append(load)

    def loaded(self) -> Iterator[tuple[int, Loaded]]:
        """Yield the partitions that are loaded since the last call; begin again with those that could not be."""
        for partition, load in list(self._loads.items()):
            if load.done():
                del self._loads[partition]
                try:
                    yield partition, load.result()
                except Unavailable as error:
                    logger.warning("partition %d is loaded again: %s", partition, error)
                    self._again[partition] = self._clock() + AGAIN
                except StateLost as error:
                    logger.error("partition %d pauses: %s", partition, error)
                    self._again[partition] = self._clock() + LOST
        for load in [load for load in self._overtaken if load.done()]:
            self._overtaken.remove(load)
            with contextlib.suppress(Exception):  # of a partition that is not this member's
                load.result().part.close()
        for partition, at in list(self._again.items()):
            if self._clock() >= at:
                del self._again[partition]
                self.begin(partition)

    def _load(self, partition: int) -> Loaded:
        """Load a partition: its newest snapshot, and the journal behind it. Beside the lane."""
        settled = self._broker.settled(partition)
        final = self._clock()
        for _ in range(TRIES):
            part = self._make(partition)
            try:
                loaded = self._replay(partition, part, settled, final)
                # An earlier owner's snapshot may be complete now, and the journal before it be removed.
                first = self._broker.first(partition)
            except BaseException:
                part.close()
                raise
            if loaded is not None and loaded.since >= first:
                return loaded
            part.close()
        text = f"no snapshot can be read, and its journal begins at {first}: bring back the directory {partition} "
        raise StateLost(text + "of the state directory, as of a backup; other partitions go on")

    def _replay(self, partition: int, part: Part, settled: Settled, final: float) -> Loaded | None:
        """Load a part's snapshot and the journal behind it; `None`: a piece of the journal between them is gone."""
        since, beside = part.load(settled.journal)
        loaded = Loaded(part, settled, final, since, settled.journal == 0, Budget.decode(beside))
        if since < self._broker.first(partition):
            return None
        for message in self._broker.journal(partition, since, settled.journal):
            loaded.is_given_back = message.data == GIVEN_BACK
            try:
                if message.data.startswith(PREFIX):
                    loaded.budget = Budget.decode(message.data)
                elif not loaded.is_given_back:
                    part.restore(message.data, message.position)
            except UNREADABLE as error:
                letter = DeadLetter("journal", partition, message.position, message.data, str(error))
                loaded.unreadable.append(letter)
        return loaded
