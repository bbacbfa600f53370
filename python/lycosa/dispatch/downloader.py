"""A download server: accepts what the master has granted, downloads it in lanes, keeps results for their clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import logging
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Collection

import aiohttp

from lycosa import _core
from lycosa.assemble import clocks_of, shared_clocks
from lycosa.dispatch import audit
from lycosa.dispatch.access import check_access
from lycosa.dispatch.calls import Caller
from lycosa.dispatch.clock import now
from lycosa.dispatch.desk import Desk, Key
from lycosa.dispatch.grant import digest_of
from lycosa.dispatch.http import App, Call, Reply, Route, field, is_loopback, reply
from lycosa.dispatch.lane import MOST_SHARES, Lane, Terms, lane_job
from lycosa.dispatch.pace import Pace, Slots
from lycosa.dispatch.protocol import ENOUGH_BYTES, GATHER_RESULTS, PROTOCOL
from lycosa.dispatch.pushes import Place as ReceivingPlace
from lycosa.dispatch.pushes import Pushes
from lycosa.dispatch.quotas import NAME
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.serving import Tls, bind, serving
from lycosa.dispatch.wire import read_requests, write_results
from lycosa.errors import SettingError
from lycosa.job import Job

logger = logging.getLogger("lycosa")

#: Bytes of what is submitted at once, and of results that are sent at once.
MAX_SUBMITTED, MAX_RESULTS = 64 << 20, 8 << 20

#: Seconds for which a client may wait for results in one request.
MAX_WAIT = 30.0

#: The key of a receiver, and the digest of its certificate.
RECEIVE_KEY, FINGERPRINT = re.compile(r"[A-Za-z0-9_-]{16,256}"), re.compile(r"[0-9a-f]{64}")

#: Bytes of a submission that is read at once; a larger one is read by another thread.
SMALL = 65_536

#: URLs queued for each slot: what a server may have ahead.
QUEUED_PER_SLOT = 200


async def fetch_key(master: Caller) -> bytes:
    """Return the public key of a master; waits for one that does not answer yet.

    Raises Refusal for another version.
    """
    told = False
    while True:
        try:
            answer = await master.get("/v1/key")
        except (aiohttp.ClientError, TimeoutError, OSError, Refusal) as error:
            if isinstance(error, Refusal) and error.code != "unavailable":
                raise
            if not told:
                logger.warning("the master does not answer yet: %s", error)
            told = True
            await asyncio.sleep(1.0)
            continue
        if answer.get("protocol") != PROTOCOL:
            raise Refusal("other-version", f"the master has version {answer.get('protocol')!r:.20}, this {PROTOCOL}")
        return base64.b64decode(str(answer.get("key", "")))


class Downloader:
    """One download server. Lanes are threads; all else runs on the event loop."""

    def __init__(
        self, name: str, job: Job, master: Caller, public: bytes, slots: int, *, keep: float = 300.0
    ) -> None:
        """public: the master's key. slots: concurrent downloads. keep: seconds for results of a silent client."""
        self.name, self.process = name, secrets.token_hex(16)
        self._job, self._master, self._slots, self._keep = job, master, slots, keep
        self._lock = threading.Lock()
        self._clock = _core.Clock()
        # Lanes share clocks in any case, whether or not this process shares them with others.
        shared = shared_clocks(job, self._clock, 1)
        self._shared = shared or _core.Shared(self._clock)
        part = (job.memory or 1 << 30) // 4
        self.desk = Desk(
            name,
            self.process,
            _core.VerifyingKey(public),
            now(),
            wall=time.time(),
            places=slots * QUEUED_PER_SLOT,
            keep=keep,
            keep_bytes=part,
            queue_bytes=part,
            clocks=(clocks_of(job) if shared else None) or self.process,
        )
        self.address = ""
        self._lanes: dict[str, Lane] = {}
        self._running: set[Lane] = set()  # retired ones, too
        self._paces: dict[str, Pace] = {}
        self._free = Slots(slots)
        self._tasks: asyncio.TaskGroup | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: dict[Key, asyncio.Event] = {}
        self._is_ending = False
        self._speed = 0.0
        self._pushes = Pushes(self.name, self.process, self._next, self._heard, self.desk.mailbox)
        self.app = App(
            "downloader",
            {
                ("POST", "/v1/downloads"): Route(self._downloads, MAX_SUBMITTED, self._authorised),
                ("POST", "/v1/results"): Route(self._results, 4_096, self._authorised),
                ("GET", "/healthz"): Route(self._health),
                ("GET", "/metrics"): Route(self._metrics),
            },
        )

    async def _downloads(self, call: Call) -> Reply:
        """Accept requests with a grant."""
        service, client = key = self._authorised(call)
        receive = _receive_place(call)
        kind = call.fields.get("content-type", "")
        digest, size = digest_of(call.body), len(call.body)
        with self._lock:
            grant = self.desk.verify(call.fields.get("lycosa-grant", ""), service, client, digest, size, now())
        read = functools.partial(read_requests, call.body, kind, self._job.allow_ports, grant.urls)
        if size <= SMALL:
            requests = read()
        else:
            # Neither lanes nor other clients wait for what takes long to read.
            requests = await asyncio.to_thread(read)
            self._authorised(call)  # the service may have left the quotas meanwhile
        # Made before the grant is spent, and after the last wait: one that is retired meanwhile takes nothing more.
        lane = self._lane(service, bool(grant.ring))
        with self._lock:
            mailbox, batches = self.desk.accept(grant, requests, size, now())
        audit.note("submitted", serial=grant.serial, service=service, client=client, peer=call.peer, urls=grant.urls)
        for at, batch in batches:
            lane.add(at, batch)
        if receive is not None and self._tasks is not None:
            self._pushes.begin(self._tasks, key, receive, call.fields.get("accept", ""))
        return reply({"accepted": grant.urls, "process": self.process, "mailbox": mailbox}, 202)

    async def _results(self, call: Call) -> Reply:
        """Return a client's next results; waits for the first."""
        key = self._authorised(call)
        given = call.json()
        after = field(given, "after", int, 0)
        # A client that waits is not silent: it is heard again well before it would be dropped.
        wait = min(field(given, "wait", float, 0.0), MAX_WAIT, self._keep / 3)
        most = min(max(field(given, "max_bytes", int, MAX_RESULTS), 1), MAX_RESULTS)
        self._heard(key)
        body, kind, last, owed = await self._next(key, after, wait, most, call.fields.get("accept", ""))
        self._heard(key)  # it was there all the time
        fields = (
            ("lycosa-sequence", str(last)),
            ("lycosa-owed", str(owed)),
            ("lycosa-process", self.process),
            ("lycosa-mailbox", str(self.desk.mailbox(key) or 0)),
        )
        return Reply(200, body, fields, kind)

    async def _next(self, key: Key, after: int, wait: float, most: int, accept: str) -> tuple[bytes, str, int, int]:
        """Return a client's next results: body, media type, number of the last one, and how many are owed."""
        until, is_gathered = now() + wait, False
        while True:
            with self._lock:
                results = self.desk.results(key, after, most)
                owed = self.desk.owes(key)
            # Only for a client that the desk knows: names are anybody's.
            news = self._news.setdefault(key, asyncio.Event())
            left = until - now()
            is_enough = len(results) == owed or sum(len(one.content) for one in results) >= ENOUGH_BYTES
            if is_enough or is_gathered or left <= 0 or self._is_ending:
                break
            if results:
                is_gathered = True
                await asyncio.sleep(min(GATHER_RESULTS, left))
                continue
            news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), left)
        body, kind = write_results(results, accept)
        return body, kind, results[-1].sequence if results else after, owed

    def _heard(self, key: Key) -> None:
        """Note that a client is there."""
        with self._lock:
            self.desk.heard(key, now())

    async def _health(self, call: Call) -> Reply:
        """Tell whether it may start downloads."""
        is_well = self.desk.may_start(now())
        return reply({"reaches_master": is_well}, 200 if is_well else 503)

    async def _metrics(self, call: Call) -> Reply:
        """Tell counts to Prometheus, on this machine."""
        if not is_loopback(call.peer):
            raise Refusal("bad-token", "metrics are for this machine")
        desk = self.desk
        figures = {"queued": desk.queued, "kept_bytes": desk.bytes, "dropped_total": desk.dropped}
        text = "".join(f"lycosa_downloader_{name} {value}\n" for name, value in figures.items())
        return Reply(200, text.encode(), kind="text/plain; version=0.0.4; charset=utf-8")

    def _authorised(self, call: Call) -> tuple[str, str]:
        """Return service and client of a request whose token is one of the service's."""
        service, client = call.fields.get("lycosa-service", ""), call.fields.get("lycosa-client", "")
        settings = self.desk.services.get(service)
        if settings is None:
            if not self.desk.services:
                raise Refusal("fenced", "this download server has not heard of its master yet", 0.5)
            check_access(call, [token for one in self.desk.services.values() for token in one["tokens"]])
            # The master may know it since a moment: the next heartbeat tells.
            raise Refusal("other-server", f"{service!r:.100} is not one of this download server's services", 1.0)
        check_access(call, settings["tokens"])
        if not NAME.fullmatch(client):
            raise Refusal("malformed", "lycosa-client: 1 to 64 letters, digits, dots, hyphens, underscores")
        return service, client

    def _lane(self, service: str, ringed: bool) -> Lane:
        """Return a service's lane, which is started with its first requests, or as the master's terms change.

        ringed: whether its sites are this server's by the ring.
        """
        lane = self._lanes.get(service)
        terms = Terms.of(self.desk.services, service, ringed)
        if lane is not None and not lane.fits(terms):
            self._retire(service)
            lane = None
        if lane is None:
            job = lane_job(self._job, terms, self._slots)
            pace = self._paces.setdefault(service, Pace())
            shared = (self._lock, pace, self._free, self._shared, self._clock)
            lane = Lane(service, job, terms, self.desk, *shared, self._tell)
            with self._lock:
                lane.set_fence(self.desk.fence(), has_moved=False)
            self._lanes[service] = lane
            if len(self._lanes) == MOST_SHARES + 1:
                logger.warning("more than %d services are busy: memory is divided among so many", MOST_SHARES)
            self._set_paces()
            if self._tasks is not None:
                self._tasks.create_task(self._run(lane))
        return lane

    def _retire(self, service: str) -> None:
        """Have a service's lane end once nothing is left of it."""
        self._lanes.pop(service).retire()

    async def _run(self, lane: Lane) -> None:
        """Run a lane on a thread of its own."""
        self._running.add(lane)
        try:
            await run_on_thread(lane)
        finally:
            self._running.discard(lane)

    def _set_paces(self) -> None:
        """Set the rates of services as the master has them; what was granted to one that is gone goes on."""
        with self._lock:
            for service, settings in self.desk.services.items():
                if service in self._paces:
                    self._paces[service].set(settings["rate"], settings["bytes_per_second"])
        for service in [service for service in self._lanes if service not in self.desk.services]:
            self._retire(service)

    def _tell(self, clients: Collection[Key]) -> None:
        """Wake those who wait for a client's results; called by lanes."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake, clients)

    def _wake(self, clients: Collection[Key]) -> None:
        """Wake those who wait for a client's results."""
        for client in clients:
            if (news := self._news.get(client)) is not None:
                news.set()

    async def beat(self) -> None:
        """Send heartbeats for ever; while the master does not answer, what was granted goes on for a while."""
        period, silent, refused, done = 0.0, False, "", 0
        while True:
            sent = now()
            with self._lock:
                beat = self.desk.beat(self.address, self._slots, self._speed)
            given = {**beat._asdict(), "accepted": list(beat.accepted), "protocol": PROTOCOL}
            try:
                answer = await self._master.post("/v1/heartbeats", given, max(2 * period, 2.0))
            except Refusal as refusal:
                # A token that is wrong from the beginning is a mistake here; later on it is one of the quotas, which
                # is mended without a loss.
                if refusal.code in ("other-version", "name-in-use") or (refusal.code == "bad-token" and not period):
                    raise
                if refusal.code != refused:
                    logger.warning("the master refuses a heartbeat, what was granted goes on for now: %s", refusal)
                refused = refusal.code
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                if not silent:
                    logger.warning("the master does not answer (%s); what was granted goes on for now", error)
                silent = True
            else:
                if silent:
                    logger.info("the master answers again")
                silent, refused, period = False, "", answer["period"]
                with self._lock:
                    has_moved = self.desk.answered(answer, sent, now())
                    for lane in self._running:
                        lane.set_fence(self.desk.fence(), has_moved)
                self._set_paces()
                for lane in self._running:
                    if lane.service in self.desk.services:
                        lane.set_terms(Terms.of(self.desk.services, lane.service, lane.terms.ringed))
            with self._lock:
                dropped = self.desk.drop(now())
                total = self.desk.finished()
                self._news = {key: news for key, news in self._news.items() if self.desk.mailbox(key) is not None}
            for service, client, count in dropped:
                audit.note("dropped", service=service, client=client, urls=count)
                logger.warning(
                    "client %s of %s is silent: its %d URLs and results are dropped", client, service, count
                )
            await asyncio.sleep(max((period or 1.0) - (now() - sent), 0.01))
            self._speed = (total - done) / max(now() - sent, 0.01)
            done = total

    @contextlib.asynccontextmanager
    async def running(self, listen: str, tls: Tls | None = None, address: str | None = None) -> AsyncIterator[str]:
        """Serve and download; yields the URL at which clients reach it. address: another one, behind a proxy."""
        # Services without tokens are refused to other machines one by one: which these are is not known yet.
        bound = bind(listen, is_closed=True)
        async with serving(self.app, bound, tls) as url, asyncio.TaskGroup() as tasks:
            self._tasks, self._loop = tasks, asyncio.get_running_loop()
            self.address = address or url
            beating = tasks.create_task(self.beat())
            try:
                yield self.address
            finally:
                beating.cancel()
                self._pushes.end()
                self._is_ending = True
                self._wake(list(self._news))
                for lane in self._running:
                    lane.close()


