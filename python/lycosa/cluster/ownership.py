"""Which partitions a member may start requests of, and until when. It does no I/O, and is told the time.

Guarantees, whatever is lost, late, suspended or cut off, as long as clocks run equally fast within ``DRIFT``:

1. Two members never start requests of one partition at one time. A member starts none later than ``fence`` seconds
   after its last commit began; who owns a partition next waits as long after it has read the final end of its
   journal, and only then lets the clocks of its hosts begin anew.
2. A partition that was given back needs no such wait: its last record says so.

A commit is accepted from a member of the group only. The last one of an earlier owner was therefore accepted before
the end of its journal became final, and began before that.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

#: Maximum difference in the rates of two machines' clocks; those of common machines differ by less than 0.0001.
DRIFT = 0.002


class State(Enum):
    """The states of a partition that is assigned to a member."""

    LOADING = "loading"  # its snapshot and its journal are being read
    WAITING = "waiting"  # an earlier owner may still start requests
    OWNED = "owned"
    LEAVING = "leaving"  # it is about to be given back: no request is started, those in flight are waited for


class Ownership:
    """The partitions that are assigned to a member. All changes of their states are here."""

    def __init__(self, fence: float) -> None:
        """fence: seconds after the beginning of a commit in which requests may be started."""
        self._fence = fence
        self._states: dict[int, State] = {}
        self._resume: dict[int, float] = {}  # of those that wait
        self._last = float("-inf")  # when the last commit began that succeeded

    def assign(self, partition: int) -> None:
        """A partition is this member's; it has to be loaded."""
        self._states[partition] = State.LOADING

    def loaded(self, partition: int, final: float, is_given_back: bool) -> None:
        """Its state is loaded. final: the time at which the end of its journal was known to be final.

        is_given_back: whether its last record says that its owner has given it back, or it never had one.
        """
        assert self._states[partition] is State.LOADING
        self._states[partition] = State.WAITING
        self._resume[partition] = final if is_given_back else final + self._fence * (1 + DRIFT)

    def due(self, now: float) -> list[int]:
        """Return the partitions that need not wait any more."""
        return [partition for partition, at in self._resume.items() if at <= now]

    def own(self, partition: int) -> None:
        """The clocks of its hosts have begun anew: its requests may be started."""
        del self._resume[partition]
        self._states[partition] = State.OWNED

    def leave(self, partitions: Iterable[int]) -> list[int]:
        """Start nothing more of these partitions; returns those of which something may be in flight."""
        leaving = [partition for partition in partitions if self._states.get(partition) is State.OWNED]
        self._states.update(dict.fromkeys(leaving, State.LEAVING))
        return leaving

    def drop(self, partitions: Iterable[int]) -> None:
        """These partitions are not this member's any more."""
        for partition in partitions:
            self._states.pop(partition, None)
            self._resume.pop(partition, None)

    def committed(self, began: float) -> None:
        """A commit has succeeded that began at this time."""
        self._last = max(self._last, began)

    def fence(self) -> float:
        """Return the time from which on no request may be started."""
        return self._last + self._fence

    def state(self, partition: int) -> State | None:
        """Return the state of a partition; `None`: it is not this member's."""
        return self._states.get(partition)

    def assigned(self) -> list[int]:
        """Return all partitions of this member."""
        return list(self._states)

    def working(self) -> list[int]:
        """Return the partitions of which something may be in flight."""
        return [partition for partition, state in self._states.items() if state in (State.OWNED, State.LEAVING)]

    def owned(self) -> list[int]:
        """Return the partitions that requests may be taken of."""
        return [partition for partition, state in self._states.items() if state is State.OWNED]
