"""Rounds of checks: whether proxies fail, or the pages by which they are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lycosa.proxies.check import Checker
from lycosa.proxies.known import Anonymity
from lycosa.proxies.pool import Pool

#: What is told once.
DOWN = "proxies: the pages of proxies.check cannot be fetched without a proxy either: proxies that work stay in use"


class Rounds:
    """Has the proxies of a pool checked.

    Failures of proxies that worked wait until the round is over: if they are more than half of it, the pages are
    fetched without a proxy first, and if that fails, no proxy leaves.
    """

    def __init__(self, pool: Pool, checker: Checker, tell: Callable[[str], None]) -> None:
        """tell: gets what is to be told once."""
        self._pool, self._checker, self._tell = pool, checker, tell
        #: Proxies that worked when their check began, in this round: names that are being checked, those that passed,
        #: and those that failed, with why.
        self._open: set[str] = set()
        self._passed = 0
        self._failed: list[tuple[str, str]] = []

    def turn(self, most: int) -> None:
        """Begin checks that are due, at most so many at once, and store the results of others."""
        # While failures wait, no proxy that works is checked, so that the round ends.
        due = self._pool.due(most - self._checker.under_way(), with_working=not self._failed)
        if due:
            self._open |= {proxy.name for proxy in due if self._pool.works(proxy.name)}
            self._checker.begin(due)
        self._checker.results(self._note)
        if not self._open:
            self._end()

    def _note(self, name: str, seconds: float | None, anonymity: Anonymity, why: str) -> None:
        """Store a result."""
        if name in self._open:
            self._open.remove(name)
            if seconds is None:
                self._failed.append((name, why))
                return
            self._passed += 1
        self._pool.checked(name, seconds, anonymity, why)

    def _end(self) -> None:
        """Judge those that failed."""
        failed, passed = self._failed, self._passed
        self._failed, self._passed = [], 0
        if len(failed) > passed and not self._checker.answers_directly():
            self._tell(DOWN)
            self._postpone(name for name, _ in failed)
            return
        for name, why in failed:
            self._pool.checked(name, None, why=why)

    def _postpone(self, names: Iterable[str]) -> None:
        """Have proxies checked again later."""
        for name in names:
            self._pool.postpone(name)
