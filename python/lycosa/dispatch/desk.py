"""The rules of a download server: which grants it accepts, what it owes to whom, which sites it may start. No I/O.

Guarantees:
1. A grant is accepted once, by the process that it was given for, for exactly its URLs, before it expires.
2. A result is kept until its client has confirmed it, or until the client has been silent for ``keep`` seconds.
3. Nothing is started after ``hold`` seconds without an answer of the master, nor of a site that another server owns.
"""

from __future__ import annotations

import base64
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.dispatch.grant import Grant, read_grant
from lycosa.dispatch.protocol import SITE
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Beat
from lycosa.records import Requests

#: Seconds for which spent serial numbers are remembered after they have expired: more than clocks may be wrong.
RETAINED = 120.0

#: Seconds by which the clocks of two machines may differ when the master's time is not known yet.
SKEW = 5.0

#: Bytes of a submission at most: so many, and so many for each URL that was granted, with its body and header fields.
LEAST_BYTES, BYTES_OF_URL = 65_536, 2 << 20


class Result(NamedTuple):
    """A result for a client."""

    sequence: int  # increasing; never used again by this process, so that what a client confirms stays unambiguous
    serial: int
    place: int  # of the URL within its grant, from 0
    content: bytes


#: A client: its service, and its name there.
Key = tuple[str, str]


@dataclass(slots=True)
class Mailbox:
    """What is owed to a client."""

    number: int  # new with each mailbox: a client that was silent for too long learns that what it had is gone
    seen: float  # when the client was heard last
    owed: int = 0  # URLs without a result yet
    results: deque[Result] = field(default_factory=deque)
    bytes: int = 0


@dataclass(slots=True)
class Submission:
    """What a client submitted with one grant."""

    key: Key
    mailbox: Mailbox
    size: int  # bytes
    left: set[int]  # indexes without a result


@dataclass(slots=True)
class Queue:
    """What a service has queued."""

    urls: int = 0
    bytes: int = 0


#: The members of a ring, each with its weight.
Members = tuple[tuple[str, float], ...]


class Owners(NamedTuple):
    """A ring, and what it means for one download server."""

    version: int
    ring: _core.Ring | None  # None: it has no members
    members: Members
    #: The master's time before which sites that came with it are not started, and the same by this machine's clock as
    #: it was told: another master may have another clock. Infinite: not all servers have confirmed the ring.
    after: float = math.inf
    at: float = math.inf


#: A ring without members, by which no site is anybody's.
NOTHING = _core.Ring({})

#: Different rings that follow each other and are not settled, of which a server keeps what is its own by all.
UNSETTLED = 64


