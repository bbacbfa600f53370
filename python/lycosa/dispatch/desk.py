"""The rules of a download server: which grants it accepts, what it owes to whom, which sites it may start. No I/O.

Guarantees:
1. A grant is accepted once, by the process that it was given for, for exactly its URLs, before it expires.
2. A result is kept until its client has confirmed it, or until the client has been silent for ``keep`` seconds.
3. Nothing is started after ``hold`` seconds without an answer of the master, nor of a site that another server owns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.dispatch.grant import Grant, read_grant
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Beat
from lycosa.records import Requests

#: What of a URL decides which download server it belongs to.
SITE = "domain"

#: Seconds by which the clocks of two machines may differ when the master's time is not known yet.
SKEW = 5.0


class Result(NamedTuple):
    """A result for a client."""

    sequence: int  # increasing; never used again by this process, so that what a client confirms stays unambiguous
    serial: int
    place: int  # of the URL within its grant, from 0
    content: bytes


@dataclass(slots=True)
class Mailbox:
    """What is owed to a client."""

    service: str
    seen: float  # when the client was heard last
    owed: int = 0  # URLs without a result yet
    results: deque[Result] = field(default_factory=deque)
    bytes: int = 0


@dataclass(slots=True)
class Submission:
    """What a client submitted with one grant."""

    client: str
    ringed: bool  # whether its sites are this server's by the ring
    left: set[int]  # indexes without a result


class Owners(NamedTuple):
    """A ring, and what it means for one download server."""

    version: int
    ring: _core.Ring | None  # None: it has no members
    members: Mapping[str, float]
    after: float  # the master's time before which sites that came with it are not started


class Desk:
    """Accepts grants and keeps results. Times are this machine's, in seconds, of a clock that never goes back."""

    def __init__(
        self,
        name: str,
        process: str,
        public: _core.VerifyingKey,
        now: float,
        *,
        wall: float,
        places: int,
        keep: float = 300.0,
        keep_bytes: int = 256 << 20,
    ) -> None:
        """public: the master's public key. places: URLs that are queued at most. wall: the wall clock's time.

        keep, keep_bytes: for how long a silent client's results are kept, and how many bytes of all.
        """
        self.name, self.process, self.places = name, process, places
        self.services: dict[str, dict[str, Any]] = {}
        self.queued = 0  # URLs accepted and without a result
        self.bytes = 0  # of results that are kept
        self.dropped = 0  # results of clients that were silent
        self._public, self._keep, self._keep_bytes = public, keep, keep_bytes
        self._mailboxes: dict[str, Mailbox] = {}
        self._spent: dict[int, float] = {}  # serial: when it expires, by the master's time
        self._submissions: dict[int, Submission] = {}  # by serial
        self._sequence = 1  # of the next result
        self._mixed = False  # whether some of what is queued may not be started
        self._accepted: list[int] = []  # since the last answered heartbeat
        self._reported = 0  # how many of them the heartbeat under way has
        self._offset, self._skew = wall - now, SKEW  # master's time − ours, and how wrong it may be
        self._heard, self._hold = float("-inf"), 0.0
        self._successes = self._failures = 0
        self._owners = Owners(0, None, {}, 0.0)
        self._before: _core.Ring | None = None  # of sites that this process has owned all the time since
        self._begun = now

    def beat(self, address: str, slots: int, speed: float) -> Beat:
        """Return the next heartbeat; one at a time is under way."""
        self._reported = len(self._accepted)
        return Beat(
            self.name,
            self.process,
            address,
            slots,
            speed,
            max(self.places - self.queued, 0),
            self._successes,
            self._failures,
            tuple(self._accepted),
            self._owners.version,
            self._owners.members,
        )

    def answered(self, answer: Mapping[str, Any], sent: float, now: float) -> None:
        """Take the master's answer to a heartbeat that was sent at a time."""
        del self._accepted[: self._reported]
        self._reported = 0
        # The master read its clock between both times.
        self._offset, self._skew = answer["now"] - (sent + now) / 2, (now - sent) / 2
        self._heard, self._hold = sent, answer["hold"]
        self.services = answer["services"]
        given = answer["ring"]
        if given["version"] != self._owners.version:
            members = dict(given["members"])
            is_next = given["version"] == self._owners.version + 1 and self.name in self._owners.members
            self._before = self._owners.ring if is_next else None
            self._mixed = self.queued > 0
            self._owners = Owners(given["version"], _core.Ring(members) if members else None, members, given["after"])
        elif given["after"] > self._owners.after:
            self._owners = self._owners._replace(after=given["after"])

    def accept(
        self, text: str, service: str, client: str, digest: str, read: Callable[[], Requests], now: float
    ) -> tuple[Grant, list[tuple[float, Requests]]]:
        """Accept what a client submits with a grant; raises Refusal, and then nothing is changed.

        service: of the client's token. digest: of the bytes that it submits. read: returns the requests in them;
        called once the grant is known to be valid. Returns the grant, and the requests, each batch with the time from
        which on it may start.
        """
        grant = read_grant(text, self._public)
        if grant.service != service or grant.client != client:
            raise Refusal("other-service", f"the grant is for {grant.client} of {grant.service}")
        if grant.server != self.name or grant.process != self.process:
            raise Refusal("other-server", f"the grant is for {grant.server}, process {grant.process}")
        if grant.serial in self._spent:
            raise Refusal("spent-serial", f"serial number {grant.serial}")
        if grant.expires <= now + self._offset - self._skew:
            raise Refusal("expired-serial", f"serial number {grant.serial}")
        if digest != grant.digest:
            raise Refusal("wrong-digest")
        if not self.may_start(now):
            raise Refusal("fenced", after=1.0)
        if grant.ring and grant.ring != self._owners.version:
            raise Refusal("ring-changed", f"granted by ring {grant.ring}; it is {self._owners.version} now")
        if self.queued + grant.urls > self.places:
            raise Refusal("no-capacity", f"{self.queued} URLs are queued; allowed: {self.places}", after=1.0)
        requests = read().ticketed(grant.serial)
        if len(requests) != grant.urls:
            raise Refusal("wrong-count", f"{len(requests)} URLs; granted: {grant.urls}")
        batches = self._due(requests) if grant.ring else [(now, requests)]
        count = grant.urls
        self._spent[grant.serial] = grant.expires + 2 * SKEW
        self._accepted.append(grant.serial)
        self._submissions[grant.serial] = Submission(client, bool(grant.ring), set(range(count)))
        self.queued += count
        mailbox = self._mailboxes.setdefault(client, Mailbox(service, now))
        mailbox.owed += count
        mailbox.seen = now
        return grant, batches

    def done(self, serial: int, index: int, content: bytes, is_success: bool) -> str | None:
        """Keep a result for its client; returns the client, `None` if nobody waits for it."""
        submission = self._submissions.get(serial)
        if submission is None or index not in submission.left:
            return None
        submission.left.remove(index)
        if not submission.left:
            del self._submissions[serial]
        self.queued -= 1
        self._mixed = self._mixed and self.queued > 0
        self._successes += is_success
        self._failures += not is_success
        mailbox = self._mailboxes.get(submission.client)
        if mailbox is None:
            self.dropped += 1
            return None
        mailbox.owed -= 1
        mailbox.results.append(Result(self._sequence, serial, index, content))
        self._sequence += 1
        mailbox.bytes += len(content)
        self.bytes += len(content)
        return submission.client

    def heard(self, client: str, now: float) -> None:
        """Note that a client is there."""
        mailbox = self._mailboxes.get(client)
        if mailbox is not None:
            mailbox.seen = now

    def results(self, client: str, service: str, after: int, max_bytes: int) -> list[Result]:
        """Return a client's next results, of about so many bytes; those up to ``after`` are confirmed and leave.

        Raises Refusal (unknown-client, other-service).
        """
        mailbox = self._mailboxes.get(client)
        if mailbox is None:
            raise Refusal("unknown-client", f"client {client}")
        if mailbox.service != service:
            raise Refusal("other-service", f"client {client}")
        while mailbox.results and mailbox.results[0].sequence <= after:
            size = len(mailbox.results.popleft().content)
            mailbox.bytes -= size
            self.bytes -= size
        found: list[Result] = []
        size = 0
        for result in mailbox.results:
            if found and size + len(result.content) > max_bytes:
                break
            found.append(result)
            size += len(result.content)
        return found

    def knows(self, client: str) -> bool:
        """Return whether anything is kept for a client."""
        return client in self._mailboxes

    def owes(self, client: str) -> int:
        """Return for how many URLs a client has no result yet, confirmed ones aside."""
        mailbox = self._mailboxes.get(client)
        return 0 if mailbox is None else mailbox.owed + len(mailbox.results)

    def finished(self) -> int:
        """Return how many downloads have ended."""
        return self._successes + self._failures

    def is_full(self) -> bool:
        """Return whether results take all the memory that they may: nothing is started then."""
        return self.bytes >= self._keep_bytes

    def drop(self, now: float) -> list[tuple[str, str, int]]:
        """Drop what belongs to silent clients; returns service, client and number of URLs, to be told."""
        silent = [client for client, mailbox in self._mailboxes.items() if mailbox.seen + self._keep < now]
        told = []
        for client in silent:
            mailbox = self._mailboxes.pop(client)
            self.bytes -= mailbox.bytes
            self.dropped += len(mailbox.results)
            told.append((mailbox.service, client, mailbox.owed + len(mailbox.results)))
            self._mixed = self._mixed or mailbox.owed > 0
        master = now + self._offset
        self._spent = {serial: until for serial, until in self._spent.items() if until > master}
        idle = [client for client, box in self._mailboxes.items() if not box.owed and not box.results]
        for client in idle:
            if self._mailboxes[client].seen + self._keep / 2 < now:
                del self._mailboxes[client]
        return told

    def may_start(self, now: float) -> bool:
        """Return whether requests may start: the master was heard of lately enough."""
        return now < self._heard + self._hold

    def _due(self, requests: Requests) -> list[tuple[float, Requests]]:
        """Return requests with the time from which on they may start.

        Raises Refusal unless this server owns all sites.
        """
        if self._owners.ring is None or set(requests.split(self._owners.ring, SITE)) != {self.name}:
            raise Refusal("ring-changed", "some of the sites are another download server's")
        after = self._owners.after - self._offset + self._skew
        if self._before is None:
            return [(after, requests)]
        parts = requests.split(self._before, SITE)
        return [(0.0 if owner == self.name else after, part) for owner, part in parts.items()]

    def sort_out(self, requests: Requests) -> tuple[Requests, Requests, Requests]:
        """Divide requests that are about to start: those that may, whose site has moved, whose client is gone.

        Neither can happen before the ring changes or a client is dropped while URLs are queued: then nothing is
        looked up.
        """
        if not self._mixed:
            return requests, Requests(), Requests()
        tickets = requests.tickets()
        ring = self._owners.ring
        parts = {} if ring is None else requests.split(ring, SITE)
        foreign = {ticket for owner, part in parts.items() if owner != self.name for ticket in part.tickets()}
        gone, moved = [], []
        for serial, index in tickets:
            submission = self._submissions.get(serial)
            is_robots = index < 0
            is_wanted = submission is not None and submission.client in self._mailboxes
            gone.append(not is_robots and not is_wanted)
            moved.append((serial, index) in foreign and submission is not None and submission.ringed and is_wanted)
        kept = [not (away or left) for away, left in zip(moved, gone, strict=True)]
        return requests.select(kept), requests.select(moved), requests.select(gone)
