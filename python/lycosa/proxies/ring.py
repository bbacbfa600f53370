"""The ring of proxies: which one is next for a domain (SYSTEMS.md section 5, IP proxy module)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

#: Domains whose place in the ring is remembered, and bytes of their bits; the others begin at the head again.
DOMAINS, BYTES = 100_000, 32 << 20


class Ring:
    """Proxies in the order of their quality, closed into a ring.

    Each domain begins at the head and moves on by one with each request: good proxies come first. It is given no
    proxy a second time before all others were its own once, also where the order changes meanwhile.
    """

    def __init__(self) -> None:
        """An empty ring."""
        self._order: list[str] = []
        self._place: dict[str, int] = {}
        #: A number for each proxy that was in the ring and is not forgotten, and those that are free again.
        self._numbers: dict[str, int] = {}
        self._free: list[int] = []
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """Return the number of proxies."""
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        """The names, from the head onward."""
        return iter(self._order)

    def __contains__(self, name: str) -> bool:
        """Return whether a proxy is in the ring."""
        return name in self._place

    def sort(self, names: Iterable[str]) -> None:
        """Replace the proxies by others, or by the same in another order. Each domain keeps its place."""
        self._order = list(names)
        self._place = {name: place for place, name in enumerate(self._order)}
        for name in self._order:
            if name not in self._numbers:
                self._numbers[name] = self._free.pop() if self._free else len(self._numbers)

    def forget(self, name: str) -> None:
        """Give the number of a proxy that does not come back to the next new one, which may miss one turn by that.

        So the bits of a domain are never more than there are proxies at once. It must not be in the ring.
        """
        if (number := self._numbers.pop(name, None)) is not None:
            self._free.append(number)

    def next(self, domain: str, suits: Callable[[str], bool]) -> str | None:
        """Return the next proxy for a domain that suits; `None` if none does."""
        turn = self._turns.setdefault(domain, _Turn())
        self._turns.move_to_end(domain)
        before = turn.size()
        name = self._walk(turn, suits)
        if name is None and (name := self._walk(begun := _Turn(), suits)) is not None:
            turn = self._turns[domain] = begun
        self._bytes += turn.size() - before
        while len(self._turns) > DOMAINS or (self._bytes > BYTES and len(self._turns) > 1):
            self._bytes -= self._turns.popitem(last=False)[1].size()
        return name

    def _walk(self, turn: _Turn, suits: Callable[[str], bool]) -> str | None:
        """The next proxy in a turn of the ring; `None`: those that are left do not suit."""
        count = len(self._order)
        for step in range(count):
            place = (turn.place + step) % count
            name = self._order[place]
            bit = 1 << self._numbers[name]
            if not turn.used & bit and suits(name):
                turn.place, turn.used = place + 1, turn.used | bit
                return name
        return None


@dataclass(slots=True)
class _Turn:
    """How far a domain is in its turn of the ring."""

    #: Where it goes on.
    place: int = 0
    #: A bit for each proxy that it had in this turn, by number.
    used: int = 0

    def size(self) -> int:
        """Return the bytes of the bits."""
        return self.used.bit_length() // 8
