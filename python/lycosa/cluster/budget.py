"""The budget of pages of a whole job: it is lent to partitions, so that all of them together record no more.

One partition, the keeper, knows what it has lent to each. A partition that is short of pages asks it, by a message as
links are; what it lends, and what comes back from partitions that have nothing to do, are such messages as well.
They are accepted once, with the state that they lead to as a record of the partition's journal: so a budget moves
with its partition, and nothing of it is lost or there twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

#: The partition that lends.
KEEPER = 0

#: The beginning of these messages, and of records of these states: links and other records begin otherwise.
PREFIX = b"\x00budget"

#: Pages that are lent at once, at most: who is slow keeps others from no more.
MOST = 256


@dataclass(slots=True)
class Budget:
    """The budget of one partition; and what it has lent, if it is the keeper."""

    lent: int = 0  # to this partition
    loans: dict[int, int] = field(default_factory=dict)  # of the keeper: to each partition
    short: list[int] = field(default_factory=list)  # of the keeper: partitions that it had nothing for
    is_asking: bool = False  # of this partition, since its owner has it
    is_refused: bool = False
    last: int = 0  # what was lent last

    def encode(self) -> bytes:
        """Return its state as a record of the journal."""
        loans = {str(partition): pages for partition, pages in self.loans.items()}
        return PREFIX + json.dumps({"lent": self.lent, "loans": loans, "short": self.short}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Budget:
        """Return the state of such a record; raises ValueError if it is none."""
        if not data:
            return cls()
        try:
            found = json.loads(data.removeprefix(PREFIX))
            loans = {int(partition): int(pages) for partition, pages in found["loans"].items()}
            return cls(int(found["lent"]), loans, [int(one) for one in found["short"]])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no budget of a partition: {error}") from None


class Budgets:
    """The budgets of the partitions of a member."""

    def __init__(self, pages: int, send: Callable[[int, int, bytes], None]) -> None:
        """pages: of the whole job. send: sends a message from one partition to another."""
        self._pages, self._send = pages, send
        self.all: dict[int, Budget] = {}

    def is_short(self, partition: int, left: int, waiting: int) -> bool:
        """Whether a partition has something to do and may get pages for it; or pages, and nothing to do."""
        return left > 0 if waiting == 0 else left <= 0 and not self.all[partition].is_refused

    def look(self, partition: int, left: int, waiting: int, is_idle: bool) -> bytes | None:
        """Ask for pages, or give some back; returns the record of that, if there is one.

        left: pages that may still be begun. waiting: URLs. is_idle: whether nothing is in flight, and nothing waits.
        """
        budget = self.all[partition]
        if waiting > 0 and left <= budget.last // 4 and not budget.is_asking and not budget.is_refused:
            budget.is_asking = True
            self._tell(partition, KEEPER, ask=partition)
        elif is_idle and waiting == 0 and left > 0:
            budget.lent -= left
            self._tell(partition, KEEPER, back=partition, pages=left)
            return budget.encode()
        return None

    def accept(self, partition: int, message: bytes) -> bytes:
        """Accept a message for a partition; returns the record of its new state. Raises ValueError if it is none."""
        budget = self.all[partition]
        try:
            found = json.loads(message.removeprefix(PREFIX))
            if "lend" in found:
                budget.last = int(found["lend"])
                budget.lent += budget.last
                budget.is_asking = budget.is_refused = False
            elif "none" in found:
                budget.is_asking, budget.is_refused = False, True
            elif "ask" in found:
                self._lend(partition, budget, int(found["ask"]))
            else:
                budget.loans[int(found["back"])] -= int(found["pages"])
                short, budget.short = budget.short, []
                for one in short:
                    self._lend(partition, budget, one)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no message about budgets: {error}") from None
        return budget.encode()

    def _lend(self, keeper: int, budget: Budget, partition: int) -> None:
        """Lend pages to a partition, or tell it that there are none."""
        left = self._pages - sum(budget.loans.values())
        if left <= 0:
            if partition not in budget.short:
                budget.short.append(partition)
            self._tell(keeper, partition, none=True)
            return
        budget.loans.setdefault(partition, 0)
        pages = min(max(left // (2 * len(budget.loans)), 1), MOST)
        budget.loans[partition] += pages
        self._tell(keeper, partition, lend=pages)

    def _tell(self, partition: int, to: int, **what: int | bool) -> None:
        """Send a message."""
        self._send(partition, to, PREFIX + json.dumps(what).encode())
