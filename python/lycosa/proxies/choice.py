"""Chooses the proxy for a request: by the ring, by what a domain has kept, and by who refuses whom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Set

from lycosa.proxies.known import FAILURES, Known
from lycosa.proxies.ring import Ring

#: Domains whose kept proxy is remembered.
KEPT = 100_000


class Choice:
    """Chooses among the proxies of a pool, which locks it."""

    def __init__(self, known: Mapping[str, Known], ring: Ring, sticky: bool, concurrency: int) -> None:
        """known, ring: the pool's. sticky: a domain keeps its proxy. concurrency: requests at once through one."""
        self._known, self._ring = known, ring
        self._sticky, self._concurrency = sticky, concurrency
        self._kept: OrderedDict[str, str] = OrderedDict()

    def is_free(self, known: Known) -> bool:
        """Return whether a proxy works and may have one more request."""
        return known.works and known.busy < self._concurrency

    def choose(self, domain: str, tried: Iterable[str], now: float, target: str = "") -> str | None:
        """Return the proxy for the next request to a domain; `None`: it is to wait. target: of a tunnel to it."""
        without = set(tried)

        def is_free(name: str) -> bool:
            known = self._known.get(name)
            return known is not None and name not in without and self.is_free(known)

        def suits(name: str) -> bool:
            return is_free(name) and self._known[name].refused_until(domain, target) <= now

        def least_refused() -> str | None:
            return self._least_refused(domain, target, now, without)

        if not self._sticky:
            return self._ring.next(domain, suits) or least_refused()
        kept = self._kept_of(domain, now)
        if kept is not None and kept.proxy.name not in without and kept.refused_until(target) <= now:
            self._kept.move_to_end(domain)
            return kept.proxy.name if self.is_free(kept) else None
        name = self._least_busy(domain, suits) or least_refused()
        if name is not None and kept is None:
            self._keep(domain, name)
        return name

    def _kept_of(self, domain: str, now: float) -> Known | None:
        """The proxy that a domain keeps, as long as that works for it."""
        kept = self._known.get(self._kept.get(domain, ""))
        if kept is None or not kept.works or kept.refused_until(domain) > now:
            return None
        return None if _hangs(kept, domain) else kept

    def _least_busy(self, domain: str, suits: Callable[[str], bool]) -> str | None:
        """The proxy that has the fewest requests, of several the first in the ring; one that hangs comes last."""
        least, load = None, (True, self._concurrency)
        for name in filter(suits, self._ring):
            known = self._known[name]
            if (now := (_hangs(known, domain), known.busy)) < load:
                least, load = name, now
            if load == (False, 0):
                break
        return least

    def _least_refused(self, domain: str, target: str, now: float, without: Set[str]) -> str | None:
        """The free proxy whose pause ends first; `None` as long as a proxy is not refused, which is waited for."""
        until: dict[str, float] = {}
        for name, known in self._known.items():
            if known.works and name not in without:
                until[name] = known.refused_until(domain, target)
                if until[name] <= now:
                    return None
        free = (name for name in until if self.is_free(self._known[name]))
        return min(free, key=until.__getitem__, default=None)

    def _keep(self, domain: str, name: str) -> None:
        """Remember the proxy of a domain."""
        self._kept[domain] = name
        self._kept.move_to_end(domain)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)


def _hangs(known: Known, domain: str) -> bool:
    """Whether a proxy failed so often in a row for a domain that another one is to show whose failure that is."""
    streak = known.failing.get(domain)
    return streak is not None and streak.count >= FAILURES
