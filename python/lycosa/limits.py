"""Limits of requests a second and of bytes a second, on top of politeness: `RateLimit` and `BandwidthLimit`.

They hold requests back; they never let one start earlier than the frontier does.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.middleware import LONGEST_DELAY, Middleware, Way
from lycosa.records import Request, Requests, Response, Responses

#: What has a limit of its own: the crawl, each host, each registered domain, or what a function returns (`None`: no
#: limit for this request).
By = Literal["crawl", "host", "domain"] | Callable[[Request], str | None]

#: How the key of a request is found.
KEYS: dict[str, Callable[[Request], str]] = {
    "crawl": lambda request: "",
    "host": lambda request: request.host,
    "domain": lambda request: _core.domain_of(request.url),
}

#: Keys that are remembered, by default: those whose bucket is not full.
MAX_KEYS = 1_000_000

#: Seconds between two searches for buckets that are full.
PRUNE = 1.0

#: Requests of a limit for the whole crawl that are on lease at most this many seconds before they may start.
AHEAD = 1.0

#: Bytes of a response that are expected before the first one is complete, if the burst is not less.
FIRST_BYTES = 64 << 10

#: Failures of requests that no site has received.
UNSENT = frozenset({"cancelled", "dropped", "middleware-failed"})


class Turns:
    """Token buckets by key, each stored as the time at which it is full again. Decides without a clock of its own.

    Guarantees, for amounts within ``burst`` (the tests repeat them):
    1. In any time t a key is given ``burst + rate * t`` at most.
    2. Turns of a key are in the order in which they were taken, none later than 1. needs.
    """

    def __init__(self, rate: float, burst: float, max_keys: int = MAX_KEYS) -> None:
        """rate: a second. burst: what a full bucket holds. max_keys: those beyond wait."""
        self._rate, self._burst, self._max_keys = rate, burst, max_keys
        self._full_at: dict[str, float] = {}
        self._prune_at = -math.inf

    def wait(self, key: str, amount: float, now: float) -> float:
        """Return the seconds until an amount may be taken; more than the burst needs a full bucket."""
        full_at = self._full_at.get(key)
        if full_at is None:
            return self._room(now)
        return max(full_at - (self._burst - min(amount, self._burst)) / self._rate - now, 0.0)

    def take(self, key: str, amount: float, now: float) -> None:
        """Take an amount, whether it is there or not; a negative one is given back."""
        full_at = max(self._full_at.get(key, now), now) + amount / self._rate
        if full_at > now:
            self._full_at[key] = full_at
        else:
            self._full_at.pop(key, None)

    def count(self, key: str, amount: float, within: float, now: float) -> int:
        """Return how many such amounts may be taken until some seconds from now."""
        left = (now + within - max(self._full_at.get(key, now), now)) * self._rate + self._burst
        if left < min(amount, self._burst):
            return 0
        return max(math.floor(left / amount + 1e-9), 1)

    def _room(self, now: float) -> float:
        """Return 0 if there is space for one more key, or infinity; buckets that are full are forgotten."""
        if len(self._full_at) >= self._max_keys and now >= self._prune_at:
            self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
            self._prune_at = now + PRUNE
        return 0.0 if len(self._full_at) < self._max_keys else math.inf


class _Limit(Middleware):
    """What both limits share: the key of a request, and how it is held back."""

    def __init__(self, rate: float, by: By, burst: float, max_keys: int, clock: Callable[[], float]) -> None:
        """Check the values; raises SettingError."""
        name = type(self).__name__
        for what, value in (("rate", rate), ("burst", burst)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise SettingError(f"{name} {what}", value, "a number above 0")
        if not callable(by) and by not in KEYS:
            raise SettingError(f"{name} by", by, "crawl, host, domain, or a function of a request")
        if not isinstance(max_keys, int) or max_keys < 1:
            raise SettingError(f"{name} max_keys", max_keys, "a whole number from 1")
        self._burst = float(burst)
        self._turns, self._clock, self._lock = Turns(rate, burst, max_keys), clock, threading.Lock()
        self._is_of_crawl, self._key = by == "crawl", by if callable(by) else KEYS[by]

    def free(self) -> int | None:
        """Return how many requests may start soon, if the limit is one of the whole crawl."""
        if not self._is_of_crawl:
            return None
        with self._lock:
            return self._turns.count("", self._amount(), AHEAD, self._clock())

    def _amount(self) -> float:
        """What a request takes."""
        return 1.0

    def _taken(self, request: Request, key: str, amount: float) -> None:
        """Called once a request has taken its amount."""

    def requests(self, requests: Requests, way: Way) -> Requests:
        """Let requests go on, or hold them back until their turn."""
        with self._lock:
            may_go = [self._may_go(request, way) for request in requests]
        return requests if all(may_go) else requests.select(may_go)

    def _may_go(self, request: Request, way: Way) -> bool:
        """Return whether a request goes on at once; otherwise it is delayed, or given back if that takes too long."""
        key = self._key(request)
        if key is None:
            return True
        now, amount = self._clock(), self._amount()
        wait = self._turns.wait(key, amount, now)
        if wait > LONGEST_DELAY:
            way.give_back(request, LONGEST_DELAY)
            return False
        self._turns.take(key, amount, now)
        self._taken(request, key, amount)
        if wait > 0:
            way.delay(request, wait)
        return wait <= 0


class RateLimit(_Limit):
    """Limits requests a second: of the whole crawl, of each host, of each registered domain, or by a function.

    Requests are held back, never dropped; politeness comes first and stays. One that would have to wait for more than
    a minute goes back to its host's queue. Every request counts that comes to this middleware, robots.txt does not;
    put it after a cache, whose answers then do not count.

    >>> RateLimit(0.5, by="domain")  # doctest: +SKIP
    """

    def __init__(
        self,
        rate: float,
        *,
        by: By = "crawl",
        burst: float = 1,
        max_keys: int = MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """rate: requests a second, above 0. burst: requests at once after a pause; default: 1.

        by: "crawl", "host", "domain", or a function that returns the key of a request, `None` for no limit.
        max_keys: keys that are remembered, by default a million; requests of others go back. clock: seconds. Raises
        SettingError.
        """
        super().__init__(rate, by, burst, max_keys, clock)
        if burst < 1:
            raise SettingError("RateLimit burst", burst, "a number from 1")


class BandwidthLimit(_Limit):
    """Limits bytes a second, heads and bodies as received: of the crawl, of hosts, domains, or by a function.

    The size of a response is known once it is there: a request takes what responses had on average, and the
    difference is settled afterwards, so that a large response is followed by a pause. Requests are held back as by
    `RateLimit`. Answers of a cache take nothing.

    >>> BandwidthLimit(1_000_000, by="host")  # doctest: +SKIP
    """

    def __init__(
        self,
        rate: float,
        *,
        by: By = "crawl",
        burst: float | None = None,
        max_keys: int = MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """rate: bytes a second, above 0. burst: bytes at once after a pause; default: those of one second.

        by, max_keys, clock: as of `RateLimit`. Raises SettingError.
        """
        super().__init__(rate, by, rate if burst is None else burst, max_keys, clock)
        self._mean, self._is_measured = min(float(FIRST_BYTES), self._burst), False
        #: What requests under way have taken, by lease.
        self._under_way: dict[int, tuple[str, float]] = {}

    def responses(self, responses: Responses) -> Responses:
        """Settle the difference between what was expected and what was received."""
        with self._lock:
            for response in responses:
                self._settle(response)
        return responses

    def _amount(self) -> float:
        """What a request takes: the mean of responses."""
        return self._mean

    def _taken(self, request: Request, key: str, amount: float) -> None:
        """Remember what a request has taken."""
        self._under_way[request.lease] = key, amount

    def _settle(self, response: Response) -> None:
        """Settle one difference."""
        taken = self._under_way.pop(response.request.lease, None)
        if taken is None:
            return
        key, expected = taken
        if response.error is not None:
            # How much of a failed response was received is not known; it stays with what was expected.
            if response.error in UNSENT:
                self._turns.take(key, -expected, self._clock())
            return
        size = 0 if response.source == "cache" else len(response.head) + len(response.body)
        if size:
            self._mean = self._mean + (size - self._mean) / 8 if self._is_measured else float(size)
            self._is_measured = True
        self._turns.take(key, size - expected, self._clock())
