"""The download servers that a master knows: their heartbeats, their room, and the ring by which sites have one owner.

A ring is used once every live server has confirmed it, so that no two servers own a site at the same time. A server
that is excluded may be alive, cut off from its master alone: it goes on for ``hold`` seconds after its last heartbeat
was answered and then starts nothing more. Sites that it owned are started elsewhere after that time, and after
``handover``, the pause between two requests to a site.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lycosa.dispatch.admission import Load
from lycosa.dispatch.jsons import read_json, write_json
from lycosa.dispatch.refusal import Refusal

logger = logging.getLogger("lycosa")

#: Replaced processes of a name that are remembered.
EARLIER = 16

#: Missed periods after which a download server is excluded.
MISSED = 2

#: Periods for which a server may report without confirming the ring that it is told.
HEEDED = 10

#: Rings that are told to a server that has missed them.
RINGS = 64

#: Concurrent downloads that are the weight 1 in a ring, which is 256 of its points; a weight has at least one in
#: twenty.
SLOTS = 128


def weight_of(slots: int) -> float:
    """Return the weight of a download server in a ring."""
    return max(slots / SLOTS, 0.05)


class Beat(NamedTuple):
    """A heartbeat: what a download server reports, and which ring it knows."""

    server: str
    process: str  # random, new with each process
    address: str  # URL at which clients reach it
    slots: int  # concurrent downloads: its weight in the ring
    speed: float  # p
    free: int  # q
    successes: int
    failures: int
    accepted: tuple[int, ...]  # serial numbers since the last heartbeat that was answered
    ring: int  # the version that it has confirmed; 0: none
    members: Mapping[str, float]  # of that version
    clocks: str  # of hosts and addresses: servers with the same ones keep one another's pauses
    queued: Mapping[str, int]  # URLs by service


class Ring(NamedTuple):
    """Which download servers share the sites, in proportion to their weights."""

    version: int
    members: Mapping[str, float]
    after: float  # the master's time before which sites with a new owner are not started


class Kept(NamedTuple):
    """What of a registry outlives its master: the last ring that servers were told of, and who they are."""

    version: int
    members: Mapping[str, float]
    processes: Mapping[str, str]

    def text(self) -> str:
        """Return it as text."""
        return write_json(self._asdict()).decode()

    @classmethod
    def read(cls, text: str) -> Kept | None:
        """Return what a text says, `None` if it is empty, or damaged, which is told: then sites wait for ``hold``."""
        if not text:
            return None
        try:
            given = read_json(text.encode())
            members = {str(name): float(weight) for name, weight in given["members"].items()}
            processes = {str(name): str(process) for name, process in given["processes"].items()}
            return cls(int(given["version"]), members, processes)
        except (ValueError, TypeError, KeyError, AttributeError):
            logger.warning("the ring in the state is damaged: %.100r; all sites wait for --hold seconds", text)
            return None


@dataclass(slots=True)
class Server:
    """A live download server."""

    beat: Beat
    heard: float
    earlier: tuple[str, ...] = ()  # processes that this one has replaced
    minute: int = 0  # r of the published policy
    granted: int = 0  # URLs that were granted and are not yet among those that it has
    by_service: Counter[str] = field(default_factory=Counter)  # of `granted`
    heeded: float = 0.0  # when it confirmed the proposed ring last, or another one than before
    #: Grants that it has not accepted yet, by serial number: service, count and expiry, in the order in which they
    #: expire.
    waiting: dict[int, tuple[str, int, float]] = field(default_factory=dict)

    def grant(self, serial: int, service: str, count: int, expires: float) -> None:
        """Count a grant."""
        self.minute += count
        self.granted += count
        self.by_service[service] += count
        self.waiting[serial] = (service, count, expires)

    def end(self, serial: int) -> None:
        """Count a grant no more: it was accepted."""
        service, count, _ = self.waiting.pop(serial, ("", 0, 0.0))
        self.granted -= count
        self.by_service[service] -= count
        if not self.by_service[service]:
            del self.by_service[service]

    def expire(self, now: float) -> None:
        """Count those no more that have expired."""
        over = []
        for serial, (_, _, expires) in self.waiting.items():
            if expires > now:
                break
            over.append(serial)
        for serial in over:
            self.end(serial)


class Fading(NamedTuple):
    """A download server that is excluded, and may be alive: cut off from its master alone."""

    slots: int
    clocks: str
    until: float  # when it starts nothing more


class Registry:
    """Live download servers and their ring. All times are the master's, in seconds.

    ``look`` is to be called at least once a period.
    """

    def __init__(
        self,
        now: float,
        *,
        period: float,
        hold: float,
        handover: float,
        is_first: bool = True,
        kept: Kept | None = None,
    ) -> None:
        """Know no server yet. period: of heartbeats. is_first: no master was before this one.

        kept: of the master before: servers go on with its ring. Some of them may be cut off from this master: until
        these have stopped, sites do not move.
        """
        self.period, self.hold, self.handover = period, hold, handover
        self.servers: dict[str, Server] = {}
        self._began = now
        self._floor = 0.0 if is_first else now + hold + handover  # of `after`, for sites that are new to a server
        self._look_at, self._looked = 0.0, now
        self._active: Ring | None = None
        kept = kept or Kept(0, {}, {})
        self._proposed = Ring(kept.version, kept.members, self._floor)
        self._superseded: deque[Ring] = deque(maxlen=RINGS)  # of this master, the last ones
        self._processes = dict(kept.processes)  # the last of each name
        #: When members that are not live were heard last: those of before have a grace.
        self._gone = dict.fromkeys(self._proposed.members, now)
        #: Excluded ones that may still start downloads.
        self._fading = {
            name: Fading(max(round(weight * SLOTS), 1), f"of {name}", now + hold)
            for name, weight in self._proposed.members.items()
        }
        self._deaf: dict[str, str] = {}  # processes of servers that report and confirm no ring

    def kept(self) -> Kept:
        """Return what is to outlive the master before the server that was heard of last is told anything."""
        known = {*self._proposed.members, *self.servers}
        processes = {name: process for name, process in self._processes.items() if name in known}
        return Kept(self._proposed.version, self._proposed.members, processes)

    def missed(self, version: int) -> list[Ring]:
        """Return the rings between a version and the present one; an empty list if not all are known."""
        found = [ring for ring in self._superseded if ring.version > version]
        return found if len(found) == self._proposed.version - version - 1 else []

    def excuse(self, server: str, now: float) -> None:
        """Note that it is not a server's fault that it has not confirmed the ring."""
        if server in self.servers:
            self.servers[server].heeded = now

    def beat(self, beat: Beat, now: float) -> Ring:
        """Take a heartbeat; returns the ring that the server is to confirm with its next one.

        Raises Refusal (name-in-use) for a process that another one of its name has replaced.
        """
        known = self.servers.get(beat.server)
        # One that was cut off, while another one of its name was known, has a ring; a new one has none.
        is_old = beat.ring > 0 and self._processes.get(beat.server, beat.process) != beat.process
        if is_old or (known is not None and beat.process in known.earlier):
            raise Refusal("name-in-use", f"{beat.server} is another process since then")
        if self._deaf.get(beat.server) == beat.process and beat.ring != self._proposed.version:
            return self._proposed
        self._deaf.pop(beat.server, None)
        self._fading.pop(beat.server, None)
        if known is None or known.beat.process != beat.process:
            known = self._begin(beat, known, now)
        if beat.ring == self._proposed.version or beat.ring != known.beat.ring:
            known.heeded = now
        known.beat, known.heard = beat, now
        for serial in beat.accepted:
            known.end(serial)
        is_same = beat.ring == self._proposed.version and beat.members == self._proposed.members
        if beat.ring >= self._proposed.version and beat.members and not is_same:
            # The state was lost, and with it rings that servers were told of: one that is the next one to nobody
            # supersedes them all. What is whose is unknown, and waits for `after`.
            self._floor = self._began + self.hold + self.handover
            after = max(self._proposed.after, self._floor)
            self._superseded.clear()
            self._proposed = Ring(beat.ring + 2, dict(self._proposed.members), after)
            self._active = None
        self._gone.pop(beat.server, None)
        self._look(now)
        return self._proposed

    def _begin(self, beat: Beat, before: Server | None, now: float) -> Server:
        """Take a new process; a grant ends with the process that it was for."""
        earlier: tuple[str, ...] = ()
        if before is not None:
            # The process before may be alive: it hears that it is replaced before the new one starts anything. If it
            # is cut off, it hears nothing, and goes on; on the same machine both keep the same pauses.
            earlier = (*before.earlier, before.beat.process)[-EARLIER:]
            until = now + MISSED * self.period
            if before.beat.clocks != beat.clocks:
                until = max(until, before.heard + self.hold)
            after = max(self._proposed.after, until + self.handover)
            self._proposed = self._proposed._replace(after=after)
            if self._active is not None:
                self._active = self._proposed
        self._processes[beat.server] = beat.process
        self.servers[beat.server] = Server(beat, now, earlier, heeded=now)
        return self.servers[beat.server]

    def look(self, now: float) -> None:
        """Exclude silent download servers, drop what expired, move to another ring; ten times a period at most."""
        if now >= self._look_at:
            self._look(now)

    def _look(self, now: float) -> None:
        """Do so."""
        self._look_at = now + self.period / 10
        # While this process was stopped, it heard nobody: that is nobody's silence.
        stopped, self._looked = max(now - self._looked - self.period, 0.0), now
        if stopped:
            for server in self.servers.values():
                server.heard = min(server.heard + stopped, now)
                server.heeded = min(server.heeded + stopped, now)
        silent = now - MISSED * self.period
        excluded = [name for name, server in self.servers.items() if server.heard < silent]
        for name in excluded:
            self._exclude(name, self.servers[name].heard)
        # One that reports and takes no answer would keep all others from their sites: no ring is confirmed by all.
        deaf = now - HEEDED * self.period
        for name in [name for name, server in self.servers.items() if server.heeded < deaf]:
            self._deaf[name] = self.servers[name].beat.process
            self._exclude(name, now)
        self._fading = {name: one for name, one in self._fading.items() if one.until > now}
        for server in self.servers.values():
            server.expire(now)
        self._turn(now)

    def _exclude(self, name: str, heard: float) -> None:
        """Take a server for gone; its last answer came to it by a time."""
        beat = self.servers.pop(name).beat
        self._gone[name] = heard
        self._fading[name] = Fading(beat.slots, beat.clocks, heard + self.hold)

    def ring(self) -> Ring | None:
        """Return the ring in use; `None` while not every live server has confirmed it."""
        return self._active

    def starting(self) -> dict[str, tuple[int, str]]:
        """Return slots and clocks of each server that may be starting downloads: live ones, and those that fade."""
        live = {name: (server.beat.slots, server.beat.clocks) for name, server in self.servers.items()}
        return {name: (one.slots, one.clocks) for name, one in self._fading.items()} | live

    def is_settled(self, now: float) -> bool:
        """Return whether every live server has been heard of since the master began."""
        return now > self._began + MISSED * self.period

    def load(self, name: str) -> Load:
        """Return a live server as the published policy sees it."""
        server = self.servers[name]
        return Load(server.beat.speed, server.beat.free, server.minute)

    def room(self, name: str, service: str) -> Load:
        """Return a live server as the smooth policy sees it for a service.

        A service may have as many URLs queued as places are left, so that it cannot take the last ones from others,
        however slow its sites are (dynamic thresholds: Choudhury and Hahne, 1998).
        """
        server = self.servers[name]
        own = server.beat.queued.get(service, 0) + server.by_service.get(service, 0)
        return Load(server.beat.speed, server.beat.free, server.granted + own)

    def new_minute(self) -> None:
        """Start a minute of the published policy."""
        for server in self.servers.values():
            server.minute = 0

    def _turn(self, now: float) -> None:
        """Propose a ring of the live servers if it is another one, and use it once all have confirmed it."""
        grace = self._began + MISSED * self.period
        expected = {name for name, heard in self._gone.items() if heard <= self._began and now <= grace}
        members = {name: weight_of(server.beat.slots) for name, server in self.servers.items()}
        members |= {name: self._proposed.members[name] for name in expected if name in self._proposed.members}
        if members != dict(self._proposed.members):
            removed = [self._gone[name] for name in self._proposed.members if name in self._gone]
            until = max((heard + self.hold for heard in removed), default=now)
            after = max(max(until, now) + self.handover, self._proposed.after, self._floor)
            if self._proposed.version:
                self._superseded.append(self._proposed)
            self._proposed = Ring(self._proposed.version + 1, members, after)
            self._active = None
            self._gone = {name: heard for name, heard in self._gone.items() if name in members}
        confirmed = all(server.beat.ring == self._proposed.version for server in self.servers.values())
        if self._active is None and self.servers and confirmed and not expected:
            # Who is new may start what others started until now, once the pause of a site is over.
            after = max(self._proposed.after, now + self.handover)
            self._active = self._proposed = self._proposed._replace(after=after)
