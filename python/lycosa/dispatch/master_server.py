"""The master as a service: its routes over HTTP, and how it is run."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from lycosa.dispatch import audit, clock
from lycosa.dispatch.access import check_access
from lycosa.dispatch.grant import Grant
from lycosa.dispatch.http import App, Call, Reply, Route, field, is_loopback, reply
from lycosa.dispatch.life import Life, LifeLost, State, kept
from lycosa.dispatch.master import Master, Part
from lycosa.dispatch.protocol import MAX_PARTS, PROTOCOL
from lycosa.dispatch.quotas import NAME, Quotas
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Beat, Kept
from lycosa.dispatch.serving import Tls, bind, serving
from lycosa.errors import LycosaError, StorageError

logger = logging.getLogger("lycosa")

#: Limits of bodies, in bytes: of a question, a part of which has about 130; of a heartbeat, a serial number of which
#: has about 20.
MAX_QUESTION, MAX_BEAT = 200 * MAX_PARTS, 1 << 20

#: A digest in a question.
DIGEST = re.compile(r"[0-9a-f]{64}")


class MasterServer:
    """Answers questions and heartbeats by the rules of ``master``."""

    def __init__(self, master: Master, life: Life, now: Callable[[], float]) -> None:
        """life: of the master. now: its clock, which never goes back.

        Each answer that decides something reads the clock before: it raises Refusal once another master may serve.
        """
        self.master, self._now = master, now
        self._public = base64.b64encode(life.key.public).decode()
        self._life, self._noting, self._is_failing = life, asyncio.Lock(), False
        self._kept = master.registry.kept()
        self.app = App(
            "master",
            {
                ("POST", "/v1/grants"): Route(self._grants, MAX_QUESTION, self._admit),
                ("POST", "/v1/heartbeats"): Route(self._heartbeat, MAX_BEAT, self._admit_downloader),
                ("POST", "/v1/servers"): Route(self._servers, 1_024, self._admit),
                ("GET", "/v1/key"): Route(self._key),
                ("GET", "/healthz"): Route(self._health),
                ("GET", "/metrics"): Route(self._metrics),
                ("GET", "/statistics"): Route(self._statistics),
            },
        )

    async def _grants(self, call: Call) -> Reply:
        """Decide about a question: service, client, and parts of server, count and digest."""
        given = call.json()
        service, client = self._asked(call, given), field(given, "client", str)
        if not NAME.fullmatch(client):
            raise Refusal("malformed", f"client: {client!r:.100}; allowed: 1 to 64 letters, digits, dots, hyphens, _")
        parts = [_part(part) for part in field(given, "parts", list)[: MAX_PARTS + 1]]
        now = self._now()
        decided = self.master.ask(service, client, parts, now)
        return reply({"grants": [self._decided(one) for one in decided], **self.master.members(service, now)})

    async def _servers(self, call: Call) -> Reply:
        """Tell a service which download servers are live, and the ring."""
        service, now = self._asked(call, call.json()), self._now()
        self.master.registry.look(now)
        return reply(self.master.members(service, now))

    async def _heartbeat(self, call: Call) -> Reply:
        """Take a heartbeat."""
        given = call.json()
        version = given.get("protocol")
        if version != PROTOCOL:
            raise Refusal("other-version", f"the download server has version {version!r:.20}, this master {PROTOCOL}")
        beat, now = _beat(given), self._now()
        answer = self.master.heartbeat(beat, now)
        if not await self._note_ring():
            # What was kept goes on, and no site moves.
            answer["ring"] = {
                "version": self._kept.version,
                "members": self._kept.members,
                "after": None,
                "missed": [],
            }
            self.master.registry.excuse(beat.server, now)
        return reply({**answer, "key": self._public})

    async def _note_ring(self) -> bool:
        """Have ring and processes survive this master, before any server is told of them; returns whether they do."""
        async with self._noting:
            kept = self.master.registry.kept()
            if kept == self._kept:
                return True
            try:
                await self._life.note_ring(kept.text())
            except (LifeLost, StorageError, OSError) as error:
                if not self._is_failing:
                    logger.error("the state cannot be written, no site moves meanwhile: %s", error)
                self._is_failing = True
                return False
            self._kept, self._is_failing = kept, False
            return True

    async def _key(self, call: Call) -> Reply:
        """Tell the public key with which grants are verified."""
        return reply({"key": self._public, "protocol": PROTOCOL})

    async def _health(self, call: Call) -> Reply:
        """Tell whether questions can be granted at all."""
        live = len(self.master.registry.servers)
        return reply({"servers": live}, 200 if live else 503)

    async def _statistics(self, call: Call) -> Reply:
        """Tell what ``lycosa master top`` shows."""
        check_access(call, self.master.quotas.downloaders)
        return reply(self.master.statistics(self._now()))

    async def _metrics(self, call: Call) -> Reply:
        """Tell the same to Prometheus."""
        check_access(call, self.master.quotas.downloaders)
        text = "".join(_metrics(self.master.statistics(self._now())))
        return Reply(200, text.encode(), kind="text/plain; version=0.0.4; charset=utf-8")

    def _admit(self, call: Call) -> None:
        """Refuse, by the head alone, who has a token of no service while all services need one."""
        quotas = self.master.quotas.services.values()
        if any(not quota.tokens for quota in quotas) and is_loopback(call.peer):
            return
        check_access(call, [token for quota in quotas for token in quota.tokens])

    def _admit_downloader(self, call: Call) -> None:
        """Refuse who is no download server."""
        check_access(call, self.master.quotas.downloaders)

    def _asked(self, call: Call, given: dict[str, Any]) -> str:
        """Return the service of a question whose token is one of the service's."""
        service: str = field(given, "service", str)
        quota = self.master.quotas.services.get(service)
        if quota is None:
            # Who has no token learns nothing about which services there are.
            check_access(call, [token for one in self.master.quotas.services.values() for token in one.tokens])
            raise Refusal("unknown-service", f"{service!r:.100} is not in the quotas")
        check_access(call, quota.tokens)
        return service

    def _decided(self, one: Grant | Refusal) -> dict[str, Any]:
        """Return a part's answer."""
        if isinstance(one, Refusal):
            audit.note("not granted", reason=str(one))
            return {"error": one.code, "detail": str(one), "after": one.after}
        audit.note(
            "granted", serial=one.serial, service=one.service, client=one.client, server=one.server, urls=one.urls
        )
        return {"grant": self.master.signed(one), "serial": one.serial, "server": one.server, "expires": one.expires}


