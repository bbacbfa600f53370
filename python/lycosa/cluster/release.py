"""Up to where outputs may read the pages of a partition: rows before that are not taken back any more.

A captive portal's answers are recognized some seconds after they were recorded, and taken back then. So outputs stay
behind the pages for some seconds, and for longer behind an answer that no other one has confirmed. It does no I/O,
and is told the time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

#: How much longer outputs stay behind an answer that no other one has confirmed.
LONGER = 4

#: Seconds between two ends that are remembered.
STEP = 0.5


@dataclass(frozen=True, slots=True)
class Released:
    """What outputs may read of a partition. Committed with the positions of its links."""

    journal: int = 0  # what the journal has up to here is final
    pages: int = 0  # what the pages have up to here is
    taken: int = 0  # no message behind this position takes anything back

    def encode(self) -> str:
        """Return it as text."""
        return f"{self.journal} {self.pages} {self.taken}"

    @classmethod
    def decode(cls, text: str | None) -> Released:
        """Return that of a text; nothing is released by `None`, or by what is none."""
        try:
            journal, pages, taken = map(int, (text or "").split())
        except ValueError:
            return cls()
        return cls(journal, pages, taken)


class Release:
    """What is released of one partition, as its owner decides it."""

    def __init__(self, distance: float, before: Released, end: int, pages: int) -> None:
        """What an earlier owner has recorded is final once this one has taken back what is doubtful.

        distance: seconds for which outcomes may be taken back. before: what the earlier owner has released. end and
        pages: of journal and pages when they were loaded; what the earlier owner has taken back is before that.
        """
        self._distance = distance
        self.now = Released(before.journal, before.pages, pages)
        self.told = before
        # When journal and pages ended where, the oldest first.
        self._ends: deque[tuple[float, int, int]] = deque([(float("-inf"), end, pages)])
        self._last = (end, pages)

    @property
    def pages(self) -> int:
        """The end of the pages."""
        return self._last[1]

    def committed(self, journal: int | None, pages: int | None, takes_back: bool, now: float) -> None:
        """Journal and pages end here now. takes_back: whether what was added takes something back."""
        end, last = journal or self._last[0], pages or self._last[1]
        if takes_back:
            self.now = Released(self.now.journal, self.now.pages, last)
        if (end, last) == self._last:
            return
        if self._ends and now - self._ends[-1][0] < STEP:
            self._ends[-1] = (self._ends[-1][0], end, last)
        else:
            self._ends.append((now, end, last))
        self._last = (end, last)

    def look(self, now: float, doubted_since: float | None) -> bool:
        """Release what is old enough; returns whether something is released that was not told.

        Not to be called while something that takes outcomes back is recorded and not committed.
        doubted_since: when the first outcome was recorded that nothing has confirmed.
        """
        while self._ends:
            at, journal, pages = self._ends[0]
            is_doubted = doubted_since is not None and at + STEP >= doubted_since
            if now - at <= self._distance * (LONGER if is_doubted else 1) + STEP:
                break
            self.now = Released(journal, pages, self.now.taken)
            self._ends.popleft()
        return self.now != self.told

    def end(self) -> None:
        """Release all: what is doubtful was taken back, since the partition is given back."""
        self._ends.clear()
        self.now = Released(*self._last, self.now.taken)
