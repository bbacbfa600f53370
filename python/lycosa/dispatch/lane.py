"""A lane of a download server: one service's downloads, spaced evenly, on a thread of its own.

A lane is a crawl without a log that follows nothing: the frontier keeps to robots.txt and the pauses of sites, names
come from the DNS tiers, fetch downloads. All that starts counts, robots.txt as well.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from lycosa import _core
from lycosa.dispatch.admission import due_by_rate
from lycosa.dispatch.desk import Desk, Key
from lycosa.job import Job, make_job
from lycosa.loop import BATCH, LONGEST_WAIT
from lycosa.memory import shares
from lycosa.records import Requests

#: Seconds of the rate that may start at once: starts are spaced by at least as much, since a thread wakes no more
#: often.
SPACING = 0.01

#: What the client of a moved request is told: it asks again.
MOVED = "the site belongs to another download server now"


class Pace:
    """Spaces starts evenly: requests by their number, and by the bytes that came. Times are in seconds."""

    def __init__(self) -> None:
        """Let nothing start until there is a rate."""
        self.rate = 0.0
        self.bytes_rate: float | None = None
        self._due = self._bytes_due = 0.0

    def set(self, rate: float, bytes_rate: float | None) -> None:
        """Set requests and bytes per second; `None`: as many bytes as come."""
        self.rate, self.bytes_rate = rate, bytes_rate

    def allowed(self, now: float) -> int:
        """Return how many requests may start now."""
        if self.rate <= 0 or (self.bytes_rate is not None and self._bytes_due > now):
            return 0
        burst = max(self.rate * SPACING, 1.0)
        return max(int(burst - max(self._due - now, 0.0) * self.rate + 1e-9), 0)

    def started(self, count: int, now: float) -> None:
        """Count starts."""
        if count:
            self._due, _ = due_by_rate(count, self.rate, count, self._due, now)

    def received(self, size: int, now: float) -> None:
        """Count bytes."""
        if self.bytes_rate is not None and size:
            self._bytes_due = max(self._bytes_due, now) + size / self.bytes_rate

    def wait(self, now: float) -> float:
        """Return the seconds until one more may start."""
        if self.rate <= 0:
            return LONGEST_WAIT
        by_number = self._due - now - (max(self.rate * SPACING, 1.0) - 1) / self.rate
        by_bytes = self._bytes_due - now if self.bytes_rate is not None else 0.0
        return min(max(by_number, by_bytes, 0.0), LONGEST_WAIT)


def lane_job(job: Job, settings: Mapping[str, Any], slots: int) -> Job:
    """Return the job of a service's lane: the download server's own, without retries, links or redirects.

    settings: of the service, by the master. A failure is the client's to decide about; a redirect may lead to a site
    of another download server.
    """
    given = job.model_dump(exclude_unset=True)
    for section, changed in {
        "politeness": {"retries": 0, "robots": job.politeness.robots and settings["robots"]},
        "frontier": {"patience": 0, "shards": 1, "cookie_memory": 0},
        "fetch": {"slots": slots},
    }.items():
        given[section] = {**given.get(section, {}), **changed}
    # A site that several download servers may ask has its rate divided among them.
    owners = max(int(settings["owners"]), 1)
    given["politeness"]["host_interval"] = job.politeness.host_interval * owners
    given["politeness"]["address_interval"] = job.politeness.address_interval * owners
    given |= {"scope": "any", "max_depth": None, "max_pages": None, "seeds": []}
    return make_job(given)


class Lane:
    """One service's downloads. ``add`` and ``close`` may be called from any thread, the rest belongs to ``run``."""

    def __init__(
        self,
        service: str,
        job: Job,
        desk: Desk,
        lock: threading.Lock,
        shared: _core.Shared | None,
        clock: _core.Clock,
        tell: Callable[[Collection[Key]], None],
    ) -> None:
        """job: of ``lane_job``. lock: of the desk. shared: clocks of hosts. tell: hears of clients with results."""
        self.service, self._desk, self._lock, self._tell = service, desk, lock, tell
        memory = shares(job)
        self._names = _core.Names(job, clock)
        self._frontier = _core.Frontier(job, self._names, None, shared=shared)
        self._fetch = _core.Fetcher(job, clock, memory.fetch, memory.batch)
        self._parser = _core.Parser(job, memory.batch, memory.decoding)
        self._given: queue.SimpleQueue[tuple[float, Requests]] = queue.SimpleQueue()
        self._held: list[tuple[float, Requests]] = []
        self._pace = Pace()
        self._is_over = False

    def add(self, at: float, requests: Requests) -> None:
        """Queue requests that may start from a time on."""
        self._given.put((at, requests))

    def close(self) -> None:
        """End; what is queued is forgotten, and its clients ask again."""
        self._is_over = True

    def run(self) -> None:
        """Download until ``close``."""
        while not self._is_over:
            self._turn()
        self._fetch.cancel()

    def _turn(self) -> None:
        """Start what may start, and pass on what has ended."""
        now = time.monotonic()
        self._feed(now)
        with self._lock:
            settings = self._desk.services.get(self.service)
            may_start = self._desk.may_start(now) and not self._desk.is_full(self.service)
        if settings is not None:
            self._pace.set(settings["rate"], settings["bytes_per_second"])
        allowed = self._pace.allowed(now) if may_start else 0
        wait = LONGEST_WAIT
        if may_start:
            wanted = min(allowed, self._fetch.free())
            started = self._start(wanted, now) if wanted else 0
            if started < wanted:
                wait = self._frontier.wait()
            elif wanted == allowed:
                wait = self._pace.wait(time.monotonic())
            # Else no slot is free: an outcome comes first.
        if self._fetch.in_flight():
            # New requests do not wake it.
            wait = min(wait, LONGEST_WAIT if self._fetch.free() == 0 else SPACING)
            self._finish(self._fetch.completed(BATCH, wait))
        else:
            with contextlib.suppress(queue.Empty):
                self._held.append(self._given.get(timeout=max(min(wait, LONGEST_WAIT), 0.001)))
            self._finish(_core.Responses())

    def _feed(self, now: float) -> None:
        """Give the frontier what may start."""
        while not self._given.empty():
            self._held.append(self._given.get())
        due = [requests for at, requests in self._held if at <= now]
        if due:
            self._held = [held for held in self._held if held[0] > now]
        for requests in due:
            self._frontier.add_requests(requests)

    def _start(self, most: int, now: float) -> int:
        """Start requests, without those that nobody waits for here any more; returns how many were ready."""
        requests = self._frontier.take(most)
        count = len(requests)
        if not count:
            return 0
        with self._lock:
            requests, moved, gone = self._desk.sort_out(requests)
        self._pace.started(len(requests), now)
        self._fetch.submit(requests)
        refused = [*moved, *gone]
        if refused:
            # The frontier is told an end that says nothing about the site; what else it has settled is kept.
            ended = self._parser.unparsed(_core.Responses(each.fail("blocked", MOVED) for each in refused))
            outcomes = self._frontier.judge(ended)
            self._frontier.done(outcomes)
            away = set(moved.tickets())
            told = self._parser.unparsed(_core.Responses(each.fail("cancelled", MOVED) for each in moved))
            self._keep([*told.results(), *(one for one in outcomes.results() if (one[0], one[1]) not in away)])
        return count

    def _finish(self, responses: _core.Responses) -> None:
        """Judge what has ended, and keep results for their clients."""
        outcomes = self._frontier.judge(self._parser.unparsed(responses))
        if len(outcomes):
            self._frontier.done(outcomes)
            self._keep(outcomes.results())

    def _keep(self, results: list[tuple[int, int, bool, bytes]]) -> None:
        """Keep results for their clients."""
        if not results:
            return
        with self._lock:
            clients = {self._desk.done(serial, index, content, ok) for serial, index, ok, content in results}
        self._pace.received(sum(len(content) for _, _, _, content in results), time.monotonic())
        clients.discard(None)
        if clients:
            self._tell([client for client in clients if client is not None])
