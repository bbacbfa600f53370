"""The pool of proxies: which of them are in the ring, and when each is checked again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from lycosa import _core
from lycosa.proxies.blame import Blame
from lycosa.proxies.choice import Choice
from lycosa.proxies.faults import Fault
from lycosa.proxies.known import FAILURES, FIRST_PAUSE, LONGEST_PAUSE, Anonymity, Known, put
from lycosa.proxies.proxy import MOST, Proxy
from lycosa.proxies.ring import Ring

#: Share of the newest response time in the mean by which the ring is sorted.
NEWEST = 0.2

#: Seconds between two sortings, for each proxy above a hundred: a tenth of the time goes into sorting, at most.
SORTED = 1e-5


class Pool:
    """All proxies of a crawl. May be used from any thread."""

    def __init__(
        self,
        *,
        recheck: float = 600.0,
        sticky: bool = False,
        concurrency: int = 8,
        order: Sequence[str] = (),
        is_checked: bool = True,
        allowed: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """An empty pool.

        allowed: private networks in which proxies may be.

        recheck: seconds between two checks of a proxy that works. sticky: a domain keeps its proxy as long as that
        works. concurrency: requests at once through one proxy. order: labels, the preferred one first.
        is_checked: whether proxies have to pass a check before they are used.
        """
        self.table = _core.Proxies(list(allowed))
        self._recheck = recheck
        self._order = {label: place for place, label in enumerate(order)}
        self._is_checked, self._clock = is_checked, clock
        self._known: dict[str, Known] = {}
        self._ring = Ring()
        self._choice = Choice(self._known, self._ring, sticky, concurrency)
        #: Whether the ring is to be sorted, and when it was. Those that left meanwhile are passed over.
        self._is_changed, self._sorted_at = False, float("-inf")
        #: Proxies in the ring, and those of them that may have one more request.
        self._working = self._free = 0
        #: Grows whenever a request that waits may find a proxy.
        self._changes = 0
        self._blame = Blame()
        self._lock = threading.Lock()

    def add(self, proxy: Proxy, addresses: Iterable[str]) -> bool:
        """Add a proxy, or take over what has changed of a known one; returns whether there was room.

        addresses: of its host.
        """
        addresses = tuple(addresses)
        with self._lock:
            known = self._known.get(proxy.name)
            if known is None and len(self._known) >= MOST:
                return False
            if known is None or (known.proxy, known.addresses) != (proxy, addresses):
                put(proxy, addresses, self.table)
                if known is None:
                    known = self._known[proxy.name] = Known(proxy, addresses)
                    if not self._is_checked:
                        self._join(known)
                elif not known.works and (known.check_at is not None or known.leaves):
                    known.check_at, known.pause = self._clock(), FIRST_PAUSE  # its password may be right now
                known.proxy, known.addresses, self._is_changed = proxy, addresses, True
            elif known.leaves:
                known.check_at = self._clock()
            known.leaves = False
            return True

    def keep(self, names: Collection[str]) -> None:
        """Remove all proxies but these, each once it is idle."""
        with self._lock:
            gone = [known for name, known in self._known.items() if name not in names and not known.leaves]
            for known in gone:
                known.leaves = True
                self._out(known)
            if gone:
                self._sort()
            for known in gone:
                self._remove_idle(known)

    def _remove_idle(self, known: Known) -> None:
        """Forget a proxy that leaves, if no request is under way through it."""
        if known.leaves and not known.busy:
            name = known.proxy.name
            del self._known[name]
            self.table.remove(name)
            self._ring.forget(name)

    def take(self, domain: str, tried: Iterable[str] = (), target: str = "") -> str | None:
        """Return the proxy for the next request to a domain; `None`: none is free now. `release` gives it back.

        target: of a tunnel. If a domain refuses all proxies, it gets the one whose pause ends first.
        """
        now = self._clock()
        with self._lock:
            self._sort_if_due(now)
            name = self._choice.choose(domain, tried, now, target) if self._free else None
            if name is not None:
                self._move(self._known[name], busy=1)
            return name

    def changes(self) -> int:
        """Return a number that has grown when a request for which none was free may find one."""
        with self._lock:
            self._sort_if_due(self._clock())
            return self._changes

    def has_another(self, tried: Iterable[str]) -> bool:
        """Return whether a proxy is in the ring that is none of these."""
        with self._lock:
            return self._working > sum(name in self._known and self._known[name].works for name in set(tried))

    def use(self, name: str) -> None:
        """Store that a request goes through a proxy that somebody else has chosen. `release` gives it back."""
        with self._lock:
            if name in self._known:
                self._move(self._known[name], busy=1)

    def succeeded(self, name: str, seconds: float, domain: str = "") -> None:
        """Store that a request through a proxy to a domain had a response, after so many seconds."""
        with self._lock:
            known = self._known.get(name)
            if known is None:
                return
            self._blame.answered(domain)
            known.good += 1
            known.recovers()
            known.seconds = seconds if known.seconds is None else known.seconds + NEWEST * (seconds - known.seconds)

    def answered(self, name: str, domain: str, status: int) -> None:
        """Store the status of a page of a domain: a proxy that it refuses is not used for it for a while."""
        with self._lock:
            if name in self._known:
                self._known[name].note_status(domain, status, self._clock())

    def failed(self, name: str, why: str, fault: Fault, domain: str = "", target: str = "") -> None:
        """Store that a request through a proxy to a domain failed, and whose failure that may be; as in `take`."""
        with self._lock:
            known = self._known.get(name)
            if known is None:
                return
            known.bad, known.why = known.bad + 1, why
            if fault == "refused":
                known.refuse(target or domain, self._clock())
            if self._blame.is_enough(known, fault, domain) and known.works:
                self._leave(known)

    def release(self, name: str) -> None:
        """Store that a request through a proxy has ended."""
        with self._lock:
            if (known := self._known.get(name)) is not None:
                self._move(known, busy=-1)
                self._changes += 1
                self._remove_idle(known)

    def due(self, most: int, with_working: bool = True) -> list[Proxy]:
        """Return proxies that are to be checked now, at most so many; each until `checked`.

        with_working: also those in the ring.
        """
        now = self._clock()
        with self._lock:
            known_ones = (known for known in self._known.values() if with_working or not known.works)
            due = [
                known
                for known in known_ones
                if known.check_at is not None and known.check_at <= now and not known.leaves
            ]
            due.sort(key=lambda known: known.check_at or 0.0)
            for known in due[:most]:
                known.check_at = None
            return [known.proxy for known in due[:most]]

    def checked(self, name: str, seconds: float | None, anonymity: Anonymity = "", why: str = "") -> None:
        """Store the result of a check: the response time in seconds, or `None` and why it failed."""
        with self._lock:
            known = self._known.get(name)
            if known is None or known.leaves:
                return
            if seconds is None:
                known.why = why
                self._leave(known)
                return
            known.recovers()
            known.seconds, known.anonymity = seconds, anonymity or known.anonymity
            self._join(known)

    def postpone(self, name: str) -> None:
        """Store that a check says nothing: it is repeated after a while, and nothing changes before."""
        with self._lock:
            if name in self._known:
                self._known[name].check_at = self._clock() + FIRST_PAUSE

    def give_another_chance(self, name: str) -> None:
        """Take a proxy that nobody checks into the ring again: its next failure ejects it."""
        with self._lock:
            known = self._known.get(name)
            if known is not None and not known.leaves:
                known.patience = FAILURES if known.works else 1
                self._join(known)

    def __len__(self) -> int:
        """Return the number of proxies."""
        return len(self._known)

    def checked_count(self) -> int:
        """Return the number of proxies that were checked, or used."""
        with self._lock:
            return sum(known.works or bool(known.why) for known in self._known.values())

    def works(self, name: str) -> bool:
        """Return whether a proxy is in the ring."""
        with self._lock:
            return name in self._known and self._known[name].works

    def addresses(self, name: str) -> Sequence[str]:
        """Return the addresses of a proxy's host; none if it was not added."""
        with self._lock:
            return self._known[name].addresses if name in self._known else ()

    def is_unchecked(self) -> bool:
        """Return whether a proxy has not been checked for the first time."""
        with self._lock:
            return any(not (known.works or known.why or known.leaves) for known in self._known.values())

    def last_failures(self) -> str:
        """Return the number of proxies, and why some do not work."""
        with self._lock:
            whys = [f"{name}: {known.why}" for name, known in self._known.items() if known.why][:3]
            return f"{len(self._known):,} ({'; '.join(whys)})" if whys else "0"

    def working(self) -> int:
        """Return the number of proxies in the ring."""
        return self._working

    def report(self) -> list[Mapping[str, Any]]:
        """Return what is known of each proxy, those in the ring first."""
        with self._lock:
            self._sort()
            others = [name for name, known in self._known.items() if not known.works]
            return [self._known[name].described() for name in [*self._ring, *others]]

    def _move(self, known: Known, *, busy: int = 0, works: bool | None = None) -> None:
        """Change how many requests a proxy has, or whether it works: the only place, so that the sums are right."""
        self._working, self._free = self._working - known.works, self._free - self._choice.is_free(known)
        known.busy = max(known.busy + busy, 0)
        known.works = known.works if works is None else works
        self._working, self._free = self._working + known.works, self._free + self._choice.is_free(known)

    def _join(self, known: Known) -> None:
        """Take a proxy into the ring until its next check."""
        self._move(known, works=True)
        known.check_at, self._is_changed = self._clock() + self._recheck, True

    def _out(self, known: Known) -> None:
        """Take a proxy out of the ring."""
        self._move(known, works=False)
        self._is_changed = True
        known.failing.clear()

    def _leave(self, known: Known) -> None:
        """Take a proxy out of the ring until a check succeeds."""
        self._out(known)
        known.check_at = self._clock() + known.pause
        known.pause = min(known.pause * 2, LONGEST_PAUSE)

    def _sort_if_due(self, now: float) -> None:
        """Sort the ring if it has changed, but not too often."""
        if self._is_changed and now - self._sorted_at >= max(len(self._known) - 100, 0) * SORTED:
            self._sort()

    def _sort(self) -> None:
        """Sort the ring: by label, then by response time."""
        last = len(self._order)

        def place(name: str) -> tuple[int, float]:
            known = self._known[name]
            return self._order.get(known.proxy.label, last), known.seconds or 0.0

        self._ring.sort(sorted((name for name, known in self._known.items() if known.works), key=place))
        self._is_changed, self._sorted_at = False, self._clock()
        self._changes += 1
