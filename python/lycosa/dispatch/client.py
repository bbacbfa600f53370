"""A client: has URLs downloaded by the servers of a master.

async with Client("http://127.0.0.1:7700", service="news") as client:
    async for response in client.download(["https://example.com/"]):
        print(response.status, response.url)
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from lycosa.dispatch.calls import Caller, tls_context
from lycosa.dispatch.exchange import FIRST_PAUSE, LONGEST_PAUSE, Exchange, jittered
from lycosa.dispatch.grant import digest_of
from lycosa.dispatch.members import Members
from lycosa.dispatch.parts import Wanted, divide
from lycosa.dispatch.pending import Pending
from lycosa.dispatch.protocol import ENOUGH_REQUESTS, GATHER_REQUESTS, MAX_PARTS
from lycosa.dispatch.ready import Ready
from lycosa.dispatch.refusal import CODES, DispatchError, Refusal
from lycosa.records import Request, Responses

if TYPE_CHECKING:
    from lycosa.dispatch.receiver import Receiver

__all__ = ["Client", "DispatchError"]

logger = logging.getLogger("lycosa")

#: URLs in a grant at most, and URLs under way, unless told otherwise.
BATCH, UNDER_WAY = 256, 20_000

#: Turns in which the event loop ends a generator that was left by ``break``.
TURNS = 4


class Client:
    """Has URLs downloaded. An async context manager; its methods belong to one event loop."""

    def __init__(
        self,
        master: str,
        service: str,
        *,
        token: str | None = None,
        receive: bool | str = False,
        name: str | None = None,
        batch: int = BATCH,
        under_way: int = UNDER_WAY,
        ca_file: Path | None = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        """master: its URL, or several with commas, of which one serves.

        service: a name of the quotas; token: one of its tokens, if it has some.

        receive: whether results are pushed to a port that the client opens, as published: on this machine, or at an
        address and port such as "10.0.0.7:0" that download servers reach. Else it fetches them over connections that
        it opens, which firewalls let pass. name: of this client, unique in the service; default:
        random. batch: URLs in a grant at most.
        under_way: URLs at download servers at most. ca_file: roots of the servers' certificates. certificate: the
        client's own with its key, for mutual TLS, and to receive results by TLS: they are pushed to who has this one.
        """
        self.service, self.name = service, name or f"client-{secrets.token_hex(8)}"
        self.pending: Pending[Wanted] = Pending(lambda one: not one.ready.is_dropped)
        self._batch, self._under_way = batch, under_way
        context = tls_context(ca_file, *(certificate or (None, None)))
        self._master = Caller(master, token, context=context)
        self._members = Members()
        self._work = asyncio.Event()
        self._exchange = Exchange(service, self.name, self.pending, self._work.set, token, context)
        self._receiver: Receiver | None = None
        if receive:
            at = receive if isinstance(receive, str) else "127.0.0.1:0"
            self._receiver = self._exchange.receive(at, certificate)
        self._added = Ready()  # results of what was added
        self._downloading: Ready | None = None  # those of the ``download`` under way
        self._main: asyncio.Task[None] | None = None
        self._told = ""  # why URLs wait, as the log has it
        self._error: Exception | None = None
        self._is_over = False

    async def download(self, urls: Iterable[str | Request]) -> AsyncGenerator[Any, None]:
        """Yield a ``Response`` for each URL or request, as they come; redirects are responses like any other.

        Whoever leaves it early wants no more results of it: what is not granted yet is not asked for any more.

        Raises DispatchError where the service refuses the client, and while another ``download`` of the client has
        not ended; SettingError for a URL that is none.
        """
        ready = Ready()
        wanted = [Wanted(Request(url) if isinstance(url, str) else url, ready) for url in urls]
        for _ in range(TURNS):
            if self._downloading is None:
                break
            await asyncio.sleep(0)
        else:
            raise DispatchError("one download() at a time: add() and results() take more requests at any time")
        self._downloading = ready
        if self._is_over:
            ready.end()
        try:
            self._queue(wanted)
            left = len(wanted)
            while left:
                for response in await self._next(ready):
                    left -= 1
                    yield response
        finally:
            self._downloading = None
            ready.drop()
            self.pending.forget()
            self._work.set()

    def add(self, requests: Iterable[Request]) -> None:
        """Queue requests; their results come from ``results``."""
        self._queue(Wanted(request, self._added) for request in requests)

    async def results(self) -> Responses:
        """Return the next results of what was added; waits for the first. Raises DispatchError.

        Whoever has a ``download`` under way, too, takes from both: the results of one wait for those of the other
        once many of them were not taken.
        """
        return await self._next(self._added)

    def _queue(self, wanted: Iterable[Wanted]) -> None:
        """Queue requests."""
        self.pending.add(wanted)
        self._work.set()

    async def _next(self, ready: Ready) -> Responses:
        """Return the next results; raises DispatchError where there will be none."""
        found = await ready.get()
        if found is None:
            raise self._error or DispatchError("the client is closed")
        return found

    async def __aenter__(self) -> Self:
        """Begin."""
        self._main = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End: what is under way is left to the download servers, which drop it after a while."""
        if self._main is not None:
            self._main.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._main

    async def _run(self) -> None:
        """Ask, collect and watch until the end."""
        try:
            async with contextlib.AsyncExitStack() as opened:
                opened.push_async_callback(self._master.close)
                if self._receiver is not None:
                    await opened.enter_async_context(self._receiver.listening())
                tasks = await opened.enter_async_context(self._exchange.running())
                tasks.create_task(self._ask())
                tasks.create_task(self._watch())
        except* (DispatchError, Refusal, aiohttp.ClientError, OSError, TimeoutError) as errors:
            first = errors.exceptions[0]
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            self._error = first if isinstance(first, DispatchError) else DispatchError(str(first))
        finally:
            self._is_over = True
            for ready in (self._added, self._downloading):
                if ready is not None:
                    ready.end()

    async def _ask(self) -> None:
        """Ask for grants as long as requests wait, and submit what is granted."""
        pause = FIRST_PAUSE
        while True:
            next_due = self.pending.due(time.monotonic())
            room = self._under_way - self.pending.under_way()
            if not self.pending.waiting() or room <= 0:
                self._work.clear()
                within = None if next_due is None else max(next_due - time.monotonic(), 0.0)
                if room <= 0:
                    within = 0.05 if within is None else min(within, 0.05)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), within)
                continue
            if self.pending.waiting() < min(ENOUGH_REQUESTS, self._under_way // 2):
                await asyncio.sleep(GATHER_REQUESTS)
                room = self._under_way - self.pending.under_way()
            try:
                if not self._members.known or self._members.lacks_ring():
                    await self._ask_members()
                    if self._members.lacks_ring():
                        raise Refusal("ring-changed", after=self._members.period() / 4)
                most = self._batch * max(len(self._members.servers()), 1)
                wait = await self._ask_once(min(room, most, self._members.most(), MAX_PARTS))
                if wait:
                    await asyncio.sleep(jittered(wait))
                pause = FIRST_PAUSE
            except Refusal as refusal:
                if not CODES[refusal.code].again:
                    raise DispatchError(str(refusal)) from None
                await asyncio.sleep(jittered(max(refusal.after, pause)))
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                if pause == FIRST_PAUSE:
                    logger.warning("the master does not answer: %s; trying again", error)
                await asyncio.sleep(jittered(pause))
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _ask_once(self, most: int) -> float:
        """Ask one question, and submit what is granted; returns the seconds to wait before the next one."""
        taken = self.pending.take(most)
        since, allowed = self._members.taken, self._members.most()
        ring = self._members.ring if self._members.is_divided() else None
        parts = divide(taken, ring, max(min(self._batch, allowed), 1))
        asked = [
            {"server": part.server, "count": len(part.requests), "digest": digest_of(part.encoded)} for part in parts
        ]
        try:
            question = {"service": self.service, "client": self.name, "parts": asked}
            answer = await self._master.post("/v1/grants", question)
        except BaseException:
            self.pending.put_back(taken)
            raise
        self._take_members(answer, since)
        now, waits = time.monotonic(), list[float]()
        async with asyncio.TaskGroup() as submitting:
            for part, grant in zip(parts, answer["grants"], strict=True):
                if "grant" in grant:
                    submitting.create_task(self._exchange.submit(part, grant, answer["servers"]))
                    continue
                refusal = Refusal(grant["error"], grant["detail"].removeprefix(f"{grant['error']}: "), grant["after"])
                if refusal.code == "too-large" and answer["most"] < allowed:
                    self.pending.put_back(part.requests)  # the quota has become smaller meanwhile
                elif not CODES[refusal.code].again:
                    raise DispatchError(str(refusal))
                else:
                    waits.append(max(refusal.after, 0.001))
                    self.pending.park(part.requests, now + jittered(waits[-1]))
                    if refusal.code != self._told:
                        self._told = refusal.code
                        logger.info("%s; trying again", refusal)
        # Asking for others while the service has no quota, or no server has room, would be refused, too.
        return min(waits) if len(waits) == len(parts) else 0.0

    async def _watch(self) -> None:
        """Have requests wait again whose download server is gone."""
        while True:
            await asyncio.sleep(jittered(self._members.period()))
            if not self.pending.under_way():
                continue
            try:
                await self._ask_members()
            except Refusal as refusal:
                if not CODES[refusal.code].again:  # such as a service that is not in the quotas any more
                    raise DispatchError(str(refusal)) from None
            except (aiohttp.ClientError, TimeoutError, OSError):
                pass  # what is under way goes on without the master
            await self._exchange.look(self._members)

    async def _ask_members(self) -> None:
        """Ask the master which download servers are live."""
        since = self._members.taken
        self._take_members(await self._master.post("/v1/servers", {"service": self.service}), since)

    def _take_members(self, answer: dict[str, Any], since: int) -> None:
        """Take over which download servers are live; what is granted to others waits again. since: of ``Members``."""
        if self._members.take(answer, since) and answer["settled"] and self.pending.live(self._members.processes()):
            self._work.set()