def _part(given: object) -> Part:
    """Return a part of a question."""
    if not isinstance(given, dict):
        raise Refusal("malformed", "a part is an object of server, count and digest")
    server = given.get("server")
    if server is not None and not isinstance(server, str):
        raise Refusal("malformed", "server: the name of a download server, or null")
    digest = field(given, "digest", str)
    if not DIGEST.fullmatch(digest):
        raise Refusal("malformed", "digest: the SHA-256 of what will be submitted, in 64 hexadecimal digits")
    return Part(server, field(given, "count", int), digest)


def _beat(given: dict[str, Any]) -> Beat:
    """Return the heartbeat of a JSON object; raises Refusal."""
    server, address = field(given, "server", str), field(given, "address", str)
    if not NAME.fullmatch(server) or not re.fullmatch(r"https?://[^\s,]{1,300}", address):
        raise Refusal("malformed", "server: a name; address: an http or https URL")
    numbers = {name: field(given, name, int) for name in ("slots", "free", "successes", "failures", "ring")}
    members = {
        str(name): field({name: weight}, name, float) for name, weight in field(given, "members", dict).items()
    }
    queued = {str(name): field({name: count}, name, int) for name, count in field(given, "queued", dict).items()}
    speed = field(given, "speed", float)
    if min(*numbers.values(), speed) < 0 or not 1 <= numbers["slots"] <= 1_000_000 or len(members) > 10_000:
        raise Refusal("malformed", "a heartbeat's numbers are not negative, and slots are 1 to 1,000,000")
    if len(queued) > 10_000 or min(queued.values(), default=0) < 0:
        raise Refusal("malformed", "queued: how many URLs of each service, 10,000 services at most")
    if any(not 0 < weight <= 1_000_000 for weight in members.values()):
        raise Refusal("malformed", "members: weights above 0")
    accepted = tuple(field({"serial": serial}, "serial", int) for serial in field(given, "accepted", list))
    process = field(given, "process", str)[:64]
    texts = {"server": server, "process": process, "address": address, "clocks": field(given, "clocks", str)[:64]}
    return Beat(**texts, speed=speed, accepted=accepted, members=members, queued=queued, **numbers)


