"""The master's rules: who may have how many URLs downloaded, by which download server. No I/O; times are given.

The master never sees a URL and never calls a download server: it answers questions (SYSTEMS.md section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.dispatch.admission import MINUTE, Load, Rival, admit_by_minute, choose_server, due_by_rate
from lycosa.dispatch.grant import Grant
from lycosa.dispatch.protocol import MAX_COUNT, MAX_PARTS
from lycosa.dispatch.quotas import Quota, Quotas
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Beat, Kept, Registry

#: Bits of a serial number that count within one life of a master; above them is the number of that life. Their sum
#: stays below 2^53, the largest integer of JSON in JavaScript, for two million lives.
COUNTED_BITS = 32

#: Seconds over which the shares of download servers follow what is granted, and for which a refused service counts as
#: a rival.
SMOOTH, RIVAL = 10.0, 2.0


class Part(NamedTuple):
    """A part of a question: URLs for one download server, or for the idlest one."""

    server: str | None
    urls: int  # how many
    digest: str


@dataclass(slots=True)
class Account:
    """What a service has been granted."""

    minute: int = 0  # n of the published policy
    due: float = 0.0  # of the smooth one
    tag: float = 0.0  # of fair sharing
    asked: int = 0  # t when it was refused last because no server had room
    refused: float = float("-inf")  # when that was
    granted: int = 0
    grants: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    lately: dict[str, float] = field(default_factory=dict)  # URLs by server, fading
    faded: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)  # of servers in the service's rate


class Master:
    """Admission for all services. Times are in seconds since the epoch."""

    def __init__(
        self,
        quotas: Quotas,
        key: _core.SigningKey,
        life: int,
        now: float,
        *,
        period: float = 1.0,
        grant_seconds: float = 30.0,
        hold: float = 30.0,
        handover: float = 1.0,
        kept: Kept | None = None,
    ) -> None:
        """life: a number greater than that of each master before. key: signs grants. kept: by the one before.

        period: of heartbeats. grant_seconds: for which a grant is valid. hold: for which a download server goes on
        without its master. handover: pause before a site is asked by another download server.
        """
        self.quotas = quotas
        times = {"period": period, "hold": hold, "handover": handover}
        self.registry = Registry(now, **times, is_first=life == 1, kept=kept)
        self.accounts: dict[str, Account] = {}
        self._key, self._next, self._seconds = key, (life << COUNTED_BITS) + 1, grant_seconds
        self._floor = 0.0  # tag of the service that was served last
        self._minute = int(now) // MINUTE

    def heartbeat(self, beat: Beat, now: float) -> dict[str, Any]:
        """Take a heartbeat; returns what the download server is to know."""
        ring, starting = self.registry.beat(beat, now), self.registry.starting()
        is_active = self.registry.ring() is not None
        return {
            "now": now,
            "period": self.registry.period,
            "hold": self.registry.hold,
            "ring": {
                "version": ring.version,
                "members": dict(ring.members),
                "after": ring.after if is_active else None,
                "missed": [dict(one.members) for one in self.registry.missed(beat.ring)],
            },
            "services": {
                name: self._of_service(name, quota, beat.server, starting, now)
                for name, quota in self.quotas.services.items()
                if not quota.servers or beat.server in quota.servers
            },
        }

    def ask(self, service: str, client: str, parts: Sequence[Part], now: float) -> list[Grant | Refusal]:
        """Decide about each part of a question, in their order; raises Refusal where the question itself is wrong."""
        quota = self.quotas.services.get(service)
        if quota is None:
            raise Refusal("unknown-service", f"{service!r}; the quotas name the services that are allowed")
        if not 1 <= len(parts) <= MAX_PARTS:
            raise Refusal("too-large", f"{len(parts)} parts; allowed: 1 to {MAX_PARTS}")
        for part in parts:
            if not 1 <= part.urls <= MAX_COUNT:
                raise Refusal("too-large", f"{part.urls} URLs in a part; allowed: 1 to {MAX_COUNT}")
        self.registry.look(now)
        self._look(now)
        account = self.accounts.setdefault(service, Account())
        decided: list[Grant | Refusal] = []
        over: Refusal | None = None  # of the quota: later parts wait, too, or small ones would pass large ones
        for part in parts:
            try:
                if over is not None:
                    raise over
                decided.append(self._grant(service, client, quota, account, part, now))
            except Refusal as refusal:
                over = refusal if refusal.code == "over-quota" else None
                account.refusals[refusal.code] = account.refusals.get(refusal.code, 0) + 1
                decided.append(refusal)
        return decided

    def signed(self, grant: Grant) -> str:
        """Return a grant as text."""
        return grant.signed(self._key)

    def members(self, service: str, now: float) -> dict[str, Any]:
        """Return what a client needs: how its URLs are divided, its limits, address and process of each live server.

        settled: whether servers that are missing are gone: a master that has just begun has not heard of all.
        """
        ring, quota = self.registry.ring(), self.quotas.services[service]
        return {
            "ring": 0 if ring is None else ring.version,
            "members": {} if ring is None else dict(ring.members),
            "divided": quota.placement == "owner" and not quota.servers,
            "most": quota.ahead if self.quotas.policy == "gcra" else int(quota.rate * (MINUTE - 1)),
            "period": self.registry.period,
            "settled": self.registry.is_settled(now),
            "servers": {
                name: {"address": known.beat.address, "process": known.beat.process}
                for name, known in self.registry.servers.items()
            },
        }

    def statistics(self, now: float) -> dict[str, Any]:
        """Return what is known of download servers and services, for people and metrics."""
        ring = self.registry.ring()
        return {
            "ring": None if ring is None else ring.version,
            "policy": self.quotas.policy,
            "servers": {
                name: {
                    "address": known.beat.address,
                    "slots": known.beat.slots,
                    "free": known.beat.free,
                    "speed": known.beat.speed,
                    "successes": known.beat.successes,
                    "failures": known.beat.failures,
                    "silent": now - known.heard,
                }
                for name, known in self.registry.servers.items()
            },
            "services": {
                name: {
                    "rate": quota.rate,
                    "granted": account.granted,
                    "grants": account.grants,
                    "refusals": account.refusals,
                }
                for name, quota in self.quotas.services.items()
                for account in [self.accounts.setdefault(name, Account())]
            },
        }

    def reload(self, quotas: Quotas) -> None:
        """Use other quotas; what services were granted stays counted."""
        self.quotas = quotas
        self.accounts = {name: account for name, account in self.accounts.items() if name in quotas.services}

    def _grant(self, service: str, client: str, quota: Quota, account: Account, part: Part, now: float) -> Grant:
        """Grant a part, or raise Refusal; then nothing is counted."""
        ring, after, names = self._servers(quota, part)
        if self.quotas.policy == "minute-window":
            name = self._by_minute(quota, account, part.urls, names, now)
        else:
            name = self._by_rate(service, quota, account, part.urls, names, now)
        serial, self._next = self._next, self._next + 1
        account.minute += part.urls
        account.granted += part.urls
        account.grants += 1
        account.lately[name] = account.lately.get(name, 0.0) + part.urls
        expires = now + self._seconds
        self.registry.servers[name].grant(serial, service, part.urls, expires)
        process = self.registry.servers[name].beat.process
        return Grant(serial, service, client, name, process, part.urls, part.digest, now, expires, ring, after)

    def _servers(self, quota: Quota, part: Part) -> tuple[int, float, list[str]]:
        """Return version (0: none is needed) and ``after`` of the ring, and the servers that a part may go to."""
        live = [name for name in self.registry.servers if not quota.servers or name in quota.servers]
        if quota.placement == "idlest" or quota.servers:
            if part.server is not None:
                live = [name for name in live if name == part.server]
            return 0, 0.0, live
        ring = self.registry.ring()
        if ring is None and live:
            raise Refusal("ring-changed", "sites are changing their owners", self.registry.period)
        if ring is None:
            return 0, 0.0, []
        if part.server is None:
            raise Refusal("malformed", "the service's URLs are divided by the ring: a part names its download server")
        return ring.version, ring.after, [name for name in live if name == part.server]

    def _by_minute(self, quota: Quota, account: Account, count: int, names: list[str], now: float) -> str:
        """Decide by the published policy."""
        second = int(now) % MINUTE
        found = admit_by_minute(
            count, second, quota.rate, account.minute, [self.registry.load(name) for name in names]
        )
        if isinstance(found, int):
            return names[found]
        if found == "over-quota":
            if count > quota.rate * (MINUTE - 1):
                most = int(quota.rate * (MINUTE - 1))
                raise Refusal("too-large", f"{count} URLs at once; the service's quota allows {most} in a minute")
            needed = (count + account.minute) / quota.rate - second
            raise Refusal(found, after=max(min(needed, MINUTE - second), 1.0))
        raise Refusal(found, after=1.0 if found == "no-capacity" else self.registry.period)

    def _by_rate(self, service: str, quota: Quota, account: Account, count: int, names: list[str], now: float) -> str:
        """Decide by the smooth policy."""
        if count > quota.ahead:
            raise Refusal("too-large", f"{count} URLs at once; the service's burst is {quota.ahead}")
        # What a smaller quota, or a clock that was ahead, has left is no debt.
        account.due = min(account.due, now + quota.ahead / quota.rate)
        due, wait = due_by_rate(count, quota.rate, quota.ahead, account.due, now)
        if wait > 0:
            raise Refusal("over-quota", after=wait)
        tag = max(account.tag, self._floor)
        loads: list[Load] = [self.registry.room(name, service) for name in names]
        found = choose_server(count, loads, self._rivals(service, names, now), quota.priority, tag)
        if not isinstance(found, int):
            if found == "no-capacity":
                if account.refused < now - RIVAL:
                    account.tag = tag  # it competes from now on
                account.asked, account.refused = count, now
            raise Refusal(found, after=self.registry.period / 4 if found == "no-capacity" else self.registry.period)
        account.due = due
        self._floor = tag
        account.tag = tag + count / quota.weight
        return names[found]

    def _rivals(self, service: str, servers: list[str], now: float) -> list[Rival]:
        """Return the other services that were refused lately for want of room at one of these servers."""
        quotas = self.quotas.services
        return [
            Rival(quotas[name].priority, account.tag, account.asked)
            for name, account in self.accounts.items()
            if name != service
            and account.refused >= now - RIVAL
            and (not quotas[name].servers or not set(servers).isdisjoint(quotas[name].servers))
        ]

    def _of_service(
        self, name: str, quota: Quota, server: str, starting: Mapping[str, tuple[int, str]], now: float
    ) -> dict[str, Any]:
        """Return a service's part of a heartbeat's answer: this server's rates; those of all sum up to the quota.

        starting: slots and clocks of servers that may be starting downloads.
        """
        account = self.accounts.setdefault(name, Account())
        clocks = {one: own for one, (_, own) in starting.items()}
        of_service = set(clocks) if not quota.servers else set(clocks) & set(quota.servers)
        # Some times a period suffices: with many services and servers it is most of a master's work.
        if account.shares.keys() != of_service or not 0 <= now - account.faded < self.registry.period / 4:
            self._share(account, quota, {one: starting[one][0] for one in of_service}, now)
        share, most = account.shares.get(server, 0.0), quota.bytes_per_second
        return {
            "rate": quota.rate * share,
            "bytes_per_second": None if most is None else most * share,
            "robots": quota.robots,
            "tokens": list(quota.tokens),
            # A site of a pinned service may be asked by each of its servers, an address by all there are.
            "owners": len({clocks[one] for one in of_service}) if quota.servers or quota.placement == "idlest" else 1,
            "address_owners": len(set(clocks.values())),
        }

    def _share(self, account: Account, quota: Quota, slots: Mapping[str, int], now: float) -> None:
        """Divide a service's rate among its servers, as URLs were granted lately."""
        fade = 0.5 ** (max(now - account.faded, 0.0) / SMOOTH)
        account.faded = now
        account.lately = {one: count * fade for one, count in account.lately.items() if count * fade > 0.01}
        # What a server would be granted by its weight in a second counts as granted: a new one starts with that.
        total = sum(slots.values())
        granted = {one: account.lately.get(one, 0.0) + quota.rate * own / total for one, own in slots.items()}
        all_granted = sum(granted.values())
        account.shares = {one: count / all_granted for one, count in granted.items()}

    def _look(self, now: float) -> None:
        """In the first second of each minute, all n and r of the published policy go to zero."""
        if int(now) // MINUTE != self._minute:
            self._minute = int(now) // MINUTE
            self.registry.new_minute()
            for account in self.accounts.values():
                account.minute = 0
