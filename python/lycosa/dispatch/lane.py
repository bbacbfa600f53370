"""A lane of a download server: one service's downloads, spaced evenly, on a thread of its own.

A lane is a crawl without a log that follows nothing: the frontier keeps to robots.txt and the pauses of sites, names
come from the DNS tiers, fetch downloads. All that starts counts, robots.txt as well.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.dispatch import clock as clocks
from lycosa.dispatch.desk import Desk, Key, Sites
from lycosa.dispatch.pace import SPACING, Pace, Slots
from lycosa.dispatch.protocol import SITE
from lycosa.job import Job, make_job
from lycosa.loop import BATCH, LONGEST_WAIT
from lycosa.memory import divided, shares
from lycosa.records import Requests

#: URLs after which a lane makes room for a new one: it remembers the tickets of all, and all their hosts.
MOST_URLS = 1_000_000

#: Services among which the memory of a download server is divided at most: more are seldom busy at one time.
MOST_SHARES = 16


class Terms(NamedTuple):
    """What a lane is made for; with other robots or services, the service gets another lane."""

    robots: bool
    ringed: bool  # whether each site has one download server, by the ring
    owners: int  # download servers that may ask one site, those apart that share their clocks
    address_owners: int  # the same for one address
    services: int  # that share the memory

    @classmethod
    def of(cls, services: Mapping[str, Mapping[str, Any]], name: str, ringed: bool) -> Terms:
        """Return the terms of a service. services: their settings, by the master. ringed: as granted."""
        settings, shares = services[name], min(len(services), MOST_SHARES)
        return cls(settings["robots"], ringed, settings["owners"], settings["address_owners"], shares)


def lane_job(job: Job, terms: Terms, slots: int) -> Job:
    """Return the job of a service's lane: the download server's own, without retries, links or redirects.

    A failure is the client's to decide about; a redirect may lead to a site of another download server.
    """
    given = job.model_dump(exclude_unset=True)
    for section, changed in {
        "politeness": {"retries": 0, "robots": job.politeness.robots and terms.robots},
        "frontier": {"patience": 0, "shards": 1, "cookie_memory": 0},
        "fetch": {"slots": slots},
    }.items():
        given[section] = {**given.get(section, {}), **changed}
    given |= {"scope": "any", "max_depth": None, "max_pages": None, "seeds": []}
    return make_job(given)


class Lane:
    """One service's downloads. ``add`` and ``close`` may be called from any thread, the rest belongs to ``run``."""

    def __init__(
        self,
        service: str,
        job: Job,
        terms: Terms,
        desk: Desk,
        lock: threading.Lock,
        pace: Pace,
        slots: Slots,
        shared: _core.Shared,
        clock: _core.Clock,
        tell: Callable[[Collection[Key]], None],
    ) -> None:
        """job: of ``lane_job``. lock: of desk, pace and slots. shared: clocks of hosts, which all lanes have.

        tell: hears of clients with results.
        """
        self.service, self.terms, self._desk, self._lock, self._tell = service, terms, desk, lock, tell
        self._pace, self._slots = pace, slots
        # Of a server that alone asks a site, or an address.
        self._intervals = job.politeness.host_interval, job.politeness.address_interval
        memory = shares(job).of_lane(terms.services)
        job = divided(job, memory)
        self._most_hosts, self._added = memory.hosts // 2, 0
        self.is_used_up = False  # it has seen so many URLs, or hosts, that another lane is to go on
        self._names = _core.Names(job, clock)
        self._frontier = _core.Frontier(job, self._names, None, shared=shared)
        self._divide(terms)
        self._fetch = _core.Fetcher(job, clock, memory.fetch, memory.batch)
        self._parser = _core.Parser(job, memory.batch, memory.decoding)
        self._given: queue.SimpleQueue[tuple[float, Requests]] = queue.SimpleQueue()
        self._held: list[tuple[float, Requests]] = []
        self._sites = Sites(0, True, ())  # to which the frontier keeps
        self._is_over = self._is_retired = False

    def add(self, at: float, requests: Requests) -> None:
        """Queue requests that may start from a time on."""
        self._given.put((at, requests))

    def fits(self, terms: Terms) -> bool:
        """Return whether new requests may be added under these terms."""
        own = self.terms
        fixed = (own.robots, own.ringed, own.services)
        return not self.is_used_up and fixed == (terms.robots, terms.ringed, terms.services)

    def set_terms(self, terms: Terms) -> None:
        """Divide the rates of sites and addresses among so many servers from now on, also for what is queued."""
        if (terms.owners, terms.address_owners) != (self.terms.owners, self.terms.address_owners):
            self._divide(terms)
            self.terms = self.terms._replace(owners=terms.owners, address_owners=terms.address_owners)

    def set_fence(self, at: float, has_moved: bool) -> None:
        """Send nothing from a time on, also what has begun when this process is suspended; the lock is held.

        has_moved: sites may be other servers' now. What has begun and is not sent is not sent before it was looked at
        once more, however long this process is suspended meanwhile.
        """
        self._fetch.set_fence(at)
        if has_moved:
            self._fetch.recall()

    def _divide(self, terms: Terms) -> None:
        """Set the intervals of sites and addresses: what several servers may ask has its rate divided among them."""
        host, address = self._intervals
        self._frontier.set_intervals(host * terms.owners, address * terms.address_owners)

    def retire(self) -> None:
        """End once everything that was added has ended; nothing is added any more."""
        self._is_retired = True

    def close(self) -> None:
        """End; what is queued is forgotten, and its clients ask again."""
        self._is_over = True

    def run(self) -> None:
        """Download until ``close``, or until nothing is left of a retired lane."""
        try:
            while not self._is_over and not (self._is_retired and self._is_empty()):
                self._turn()
        finally:
            self._fetch.cancel()
            with self._lock:
                self._slots.leave(self)

    def _is_empty(self) -> bool:
        """Return whether nothing is queued or under way."""
        return self._given.empty() and not self._held and self._frontier.idle() and not self._fetch.in_flight()

    def _turn(self) -> None:
        """Start what may start, and pass on what has ended."""
        now = clocks.now()
        self._feed(now)
        wait = self._start_some(now)
        if self._fetch.in_flight():
            # New requests do not wake it.
            wait = min(wait, LONGEST_WAIT if self._fetch.free() == 0 else SPACING)
            self._finish(self._fetch.completed(BATCH, wait))
        else:
            with contextlib.suppress(queue.Empty):
                self._held.append(self._given.get(timeout=max(min(wait, LONGEST_WAIT), 0.001)))
            self._finish(_core.Responses())

    def _start_some(self, now: float) -> float:
        """Start what may start; returns the seconds to wait before more can be started."""
        desk = self._desk
        with self._lock:
            may_start = desk.may_start(now) and not desk.is_full(self.service)
            allowed = self._pace.allowed(now) if may_start else 0
            wanted = min(allowed, self._fetch.free())
            room = self._slots.take(self, wanted)
            # Counted before they start: a retired lane of the service may start some, too.
            self._pace.started(room, now)
        ready, started = self._start(room) if room else (0, 0)
        with self._lock:
            self._pace.not_started(room - started)
            self._slots.has(self, self._fetch.in_flight())
            wait = self._pace.wait(clocks.now())
        if not may_start or wanted < allowed:
            return LONGEST_WAIT  # no slot is free: an outcome comes first
        if ready < room:
            return self._frontier.wait()
        # Slots that other lanes have come back without a word.
        return wait if room == wanted else SPACING

    def _feed(self, now: float) -> None:
        """Give the frontier what may start."""
        while not self._given.empty():
            self._held.append(self._given.get())
        due = [requests for at, requests in self._held if at <= now]
        if due:
            self._held = [held for held in self._held if held[0] > now]
        for requests in due:
            self._added += len(requests)
            self._frontier.add_requests(requests)
        if due:
            self.is_used_up = self._added >= MOST_URLS or self._frontier.counts()["hosts"] >= self._most_hosts

    def _start(self, most: int) -> tuple[int, int]:
        """Start requests, without those that nobody waits for any more; returns how many were ready and started."""
        self._keep_to_own()
        requests = self._frontier.take(most)
        ready = len(requests)
        if not ready:
            return 0, 0
        with self._lock:
            requests, gone = self._desk.sort_out(requests)
            has_moved = self.terms.ringed and self._desk.version() != self._sites.version
            started = 0 if has_moved else len(requests)
            if started:
                self._fetch.submit(requests)  # before sites can move: see `set_fence`
        # The frontier is told an end that says nothing about the site; what else it has settled is kept.
        ended = [each.fail("blocked", "its client is gone") for each in gone]
        if has_moved:
            ended += [each.fail("cancelled", "sites have moved") for each in requests]  # it looks at them again
        if ended:
            self._finish(_core.Responses(ended))
        return ready, started

    def _keep_to_own(self) -> None:
        """Tell the frontier which sites may be started here; clients ask again for what waits of others."""
        if not self.terms.ringed:
            return
        with self._lock:
            sites = self._desk.sites(clocks.now())
        if sites[:2] != self._sites[:2]:
            self._frontier.keep_to([(ring, SITE, self._desk.name) for ring in sites.rings])
            self._sites = sites

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
        size = sum(len(content) for _, _, _, content in results)
        with self._lock:
            clients = {self._desk.done(serial, index, content, ok) for serial, index, ok, content in results}
            self._pace.received(size, clocks.now())
        clients.discard(None)
        if clients:
            self._tell([client for client in clients if client is not None])