def _metrics(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the text of metrics, in the format of Prometheus."""
    yield "# TYPE lycosa_master_servers gauge\n"
    yield f"lycosa_master_servers {len(figures['servers'])}\n"
    for name, kind in (("free", "gauge"), ("speed", "gauge"), ("successes", "counter"), ("failures", "counter")):
        suffix = "_total" if kind == "counter" else ""
        yield f"# TYPE lycosa_master_server_{name}{suffix} {kind}\n"
        for server, known in figures["servers"].items():
            yield f'lycosa_master_server_{name}{suffix}{{server="{server}"}} {known[name]}\n'
    for name in ("granted", "grants"):
        yield f"# TYPE lycosa_master_{name}_total counter\n"
        for service, known in figures["services"].items():
            yield f'lycosa_master_{name}_total{{service="{service}"}} {known[name]}\n'
    yield "# TYPE lycosa_master_refusals_total counter\n"
    for service, known in figures["services"].items():
        for code, count in known["refusals"].items():
            yield f'lycosa_master_refusals_total{{service="{service}",code="{code}"}} {count}\n'


@contextlib.asynccontextmanager
async def run_master(
    load: Callable[[], Quotas],
    listen: str,
    state: State,
    *,
    period: float,
    hold: float,
    handover: float,
    tls: Tls | None = None,
    standing_by: Callable[[], None] = lambda: None,
) -> AsyncIterator[tuple[str, Callable[[], None], Master]]:
    """Run a master; yields its URL, a function that loads the quotas again, and the rules.

    period, hold, handover: of ``Master``. standing_by: is called if it has to wait for the end of another master.
    Raises SettingError, StorageError, OSError; LifeLost where another master may serve.
    """
    quotas = load()
    if tls is not None:
        tls.check()
    stood_by: list[bool] = []

    def wait() -> None:
        stood_by.append(True)
        standing_by()

    # Bound before it waits: what is wrong with the address is told at once. It listens once it serves.
    with contextlib.closing(bind(listen, is_closed=quotas.is_closed())) as bound:
        async with state.life(period=period, hold=hold, standing_by=wait) as life, kept(life):
            read_clock = _clock()

            def now() -> float:
                life.check()
                return read_clock()

            times = {"period": period, "hold": hold, "handover": handover}
            master = Master(quotas, life.key, life.number, read_clock(), **times, kept=Kept.read(life.ring))
            server = MasterServer(master, life, now)
            reload = functools.partial(_reload, master, load)
            if stood_by:
                reload()
            async with serving(server.app, bound, tls) as url, _looking(master, read_clock):
                yield url, reload, master


def _clock() -> Callable[[], float]:
    """Return a master's clock. Steps of the wall clock are no time: it only says when this life began."""
    offset = time.time() - clock.now()
    return lambda: clock.now() + offset


def _reload(master: Master, load: Callable[[], Quotas]) -> None:
    """Use the quotas as they are now; on an error the running ones stay."""
    try:
        fresh = load()
    except (LycosaError, OSError) as error:
        logger.warning("not reloaded, the running quotas stay: %s", error)
        return
    master.reload(fresh)
    logger.info("quotas reloaded: %s", ", ".join(sorted(fresh.services)))


@contextlib.asynccontextmanager
async def _looking(master: Master, now: Callable[[], float]) -> AsyncIterator[None]:
    """Tell of download servers that come and go, while a master runs."""

    async def look() -> None:
        known: set[str] = set()
        while True:
            master.registry.look(now())
            here = set(master.registry.servers)
            for name in sorted(here - known):
                logger.info("download server %s is here: %s", name, master.registry.servers[name].beat.address)
            for name in sorted(known - here):
                text = "download server %s is silent, or takes no answer, and excluded; its URLs are granted again"
                logger.warning(text, name)
            known = here
            await asyncio.sleep(master.registry.period / 2)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(look())
        try:
            yield
        finally:
            task.cancel()
