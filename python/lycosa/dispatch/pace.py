"""How fast a service's requests start at a download server, and how its lanes share concurrent downloads. No I/O."""

from __future__ import annotations

from lycosa.dispatch.admission import due_by_rate
from lycosa.loop import LONGEST_WAIT

#: Seconds of the rate that may start at once: starts are spaced by at least as much, since a thread wakes no more
#: often.
SPACING = 0.01


class Pace:
    """Spaces starts evenly: requests by their number, and by the bytes that came. Times are in seconds."""

    def __init__(self) -> None:
        """Let nothing start until there is a rate."""
        self.rate = 0.0
        self.bytes_rate: float | None = None
        self._due = self._bytes_due = 0.0

    def set(self, rate: float, bytes_rate: float | None) -> None:
        """Set requests and bytes per second; `None`: as many bytes as come."""
        self.rate, self.bytes_rate = rate, bytes_rate

    def allowed(self, now: float) -> int:
        """Return how many requests may start now."""
        if self.rate <= 0 or (self.bytes_rate is not None and self._bytes_due > now):
            return 0
        burst = max(self.rate * SPACING, 1.0)
        return max(int(burst - max(self._due - now, 0.0) * self.rate + 1e-9), 0)

    def started(self, count: int, now: float) -> None:
        """Count starts."""
        if count:
            self._due, _ = due_by_rate(count, self.rate, count, self._due, now)

    def not_started(self, count: int) -> None:
        """Count starts no more that came to nothing."""
        if self.rate > 0:
            self._due -= count / self.rate

    def received(self, size: int, now: float) -> None:
        """Count bytes."""
        if self.bytes_rate is not None and size:
            self._bytes_due = max(self._bytes_due, now) + size / self.bytes_rate

    def wait(self, now: float) -> float:
        """Return the seconds until one more may start."""
        if self.rate <= 0:
            return LONGEST_WAIT
        by_number = self._due - now - (max(self.rate * SPACING, 1.0) - 1) / self.rate
        by_bytes = self._bytes_due - now if self.bytes_rate is not None else 0.0
        return min(max(by_number, by_bytes, 0.0), LONGEST_WAIT)


class Slots:
    """Concurrent downloads that lanes share: each may have its part, and more while no other lane wants them."""

    def __init__(self, total: int) -> None:
        """total: downloads at a time."""
        self._total = total
        self._used: dict[object, int] = {}
        self._wanting: set[object] = set()

    def take(self, lane: object, wanted: int) -> int:
        """Return how many more downloads a lane may start, which are its own until ``has``."""
        used = self._used.get(lane, 0)
        room = min(wanted, self._total - sum(self._used.values()))
        if self._wanting - {lane}:
            part = self._total // len(self._wanting | {one for one, count in self._used.items() if count} | {lane})
            room = min(room, max(part, 1) - used)
        room = max(room, 0)
        if room < wanted:
            self._wanting.add(lane)
        else:
            self._wanting.discard(lane)
        self._used[lane] = used + room
        return room

    def has(self, lane: object, count: int) -> None:
        """Note how many downloads of a lane are under way."""
        self._used[lane] = count

    def leave(self, lane: object) -> None:
        """Forget a lane that has ended."""
        self._used.pop(lane, None)
        self._wanting.discard(lane)