class Sites(NamedTuple):
    """Which sites may be started: those that are this server's by each of the rings."""

    version: int  # of the ring
    is_settled: bool
    rings: tuple[_core.Ring, ...]


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
        queue_bytes: int = 256 << 20,
        clocks: str = "",
    ) -> None:
        """public: the master's public key. places: URLs that are queued at most. wall: the wall clock's time.

        keep, keep_bytes: for how long a silent client's results are kept, and how many bytes of all. queue_bytes: of
        what is queued. clocks: the name of the clocks of hosts and addresses; servers with the same ones keep one
        another's pauses.
        """
        self.name, self.process, self.places = name, process, places
        self._clocks = clocks or process
        self.services: dict[str, dict[str, Any]] = {}
        self.queued = self.queued_bytes = 0  # URLs accepted and without a result, and bytes of their submissions
        self.bytes = 0  # of results that are kept
        self.dropped = 0  # results of clients that were silent
        self._public, self._keep = public, keep
        self._keep_bytes, self._queue_bytes = keep_bytes, queue_bytes
        self._queues: dict[str, Queue] = {}  # by service
        self._stale = 0  # URLs of dropped clients that lanes have not come to yet
        self._mailboxes: dict[Key, Mailbox] = {}
        self._bytes: dict[str, int] = {}  # of results that are kept, by service
        self._spent: dict[int, float] = {}  # serial: when it expires, by the master's time
        self._submissions: dict[int, Submission] = {}  # by serial
        self._sequence = 1  # of the next result, or the next mailbox
        self._accepted: list[int] = []  # since the last answered heartbeat
        self._reported = 0  # how many of them the heartbeat under way has
        self._offset, self._skew = wall - now, SKEW  # master's time − ours, and how wrong it may be
        self._heard, self._hold = float("-inf"), 0.0
        self._successes = self._failures = 0
        self._owners = Owners(0, None, ())
        #: Sites that are this server's by all of these have been its own since the first; `None`: there are none.
        self._before: dict[Members, _core.Ring] | None = None

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
            dict(self._owners.members),
            self._clocks,
            {service: queue.urls for service, queue in self._queues.items()},
        )

    def answered(self, answer: Mapping[str, Any], sent: float, now: float) -> bool:
        """Take the master's answer to a heartbeat that was sent at a time; returns whether sites may have moved."""
        del self._accepted[: self._reported]
        self._reported = 0
        # The master read its clock between both times.
        self._offset, self._skew = answer["now"] - (sent + now) / 2, (now - sent) / 2
        self._heard, self._hold = sent, answer["hold"]
        if "key" in answer:  # a master that has lost its state has another one
            self._public = _core.VerifyingKey(base64.b64decode(answer["key"]))
        self.services = answer["services"]
        given = answer["ring"]
        has_moved: bool = given["version"] != self._owners.version
        if has_moved:
            self._settle(now)
            self._before = self._kept(given["version"], given["missed"])
            members = given["members"]
            self._owners = Owners(given["version"], _core.Ring(members) if members else None, _listed(members))
        if given["after"] is not None:
            self._is_used(given["after"])
        return has_moved

    def _kept(self, version: int, missed: Sequence[Mapping[str, float]]) -> dict[Members, _core.Ring] | None:
        """Return the rings of sites that stay this server's own with another ring.

        missed: the members of rings between the last one and this one. Others may have started sites by each ring
        that has not come to its time here; if one is not known, they may have started any.
        """
        if self._before is None or version != self._owners.version + 1 + len(missed):
            return None
        between = {_listed(members): _core.Ring(dict(members)) if members else NOTHING for members in missed}
        kept = {**self._before, self._owners.members: self._owners.ring or NOTHING, **between}
        return kept if len(kept) <= UNSETTLED else None

    def _is_used(self, after: float) -> None:
        """Note the time from which on sites may be started by the ring, which is used: the latest that was told."""
        if self._owners.after == math.inf or after > self._owners.after:
            self._owners = self._owners._replace(after=after, at=after - self._offset + self._skew)

    def _settle(self, now: float) -> None:
        """Take the ring's sites for this server's own once their time has come: a later ring only takes some away."""
        if self._owners.ring is not None and now >= self._owners.at:
            self._before = {self._owners.members: self._owners.ring}

    def verify(self, text: str, service: str, client: str, digest: str, size: int, now: float) -> Grant:
        """Return the grant of a text if the client may submit so many bytes with it now; raises Refusal.

        service: of the client's token. digest: of the bytes that it submits.
        """
        grant = read_grant(text, self._public)
        if grant.service != service or grant.client != client:
            raise Refusal("other-service", f"the grant is for {grant.client} of {grant.service}")
        if digest != grant.digest:
            raise Refusal("wrong-digest")
        if size > (most := LEAST_BYTES + grant.urls * BYTES_OF_URL):
            raise Refusal("too-large", f"{size} bytes for {grant.urls} URLs; allowed: {most}")
        self._check(grant, size, now)
        return grant

    def _check(self, grant: Grant, size: int, now: float) -> None:
        """Raise Refusal unless a grant can be used now."""
        if grant.server != self.name or grant.process != self.process:
            raise Refusal("other-server", f"the grant is for {grant.server}, process {grant.process}")
        if grant.serial in self._spent:
            raise Refusal("spent-serial", f"serial number {grant.serial}")
        if grant.expires <= now + self._offset - self._skew:
            raise Refusal("expired-serial", f"serial number {grant.serial}")
        if not self.may_start(now):
            raise Refusal("fenced", after=1.0)
        if grant.ring and grant.ring != self._owners.version:
            raise Refusal("ring-changed", f"granted by ring {grant.ring}; it is {self._owners.version} now")
        if self.queued + grant.urls > self.places:
            raise Refusal("no-capacity", f"{self.queued} URLs are queued; allowed: {self.places}", after=1.0)
        # A service may queue as many bytes as are left (dynamic thresholds, see `Registry.room`).
        queue, left = self._queues.get(grant.service), self._queue_bytes - self.queued_bytes
        if queue is not None and queue.bytes + size > left:
            text = f"{queue.bytes} bytes of the service are queued; allowed: as many as are left, {left}"
            raise Refusal("no-capacity", text, after=1.0)

    def accept(
        self, grant: Grant, requests: Requests, size: int, now: float
    ) -> tuple[int, list[tuple[float, Requests]]]:
        """Accept what a client submits with a verified grant; raises Refusal, and then nothing is changed.

        size: its bytes. Returns the number of the client's mailbox, and the requests, each batch with the time from
        which on it may start.
        """
        self._check(grant, size, now)  # it may have been used since it was verified
        count = len(requests)
        if count != grant.urls:
            raise Refusal("wrong-count", f"{count} URLs; granted: {grant.urls}")
        requests = requests.ticketed(grant.serial)
        batches = self._due(requests, grant.after, now) if grant.ring else [(now, requests)]
        self._spent[grant.serial] = grant.expires + RETAINED
        self._accepted.append(grant.serial)
        key = (grant.service, grant.client)
        mailbox = self._mailboxes.get(key)
        if mailbox is None:
            mailbox = self._mailboxes[key] = Mailbox(self._sequence, now)
            self._sequence += 1
        self._submissions[grant.serial] = Submission(key, mailbox, size, set(range(count)))
        self._queue(grant.service, count, size)
        mailbox.owed += count
        mailbox.seen = now
        return mailbox.number, batches

    def _queue(self, service: str, urls: int, size: int) -> None:
        """Count what is queued, or no more."""
        queue = self._queues.setdefault(service, Queue())
        queue.urls += urls
        queue.bytes += size
        self.queued += urls
        self.queued_bytes += size
        if not queue.urls:
            del self._queues[service]

    def done(self, serial: int, index: int, content: bytes, is_success: bool) -> Key | None:
        """Keep a result for its client; returns the client, `None` if nobody waits for it."""
        submission = self._submissions.get(serial)
        if submission is None and index >= 0:
            self._stale = max(self._stale - 1, 0)
        if submission is None or index not in submission.left:
            return None
        submission.left.remove(index)
        if not submission.left:
            del self._submissions[serial]
        self._queue(submission.key[0], -1, 0 if submission.left else -submission.size)
        self._successes += is_success
        self._failures += not is_success
        mailbox = submission.mailbox
        mailbox.owed -= 1
        mailbox.results.append(Result(self._sequence, serial, index, content))
        self._sequence += 1
        self._count(submission.key[0], mailbox, len(content))
        return submission.key

    def _count(self, service: str, mailbox: Mailbox, size: int) -> None:
        """Count bytes that are kept, or no more."""
        mailbox.bytes += size
        self.bytes += size
        self._bytes[service] = self._bytes.get(service, 0) + size

    def heard(self, key: Key, now: float) -> None:
        """Note that a client is there."""
        mailbox = self._mailboxes.get(key)
        if mailbox is not None:
            mailbox.seen = now

    def results(self, key: Key, after: int, max_bytes: int) -> list[Result]:
        """Return a client's next results, of about so many bytes; those up to ``after`` are confirmed and leave.

        Raises Refusal (unknown-client).
        """
        mailbox = self._mailboxes.get(key)
        if mailbox is None:
            raise Refusal("unknown-client", f"client {key[1]}")
        while mailbox.results and mailbox.results[0].sequence <= after:
            self._count(key[0], mailbox, -len(mailbox.results.popleft().content))
        found: list[Result] = []
        size = 0
        for result in mailbox.results:
            if found and size + len(result.content) > max_bytes:
                break
            found.append(result)
            size += len(result.content)
        return found

    def mailbox(self, key: Key) -> int | None:
        """Return the number of a client's mailbox, `None` if nothing is kept for it."""
        mailbox = self._mailboxes.get(key)
        return None if mailbox is None else mailbox.number

    def owes(self, key: Key) -> int:
        """Return for how many URLs a client has no result yet, confirmed ones aside."""
        mailbox = self._mailboxes.get(key)
        return 0 if mailbox is None else mailbox.owed + len(mailbox.results)

    def finished(self) -> int:
        """Return how many downloads have ended."""
        return self._successes + self._failures

    def is_full(self, service: str) -> bool:
        """Return whether a service's results take all the memory that they may: then nothing of it is started."""
        return self._bytes.get(service, 0) >= self._keep_bytes // max(len(self.services), 1)

    def drop(self, now: float) -> list[tuple[str, str, int]]:
        """Drop what belongs to silent clients; returns service, client and number of URLs, to be told."""
        told = []
        for key, mailbox in list(self._mailboxes.items()):
            is_idle = not mailbox.owed and not mailbox.results and mailbox.seen + self._keep / 2 < now
            if not is_idle and mailbox.seen + self._keep >= now:
                continue
            del self._mailboxes[key]
            self._count(key[0], mailbox, -mailbox.bytes)
            self.dropped += len(mailbox.results) + mailbox.owed
            self._stale += mailbox.owed
            # Their places are free at once; lanes start none of them.
            for serial in [serial for serial, one in self._submissions.items() if one.mailbox is mailbox]:
                submission = self._submissions.pop(serial)
                self._queue(key[0], -len(submission.left), -submission.size)
            if not is_idle:
                told.append((*key, mailbox.owed + len(mailbox.results)))
        master = now + self._offset
        self._spent = {serial: until for serial, until in self._spent.items() if until > master}
        return told

    def may_start(self, now: float) -> bool:
        """Return whether requests may start: the master was heard of lately enough."""
        return now < self.fence()

    def fence(self) -> float:
        """Return the time from which on nothing is started, unless the master answers before."""
        return self._heard + self._hold

    def sites(self, now: float) -> Sites:
        """Return which sites may be started now: those of the ring, before its time of them what was its own."""
        self._settle(now)
        owners, is_settled = self._owners, now >= self._owners.at
        before = () if is_settled else (NOTHING,) if self._before is None else self._before.values()
        return Sites(owners.version, is_settled, (owners.ring or NOTHING, *before))

    def version(self) -> int:
        """Return the version of the ring."""
        return self._owners.version

    def _due(self, requests: Requests, after: float, now: float) -> list[tuple[float, Requests]]:
        """Return requests with the time from which on they may start; raises Refusal for sites of other servers.

        after: of the grant: the master may have moved it since the last heartbeat.
        """
        if self._owners.ring is None or set(requests.split(self._owners.ring, SITE)) != {self.name}:
            # By the same ring: the client divides URLs by another list of public suffixes, and will go on so.
            raise Refusal("ring-changed", "some of the sites are another download server's", after=1.0)
        self._is_used(after)
        self._settle(now)
        at = self._owners.at
        if self._before is None:
            return [(at, requests)]
        batches, own = list[tuple[float, Requests]](), requests
        for ring in self._before.values():
            parts = own.split(ring, SITE)
            own = parts.pop(self.name, Requests())
            batches += [(at, part) for part in parts.values()]
        return [*batches, (0.0, own)] if len(own) else batches

    def sort_out(self, requests: Requests) -> tuple[Requests, Requests]:
        """Divide requests that are about to start: those that may, and those whose client is gone.

        There are none of these before a client is dropped while its URLs are queued: then nothing is looked up.
        """
        if not self._stale:
            return requests, Requests()
        gone = [index >= 0 and serial not in self._submissions for serial, index in requests.tickets()]
        return requests.select([not left for left in gone]), requests.select(gone)


def _listed(members: Mapping[str, float]) -> Members:
    """Return members in an order of their own."""
    return tuple(sorted(members.items()))
