"""Several frontiers of one crawl: each owns some hosts, and all are views of one log.

A lane's loop uses its own :class:`Shard`. What concerns the whole crawl uses :class:`Shards`. A link that another
shard owns is passed to it before the outcome with the link counts as confirmed, so that no snapshot misses it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from lycosa import _core
from lycosa._core import Entries, Ring
from lycosa.records import Outcomes, Requests


class Gate:
    """Keeps lanes out of their critical section while the whole crawl is looked at. For any thread.

    The section is from the judgement of outcomes until their links are with their owners.
    """

    def __init__(self) -> None:
        """No lane is inside."""
        self._changed = threading.Condition()
        self._inside, self._closed, self._passed = 0, 0, 0
        self.is_broken = False  # whether an error ended a section: the log has what a frontier lacks

    def enter(self) -> None:
        """Begin a section; waits while the gate is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1

    def leave(self) -> None:
        """End it."""
        with self._changed:
            self._inside -= 1
            self._passed += 1
            self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[bool]:
        """Wait until no lane is inside, and let none in; yields whether the frontiers have the whole log."""
        with self._changed:
            self._closed += 1
        # An interrupt while it waits opens it again, too.
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._inside)
            yield not self.is_broken
        finally:
            with self._changed:
                self._closed -= 1
                self._changed.notify_all()

    def holds(self, look: Callable[[], bool]) -> bool:
        """Whether something is true that no lane has changed while it was looked at."""
        with self._changed:
            before, is_inside = self._passed, self._inside > 0
        if is_inside or not look():
            return False
        with self._changed:
            return self._passed == before and not self._inside


