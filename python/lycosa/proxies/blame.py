"""Whether failures are enough to take a proxy out of the ring: what others had from the same sites tells."""

from __future__ import annotations

from collections import OrderedDict

from lycosa.proxies.faults import Fault
from lycosa.proxies.known import FAILURES, Known, Streak

#: Domains of which the last answer is remembered.
ANSWERED = 100_000


class Blame:
    """Compares the failures of each proxy with the answers that all had."""

    def __init__(self) -> None:
        """No answer yet."""
        #: Answers that came through any proxy, and which of them was the last of each domain.
        self._answers = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    def answered(self, domain: str) -> None:
        """Count an answer of a domain."""
        self._answers += 1
        self._last[domain] = self._answers
        self._last.move_to_end(domain)
        if len(self._last) > ANSWERED:
            self._last.popitem(last=False)

    def is_enough(self, known: Known, fault: Fault, domain: str) -> bool:
        """Count a failure of a proxy for a domain; returns whether it is one too many."""
        if fault == "own":
            return True
        if fault == "network":
            # If nobody had an answer since the last time, it is the network of this machine.
            is_ours, known.answers = known.answers in (-1, self._answers), self._answers
            if is_ours:
                return False
        if not known.works:
            return False
        streak = known.failing.setdefault(domain, Streak(self._answers))
        if fault != "refused":  # for a while the domain gets other proxies anyway
            streak.count += 1
        # The proxy's own answers end the streak: these are of others.
        others_answer = self._last.get(domain, 0) > streak.answers
        return (streak.count >= FAILURES and others_answer) or len(known.failing) >= known.patience