async def run_on_thread(lane: Lane) -> None:
    """Run a lane on a thread of its own; raises what it raises."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def work() -> None:
        error: BaseException | None = None
        try:
            lane.run()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=work, name=f"lycosa-lane-{lane.service}", daemon=True).start()
    await ended


def _receive_place(call: Call) -> ReceivingPlace | None:
    """Return where a client receives, `None` if it fetches results.

    Raises Refusal for a port where other protocols' servers listen.
    """
    text = call.fields.get("lycosa-receive-port")
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 5 or not 1_024 <= int(text) <= 65_535:
        raise Refusal("malformed", f"lycosa-receive-port: {text:.20}; allowed: 1024 to 65535")
    try:
        _core.check_port(f"http://receiver.invalid:{text}/", [])
    except SettingError:
        raise Refusal("malformed", f"lycosa-receive-port: {text} is a port of another protocol") from None
    key = call.fields.get("lycosa-receive-key", "")
    if not RECEIVE_KEY.fullmatch(key):
        raise Refusal("malformed", "lycosa-receive-key: 16 to 256 letters, digits, - and _")
    certificate = call.fields.get("lycosa-receive-certificate")
    if certificate is not None and not FINGERPRINT.fullmatch(certificate):
        raise Refusal("malformed", "lycosa-receive-certificate: SHA-256, 64 hexadecimal digits")
    return ReceivingPlace(call.peer, int(text), key, certificate)
