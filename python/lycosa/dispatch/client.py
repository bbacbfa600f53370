"""A client: has URLs downloaded by the servers of a master.

async with Client("http://127.0.0.1:7700", service="news") as client:
    async for response in client.download(["https://example.com/"]):
        print(response.status, response.url)
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import secrets
import ssl
import time
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import aiohttp

from lycosa import _core
from lycosa.dispatch.calls import Caller, tls_context
from lycosa.dispatch.grant import digest_of
from lycosa.dispatch.jsons import read_json
from lycosa.dispatch.pending import Pending, Place
from lycosa.dispatch.protocol import ENOUGH_REQUESTS, GATHER, JSON, MAX_PARTS, REQUESTS, RESPONSES, SITE
from lycosa.dispatch.refusal import CODES, Refusal
from lycosa.errors import LycosaError
from lycosa.records import Request, Requests, Responses

if TYPE_CHECKING:
    from lycosa.dispatch.receiver import Receiver

logger = logging.getLogger("lycosa")

#: URLs in a grant at most, and URLs under way, unless told otherwise.
BATCH, UNDER_WAY = 256, 20_000

#: Jitter of waits, as a part of them: clients that were refused at one moment do not ask at one moment again.
JITTER = 0.1

#: Seconds between tries of a peer that does not answer: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0

#: Seconds for which results are waited for in one request; batches of results that wait for the caller.
WAIT, READY = 20.0, 64

#: Bytes of a submission, of which download servers take twice as many.
MAX_SUBMITTED = 32 << 20

#: Tries of a submission whose answer did not come.
TRIES = 4


class DispatchError(LycosaError):
    """The service refuses a client for good: its name, its token or its requests are wrong."""


class _Part(NamedTuple):
    """Requests of one grant."""

    server: str | None
    requests: list[Request]
    encoded: bytes


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
        self.pending: Pending[Request] = Pending()
        self._token, self._batch, self._under_way = token, batch, under_way
        self._context: ssl.SSLContext | None = tls_context(ca_file, *(certificate or (None, None)))
        self._master = Caller(master, token, context=self._context)
        self._servers: dict[str, Caller] = {}
        self._members: dict[str, Any] = {}
        self._ring: _core.Ring | None = None
        self._receiver: Receiver | None = None
        if receive:
            from lycosa.dispatch.receiver import Receiver  # with a server, which others need not load

            at = receive if isinstance(receive, str) else "127.0.0.1:0"
            self._receiver = Receiver(self.name, self._settle, at, certificate)
        self._ready: asyncio.Queue[Responses | None] = asyncio.Queue(READY)
        self._work, self._collecting = asyncio.Event(), dict[Place, asyncio.Task[None]]()
        self._tasks: asyncio.TaskGroup | None = None
        self._main: asyncio.Task[None] | None = None
        self._told = ""  # why URLs wait, as the log has it
        self._forgotten = 0  # how often all that was pending was forgotten
        self._asked = self._answered = 0  # number of the latest question about members; of the one answered last
        self._pushes: int | None = 0  # results that were pushed until the last look at mailboxes; None: told of none
        self._after: dict[Place, int] = {}  # what was taken over of each download server
        self._error: Exception | None = None
        self._is_downloading = False

    async def download(self, urls: Iterable[str | Request]) -> AsyncGenerator[Any, None]:
        """Yield a ``Response`` for each URL or request, as they come; redirects are responses like any other.

        Who leaves it early has all forgotten that is pending. Raises DispatchError where the service refuses the
        client, and while another ``download`` of the client has not ended; SettingError for a URL that is none.
        """
        requests = [Request(url) if isinstance(url, str) else url for url in urls]
        if self._is_downloading:
            raise DispatchError("one download() at a time: add() and results() take more requests at any time")
        self._is_downloading, left = True, len(requests)
        try:
            self.add(requests)
            while left:
                for response in await self.results():
                    left -= 1
                    yield response
        finally:
            self._is_downloading = False
            if left:
                self.pending.forget()
                self._forgotten += 1
                while not self._ready.empty() and self._error is None:
                    self._ready.get_nowait()

    def add(self, requests: Iterable[Request]) -> None:
        """Queue requests; their results come from ``results``."""
        self.pending.add(requests)
        self._work.set()

    async def results(self) -> Responses:
        """Return the next results, of any requests; waits for the first. Raises DispatchError."""
        found = await self._ready.get()
        if found is None:
            self._ready.put_nowait(None)  # for whoever asks next
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
                opened.push_async_callback(self._close)
                if self._receiver is not None:
                    await opened.enter_async_context(self._receiver.listening())
                self._tasks = await opened.enter_async_context(asyncio.TaskGroup())
                self._tasks.create_task(self._ask())
                self._tasks.create_task(self._watch())
        except* (DispatchError, Refusal, aiohttp.ClientError, OSError, TimeoutError) as errors:
            first = errors.exceptions[0]
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            self._error = first if isinstance(first, DispatchError) else DispatchError(str(first))
        finally:
            if self._ready.full():
                self._ready.get_nowait()
            self._ready.put_nowait(None)

    async def _close(self) -> None:
        """Close all connections."""
        for caller in [self._master, *self._servers.values()]:
            await caller.close()

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
                await asyncio.sleep(GATHER)
                room = self._under_way - self.pending.under_way()
            try:
                if not self._members or (self._members["divided"] and self._ring is None):
                    await self._ask_members()
                    if self._members["divided"] and self._ring is None:
                        raise Refusal("ring-changed", after=self._members["period"] / 4)
                most = self._batch * max(len(self._members["servers"]), 1)
                wait = await self._ask_once(min(room, most, self._members["most"], MAX_PARTS))
                if wait:
                    await asyncio.sleep(_jittered(wait))
                pause = FIRST_PAUSE
            except Refusal as refusal:
                if not CODES[refusal.code].again:
                    raise DispatchError(str(refusal)) from None
                await asyncio.sleep(_jittered(max(refusal.after, pause)))
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                if pause == FIRST_PAUSE:
                    logger.warning("the master does not answer: %s; trying again", error)
                await asyncio.sleep(_jittered(pause))
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _ask_once(self, most: int) -> float:
        """Ask one question, and submit what is granted; returns the seconds to wait before the next one."""
        taken, before, forgotten = self.pending.take(most), self._members["most"], self._forgotten
        parts = self._parts(taken)
        asked = [
            {"server": part.server, "count": len(part.requests), "digest": digest_of(part.encoded)} for part in parts
        ]
        try:
            question = {"service": self.service, "client": self.name, "parts": asked}
            number = self._number()
            answer = await self._master.post("/v1/grants", question)
        except BaseException:
            if forgotten == self._forgotten:
                self.pending.put_back(taken)
            raise
        self._take_members(answer, number)
        if forgotten != self._forgotten:
            return 0.0
        now, waits = time.monotonic(), list[float]()
        async with asyncio.TaskGroup() as submitting:
            for part, grant in zip(parts, answer["grants"], strict=True):
                if "grant" in grant:
                    submitting.create_task(self._submit(part, grant))
                    continue
                refusal = Refusal(grant["error"], grant["detail"].removeprefix(f"{grant['error']}: "), grant["after"])
                if refusal.code == "too-large" and self._members["most"] < before:
                    self.pending.put_back(part.requests)  # the quota has become smaller meanwhile
                elif not CODES[refusal.code].again:
                    raise DispatchError(str(refusal))
                else:
                    waits.append(max(refusal.after, 0.001))
                    self.pending.park(part.requests, now + _jittered(waits[-1]))
                    if refusal.code != self._told:
                        self._told = refusal.code
                        logger.info("%s; trying again", refusal)
        # Asking for others while the service has no quota, or no server has room, would be refused, too.
        return min(waits) if len(waits) == len(parts) else 0.0

    def _parts(self, requests: list[Request]) -> list[_Part]:
        """Divide requests by the ring, if the service's URLs are divided, and into grants of at most a batch."""
        batch, most = Requests(requests), max(min(self._batch, self._members["most"]), 1)
        divided: dict[str | None, Requests] = {None: batch}
        if self._members["divided"] and self._ring is not None:
            divided = dict(batch.split(self._ring, SITE).items())
        parts = []
        for server, of_server in divided.items():
            listed = list(of_server)
            for begin in range(0, len(listed), most):
                parts += _encoded(server, listed[begin : begin + most])
        if len(divided) > 1:
            # What has waited longest comes first, for a quota may not suffice for all.
            position = {request.url: -index for index, request in enumerate(reversed(requests))}
            parts.sort(key=lambda part: position.get(part.requests[0].url, 0))
        return parts

    async def _submit(self, part: _Part, grant: dict[str, Any]) -> None:
        """Submit requests with their grant; if that fails for good, they wait again."""
        serial, server = grant["serial"], grant["server"]
        member = self._members["servers"].get(server)
        if member is None:
            self.pending.put_back(part.requests)
            return
        place = (server, member["process"])
        # Results may come before the answer.
        self.pending.granted(serial, place, part.requests)
        fields = {"content-type": REQUESTS, "accept": RESPONSES, "lycosa-grant": grant["grant"]}
        if self._receiver is not None:
            fields |= self._receiver.fields()
        caller = self._caller(member["address"])
        for number in range(TRIES):
            try:
                _, answer = await caller.send("/v1/downloads", part.encoded, fields)
                self.pending.accepted(serial, read_json(answer)["mailbox"])
                break
            except Refusal as refusal:
                if refusal.code == "spent-serial" and number > 0:
                    break  # it had arrived, and its answer was lost
                self.pending.failed(serial)
                if not CODES[refusal.code].again:
                    raise DispatchError(str(refusal)) from None
                await asyncio.sleep(_jittered(refusal.after))
                return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                logger.info("download server %s does not answer: %s", server, error)
                await asyncio.sleep(_jittered(FIRST_PAUSE * 2**number))
        else:
            self.pending.failed(serial)
            return
        if self._receiver is None and place not in self._collecting and self._tasks is not None:
            self._collecting[place] = self._tasks.create_task(self._collect(place, caller))

    async def _collect(self, place: Place, caller: Caller) -> None:
        """Fetch the results of one download server, as long as something is under way there."""
        pause, is_wanted = FIRST_PAUSE, True
        try:
            # The last question, with nothing under way any more, confirms what was taken over before.
            while is_wanted or self.pending.places().get(place):
                is_wanted = bool(self.pending.places().get(place))
                try:
                    content = await self._results(place, caller, WAIT if is_wanted else 0)
                except (aiohttp.ClientError, TimeoutError, OSError):
                    content = None
                if content:
                    pause = FIRST_PAUSE
                    await self._settle(content)
                elif is_wanted:
                    # A server that has nothing, or does not answer, is not asked at once again.
                    await asyncio.sleep(_jittered(pause))
                    pause = min(pause * 2, LONGEST_PAUSE if content is None else 1.0)
        finally:
            self._collecting.pop(place, None)

    async def _results(self, place: Place, caller: Caller, wait: float) -> bytes | None:
        """Fetch results of a download server, which confirms those before; `None` if it does not serve now."""
        body = b'{"after":%d,"wait":%d}' % (self._after.get(place, 0), wait)
        try:
            told, content = await caller.send("/v1/results", body, {"content-type": JSON, "accept": RESPONSES})
        except Refusal as refusal:
            if not CODES[refusal.code].again:
                raise DispatchError(str(refusal)) from None
            if refusal.code == "unknown-client":
                self._again(self.pending.lost(place))
            return None
        if told.get("lycosa-process") != place[1]:
            self._again(self.pending.lost(place))
            return None
        self._again(self.pending.only(place, int(told.get("lycosa-mailbox", "0"))))
        self._after[place] = max(self._after.get(place, 0), int(told.get("lycosa-sequence", "0")))
        return content

    def _again(self, count: int) -> None:
        """Ask again for requests whose results are lost."""
        if count:
            self._work.set()

    async def _settle(self, content: bytes) -> None:
        """Pass results on, each request's once."""
        if not content:
            return
        responses = Responses.decode(content)
        settled: list[Request | None] = []
        again = []
        for serial, index, is_cancelled in responses.tickets():
            request = self.pending.settle(serial, index)
            if is_cancelled and request is not None:
                again.append(request)  # its server has not started it
                request = None
            settled.append(request)
        self.pending.reopen(again)
        self._work.set()
        answered = responses.answering(settled)
        if len(answered):
            await self._ready.put(answered)

    async def _watch(self) -> None:
        """Have requests wait again whose download server is gone."""
        while True:
            await asyncio.sleep(_jittered(self._members.get("period", 1.0)))
            if not self.pending.under_way():
                continue
            try:
                await self._ask_members()
            except Refusal as refusal:
                # Its service is gone from the quotas, or its token: nothing would come any more.
                if not CODES[refusal.code].again:
                    raise DispatchError(str(refusal)) from None
            except (aiohttp.ClientError, TimeoutError, OSError):
                pass
            if self._receiver is not None:
                await self._look_at_mailboxes()

    async def _look_at_mailboxes(self) -> None:
        """Have requests wait again whose results were dropped: nobody pushes that. Fetch what could not be pushed."""
        pushes = 0 if self._receiver is None else self._receiver.pushes
        for place in self.pending.places():
            member = self._members["servers"].get(place[0])
            if member is None or member["process"] != place[1]:
                continue
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                while content := await self._results(place, self._caller(member["address"]), 0):
                    before = self.pending.settled
                    await self._settle(content)
                    if self.pending.settled > before and pushes == self._pushes:
                        self._pushes = None
                        text = "no results come to the receiving port (%s has some): they are fetched"
                        logger.warning(text, place[0])
        if self._pushes is not None:
            self._pushes = pushes

    async def _ask_members(self) -> None:
        """Ask the master which download servers are live."""
        number = self._number()
        self._take_members(await self._master.post("/v1/servers", {"service": self.service}), number)

    def _number(self) -> int:
        """Return the number of a question to the master: answers may come in another order."""
        self._asked += 1
        return self._asked

    def _take_members(self, answer: dict[str, Any], number: int) -> None:
        """Take over which download servers are live, and the ring, unless a later question is answered already."""
        if number < self._answered:
            return
        self._answered = number
        servers = answer["servers"]
        if answer["members"] != self._members.get("members"):
            self._ring = _core.Ring(answer["members"]) if answer["members"] else None
        self._members = {name: value for name, value in answer.items() if name != "grants"}
        if answer["settled"] and self.pending.live({name: one["process"] for name, one in servers.items()}):
            self._work.set()

    def _caller(self, address: str) -> Caller:
        """Return the caller of a download server."""
        caller = self._servers.get(address)
        if caller is None:
            fields = {"lycosa-service": self.service, "lycosa-client": self.name}
            caller = self._servers[address] = Caller(address, self._token, fields, self._context)
        return caller


def _encoded(server: str | None, requests: list[Request]) -> list[_Part]:
    """Return requests as parts that a download server takes."""
    encoded = Requests(requests).declared().encode()
    if len(encoded) <= MAX_SUBMITTED or len(requests) == 1:
        return [_Part(server, requests, encoded)]
    half = len(requests) // 2
    return [*_encoded(server, requests[:half]), *_encoded(server, requests[half:])]


def _jittered(seconds: float) -> float:
    """Return a wait that is a little longer, by chance."""
    return seconds * (1 + JITTER * random.random())  # noqa: S311  # nobody gains by guessing it
