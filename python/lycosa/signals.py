"""Signals of a crawl: a page was fetched, a host is asked more slowly, the job pauses, it resumes.

``Crawl.on`` subscribes to them. They are sent in the thread that iterates over the crawl. Without a subscriber
nothing is looked at.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lycosa.errors import SettingError
from lycosa.records import Outcome, Outcomes

logger = logging.getLogger("lycosa")

#: Seconds between two looks at whether the job pauses, and at which hosts became slower.
LOOK = 0.1


@dataclass(frozen=True, slots=True)
class PageFetched:
    """A URL has its response: a page, a redirect, or a status such as 404. Failures are no pages."""

    url: str
    status: int
    source: str  # http/1.0, http/1.1, h2, browser, cache
    outcome: Outcome  # the whole of it


@dataclass(frozen=True, slots=True)
class HostSlowed:
    """A host is asked more slowly: it has answered with 429 or 5xx, has not answered, or has broken a connection off.

    The pause becomes shorter again as its answers are good. Addresses have a pace of their own, and no signal.
    """

    host: str
    before: float  # seconds between two requests until then
    interval: float  # seconds between two requests from now on


@dataclass(frozen=True, slots=True)
class JobPaused:
    """No page is fetched any more, for a reason that may pass by itself. Sent for each reason as it begins."""

    reason: str  # a key of ``REASONS``
    text: str  # one line for users
    since: float  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class JobResumed:
    """Nothing pauses the job any more."""

    reasons: tuple[str, ...]  # of the pause, in the order in which they began
    seconds: float  # duration of the pause, from the first of them on


Signal = TypeVar("Signal", PageFetched, HostSlowed, JobPaused, JobResumed)

#: Why a job may pause.
REASONS = {
    "names": "no DNS resolver gives answers",
    "connections": "no site answers: the crawl's own network fails",
    "captive": "every site gives the same answer, as behind a captive portal",
    "proxies": "none of the proxies works",
    "disk": "the disk of the job directory is full",
}


class Signals:
    """The subscribers of a crawl. For any thread."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._callbacks: dict[type, list[Callable[[Any], object]]] = {kind: [] for kind in KINDS}
        self._told: set[int] = set()

    def on(self, kind: type[Signal], callback: Callable[[Signal], object]) -> None:
        """Call a function with each signal of a kind. Raises SettingError for anything else."""
        if kind not in self._callbacks:
            allowed = ", ".join(each.__name__ for each in KINDS)
            raise SettingError("on", getattr(kind, "__name__", kind), f"one of lycosa.{allowed}")
        if not callable(callback):
            raise SettingError("on", callback, "a function with one argument, the signal")
        self._callbacks[kind].append(callback)

    def wanted(self, *kinds: type) -> bool:
        """Return whether somebody listens to one of some kinds."""
        return any(self._callbacks[kind] for kind in kinds)

    def send(self, signal: PageFetched | HostSlowed | JobPaused | JobResumed) -> None:
        """Call all subscribers of a signal; the first exception of each is told, and nothing ends."""
        for callback in self._callbacks[type(signal)]:
            try:
                callback(signal)
            except Exception as error:
                if id(callback) not in self._told:
                    self._told.add(id(callback))
                    name = getattr(callback, "__qualname__", type(callback).__name__)
                    text = "".join(traceback.format_exception(error))
                    logger.warning("%s, which listens to %s, raised: %s", name, type(signal).__name__, text)

    def fetched(self, batch: Outcomes) -> None:
        """Send a signal for each page of a batch, if somebody listens."""
        if not self._callbacks[PageFetched]:
            return
        for outcome in batch.last():
            if outcome.status is not None:
                self.send(PageFetched(outcome.url, outcome.status, outcome.source or "", outcome))


KINDS: tuple[type, ...] = (PageFetched, HostSlowed, JobPaused, JobResumed)


class Looks:
    """Sends signals when a job pauses and resumes and when hosts become slower, in the thread that iterates."""

    def __init__(
        self,
        signals: Signals,
        why: Callable[[], Mapping[str, float | None]],
        slowed: Callable[[], Iterable[tuple[str, float, float]]] = tuple,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """why: returns the reasons for which the job pauses now, with the time since when, if it is known.

        slowed: returns the hosts that became slower since its last call, and the interval before and now.
        """
        self._signals, self._why, self._clock = signals, why, clock
        self._slowed = slowed
        self._slowed()  # from now on
        self._thread, self._looked_at = 0, -LOOK
        #: The reasons of the pause, with those that have ended, and when each began; the reasons of the last look.
        self._all: dict[str, float] = {}
        self._now: set[str] = set()

    def look(self) -> None:
        """Look whether something has changed, ten times a second at most. For the thread that iterates."""
        self._thread = threading.get_ident()
        if not self._looked_at <= self._clock() < self._looked_at + LOOK:
            self.look_now()

    def look_now(self) -> None:
        """Look, however short ago the last look was. For the thread that iterates."""
        self._looked_at = now = self._clock()
        for host, before, interval in self._slowed():
            self._signals.send(HostSlowed(host, before, interval))
        found = self._why()
        for reason, since in found.items():
            if reason not in self._now:
                began = now if since is None else since
                self._all.setdefault(reason, began)
                self._signals.send(JobPaused(reason, REASONS.get(reason, reason), began))
        if self._now and not found:
            reasons, began = tuple(self._all), min(self._all.values())
            self._all.clear()
            self._signals.send(JobResumed(reasons, max(now - began, 0.0)))
        self._now = set(found)

    def look_while_blocked(self) -> None:
        """Look if this is the thread that iterates, which waits for something else. For any thread."""
        if threading.get_ident() == self._thread:
            self.look()