class Shard:
    """The frontier of one lane, as its loop sees it."""

    def __init__(self, name: str, shards: Shards) -> None:
        """name: on the ring."""
        self._own, self._shards, self._gate = shards.by_name[name], shards, shards.gate
        self._is_inside = False

    def __getattr__(self, name: str) -> Any:
        """What concerns this shard alone is done by its frontier."""
        return getattr(self._own, name)

    def idle(self) -> bool:
        """Whether all shards have ended: another one may still find a link of this one's."""
        return self._own.idle() and self._shards.idle()

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Decide which outcomes are their URL's last; the section begins here."""
        self._gate.enter()
        self._is_inside = True
        judged = self._own.judge(outcomes)
        if len(judged) == 0:
            self._leave()
        return judged

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes, and give their links to the shards that own them."""
        self._own.done(outcomes)
        self._shards.deliver(self._own)
        self._leave()

    def leave(self) -> None:
        """End the section of a lane that an error ended inside it: the log may have a part of its outcomes."""
        if self._is_inside:
            self._gate.is_broken = True
            self._leave()

    def _leave(self) -> None:
        """End the section."""
        self._is_inside = False
        self._gate.leave()


class Shards:
    """All shards of a crawl as one frontier: see ``lycosa.stages.Frontier``."""

    def __init__(self, shards: dict[str, _core.Frontier], ring: Ring | None, by: str) -> None:
        """shards: by their names on the ring; one shard needs no ring. by: what of a URL the ring looks at."""
        self.by_name, self.gate = shards, Gate()
        self._ring, self._by = ring, by
        self._all = list(shards.values())
        self.one = self._all[0] if ring is None else None
        self._saving: _core.Saving | None = None

    def deliver(self, shard: _core.Frontier) -> None:
        """Give a shard's links to the shards that own them."""
        for owner, links in shard.take_outbox().items():
            self.by_name[owner].add_requests(links)
        shard.outbox_delivered()

    def add(self, seeds: list[str]) -> int:
        """Accept seeds: their scope is everybody's, they wait with their owner."""
        return sum(shard.add(seeds) for shard in self._all)

    def add_requests(self, requests: Requests) -> int:
        """Accept requests."""
        return sum(shard.add_requests(requests) for shard in self._all)

    def idle(self) -> bool:
        """Whether the crawl has ended."""
        return self.gate.holds(lambda: all(shard.idle() for shard in self._all))

    def only_failing(self) -> bool:
        """Whether nothing but failing hosts is left."""
        return all(shard.only_failing() or shard.idle() for shard in self._all)

    def counts(self) -> dict[str, int]:
        """The sums of all shards; until the next host is due, the least."""
        every = [shard.counts() for shard in self._all]
        total = {name: sum(counts[name] for counts in every) for name in every[0]}
        return {**total, "next_turn_us": min(counts["next_turn_us"] for counts in every)}

    def suspensions(self) -> list[dict[str, Any]]:
        """Why the crawl is suspended: each cause once, since when it is longest."""
        found: dict[str, dict[str, Any]] = {}
        for one in sorted((one for shard in self._all for one in shard.suspensions()), key=lambda one: one["since"]):
            found.setdefault(one["cause"], one)
        return list(found.values())

    def failing(self, max: int) -> list[tuple[str, str, int, float]]:
        """Hosts that fail and that something waits for, those that are given up last first."""
        every = [host for shard in self._all for host in shard.failing(max)]
        return sorted(every, key=lambda host: -host[3])[:max]

    def oldest(self) -> tuple[str, float] | None:
        """The URL that is out longest, and for how many seconds."""
        every = [one for shard in self._all if (one := shard.oldest()) is not None]
        return max(every, key=lambda one: one[1], default=None)

    def slowed(self) -> list[tuple[str, float, float]]:
        """Hosts that are asked more slowly since the last call."""
        return [host for shard in self._all for host in shard.slowed()]

    def wait(self) -> float:
        """The shortest wait of a shard."""
        return min(shard.wait() for shard in self._all)

    def due(self) -> float | None:
        """In how many seconds a shard has something to take."""
        return min((due for shard in self._all if (due := shard.due()) is not None), default=None)

    def snapshots(self) -> list[int]:
        """Positions at which every shard has a snapshot."""
        positions = [set(shard.snapshots()) for shard in self._all]
        return sorted(set.intersection(*positions))

    def save(self, position: int, views: bytes) -> None:
        """Begin a snapshot of all shards at one position. The gate is closed by the caller."""
        self._saving = _core.save_shards(self._all, position, views)

    def saved(self) -> int | None:
        """The size of the snapshot that was begun last, once it is complete."""
        return 0 if self._saving is None else self._saving.saved()

    def load(self, position: int) -> bytes:
        """Become what the snapshots of a position hold."""
        views = [shard.load(position) for shard in self._all]
        return views[0]  # the log's, the same for each

    def clear(self) -> None:
        """Become empty."""
        for shard in self._all:
            shard.clear()

    def restore(self, entries: Entries) -> None:
        """Apply what the log has recorded."""
        _core.restore_shards(self._all, entries)

    def restored(self, unreadable: list[int]) -> None:
        """End the restoring, and remove snapshots that could not be loaded."""
        for shard in self._all:
            shard.restored(unreadable)
        for shard in self._all:
            self.deliver(shard)

    def settled_of(self, requests: Requests) -> Requests:
        """Those of some requests that are known and settled."""
        parts = ((self.by_name[name], Requests(part)) for name, part in self._parted(requests))
        return Requests([request for shard, part in parts for request in shard.settled_of(part)])

    def reopen(self, outcomes: Outcomes) -> Outcomes:
        """Let settled URLs wait again; return the outcomes of those that are known."""
        parts = [self.by_name[name].reopen(Outcomes(part)) for name, part in self._parted(outcomes)]
        return _core.join_outcomes(parts)

    def doubted_since(self) -> float | None:
        """Since when outcomes may be a captive portal's."""
        return min((since for shard in self._all if (since := shard.doubted_since()) is not None), default=None)

    def doubt_held(self) -> Outcomes:
        """Take back what a captive portal may have answered, at the end of the process."""
        return _core.join_outcomes([shard.doubt_held() for shard in self._all])

    def doubt_last(self, written: int | None = None) -> Outcomes:
        """Take back what a process that died may have recorded of a captive portal."""
        return _core.join_outcomes([shard.doubt_last(written) for shard in self._all])

    def confirm_last(self) -> None:
        """Take what earlier processes recorded as the sites' own."""
        for shard in self._all:
            shard.confirm_last()

    def _parted(self, records: Iterable[Any]) -> list[tuple[str, list[Any]]]:
        """Requests or outcomes by their owners."""
        parts: dict[str, list[Any]] = {}
        for record in records:
            assert self._ring is not None
            (owner,) = self._ring.owners(_core.ring_key(record.url, self._by))
            parts.setdefault(owner, []).append(record)
        return list(parts.items())
