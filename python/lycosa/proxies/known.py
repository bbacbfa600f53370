"""What is known of one proxy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lycosa import _core
from lycosa.proxies.faults import REFUSALS
from lycosa.proxies.proxy import Proxy

#: Different domains in a row for which a proxy fails, each of which may be the cause, after which it leaves the ring;
#: or failures in a row for one domain that answers others.
FAILURES = 3

#: Seconds after which a proxy that has left is checked again; doubles each time.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3_600.0

#: Seconds for which a proxy is not used for a domain that refused it, and domains that are remembered of each.
REFUSED, DOMAINS = 600.0, 1_000

Anonymity = Literal["", "transparent", "anonymous", "elite"]


@dataclass(slots=True)
class Refusals:
    """How often a domain refused a proxy in a row, and until when the proxy is not used for it."""

    count: int = 0
    until: float = 0.0


@dataclass(slots=True)
class Streak:
    """Failures in a row of a proxy for one domain."""

    #: The number of answers of all proxies when it began.
    answers: int
    count: int = 0


@dataclass(slots=True)
class Known:
    """What is known of one proxy."""

    proxy: Proxy
    #: The addresses of its host.
    addresses: tuple[str, ...]
    #: Mean response time in seconds; `None`: never used.
    seconds: float | None = None
    anonymity: Anonymity = ""
    #: Whether it is in the ring.
    works: bool = False
    #: Whether no source names it any more: it is removed once it is idle.
    leaves: bool = False
    #: When it is checked again, by `time.monotonic`; `None`: a check is under way.
    check_at: float | None = 0.0
    pause: float = FIRST_PAUSE
    #: Domains for which it failed in a row, and how many of them eject it.
    failing: dict[str, Streak] = field(default_factory=dict)
    patience: int = FAILURES
    #: The number of answers of all proxies when it could not be connected to the last time.
    answers: int = -1
    #: Requests that came back with a response, and those that did not.
    good: int = 0
    bad: int = 0
    #: The last failure.
    why: str = ""
    #: Domains that refused it, and targets to which it refused a tunnel.
    refused: OrderedDict[str, Refusals] = field(default_factory=OrderedDict)
    #: Requests under way.
    busy: int = 0

    def recovers(self) -> None:
        """Forget failures."""
        self.failing.clear()
        self.patience, self.pause = FAILURES, FIRST_PAUSE

    def refused_until(self, domain: str, target: str = "") -> float:
        """Return the time until which it is not used for a domain. target: of a tunnel, which it may refuse."""
        both = (self.refused.get(domain), self.refused.get(target))
        return max(0.0 if refusals is None else refusals.until for refusals in both)

    def note_status(self, domain: str, status: int, now: float) -> None:
        """Store what a domain answered."""
        after = REFUSALS.get(status)
        if after is None:
            self.refused.pop(domain, None)
            return
        self.refuse(domain, now, after)

    def refuse(self, domain: str, now: float, after: int = 1) -> None:
        """Store that it cannot be used for a domain for a while, if that is told so many times in a row."""
        refusals = self.refused.setdefault(domain, Refusals())
        refusals.count += 1
        if refusals.count >= after:
            refusals.until = now + REFUSED
        self.refused.move_to_end(domain)
        if len(self.refused) > DOMAINS:
            self.refused.popitem(last=False)

    def described(self) -> Mapping[str, Any]:
        """Return it as in a report."""
        return {
            "proxy": self.proxy.name,
            "label": self.proxy.label,
            "works": self.works,
            "seconds": self.seconds,
            "anonymity": self.anonymity,
            "good": self.good,
            "failed": self.bad,
            "why": self.why,
        }


def put(proxy: Proxy, addresses: Sequence[str], table: _core.Proxies) -> None:
    """Put a proxy into the table of the fetchers. addresses: of its host."""
    table.set(
        proxy.name,
        "socks5" if proxy.scheme == "socks5h" else proxy.scheme,
        proxy.host,
        proxy.port,
        list(addresses),
        user=proxy.user,
        password=proxy.password,
        resolves=proxy.scheme != "socks5",
    )
