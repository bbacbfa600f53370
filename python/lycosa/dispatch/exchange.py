"""What a client has to do with download servers: it submits requests, and takes results, fetched or pushed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from lycosa.dispatch.calls import Caller
from lycosa.dispatch.jsons import read_json
from lycosa.dispatch.members import Members
from lycosa.dispatch.parts import Part, Wanted
from lycosa.dispatch.pending import Pending, Place
from lycosa.dispatch.protocol import JSON, REQUESTS, RESPONSES
from lycosa.dispatch.refusal import CODES, DispatchError, Refusal
from lycosa.records import Responses

if TYPE_CHECKING:
    from lycosa.dispatch.receiver import Receiver

logger = logging.getLogger("lycosa")

#: Jitter of waits, as a part of them: clients that were refused at one moment do not ask at one moment again.
JITTER = 0.1

#: Seconds between tries of a peer that does not answer: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0

#: Seconds for which results are waited for in one request, and bytes of them at most: memory of 4 MiB and more is
#: given back to the system each time, and taken again page by page.
WAIT, MAX_RESULTS = 20.0, 3 << 20

#: Tries of a submission whose answer did not come.
TRIES = 4

#: Seconds for which results that are pushed wait until the caller takes others, before they are refused: less than
#: their server waits for an answer.
HELD_UP = 10.0


class Exchange:
    """A client's calls of download servers, and theirs of it."""

    def __init__(
        self,
        service: str,
        name: str,
        pending: Pending[Wanted],
        wake: Callable[[], object],
        token: str | None,
        context: ssl.SSLContext | None,
    ) -> None:
        """name: the client's. pending: its requests. wake: is called where some may be asked for again."""
        self._service, self._name, self._pending, self._wake = service, name, pending, wake
        self._token, self._context = token, context
        self._callers: dict[str, Caller] = {}  # by address
        self._collecting: dict[Place, asyncio.Task[None]] = {}
        self._after: dict[Place, int] = {}  # what was taken over of each download server
        self._unreached: set[Place] = set()  # download servers that do not reach the receiving port
        self._receiver: Receiver | None = None
        self._held_up = 0  # batches of results that wait until the caller has taken others
        self._is_free = asyncio.Event()  # none does
        self._is_free.set()
        self._tasks: asyncio.TaskGroup | None = None

    def receive(self, listen: str, certificate: tuple[Path, Path] | None) -> Receiver:
        """Return what download servers push results to from now on. certificate: with its key, to receive by TLS."""
        from lycosa.dispatch.receiver import Receiver  # with a server, which others need not load

        self._receiver = Receiver(self._name, self.take, listen, certificate)
        return self._receiver

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.TaskGroup]:
        """Fetch results; yields the group of the tasks that do."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                yield self._tasks
        finally:
            for caller in self._callers.values():
                await caller.close()

    async def submit(self, part: Part, grant: dict[str, Any], servers: dict[str, dict[str, Any]]) -> None:
        """Submit requests with their grant; if that fails for good, they wait again. servers: as granted."""
        serial, server = grant["serial"], grant["server"]
        if all(one.ready.is_dropped for one in part.requests):
            return  # since they were asked for, nobody wants them any more
        member = servers.get(server)
        if member is None:
            self._pending.put_back(part.requests)
            return
        place = (server, member["process"])
        # Results may come before the answer.
        self._pending.granted(serial, place, part.requests)
        fields = {"content-type": REQUESTS, "accept": RESPONSES, "lycosa-grant": grant["grant"]}
        is_pushed = self._receiver is not None and place not in self._unreached
        if self._receiver is not None and is_pushed:
            fields |= self._receiver.fields()
        caller = self._caller(member["address"])
        for number in range(TRIES):
            try:
                _, answer = await caller.send("/v1/downloads", part.encoded, fields)
                self._pending.accepted(serial, read_json(answer)["mailbox"])
                break
            except Refusal as refusal:
                if refusal.code == "spent-serial" and number > 0:
                    self._pending.accepted(serial, 0)  # it had arrived, and its answer was lost
                    break
                self._pending.failed(serial)
                if not CODES[refusal.code].again:
                    raise DispatchError(str(refusal)) from None
                await asyncio.sleep(jittered(refusal.after))
                return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                logger.info("download server %s does not answer: %s", server, error)
                await asyncio.sleep(jittered(FIRST_PAUSE * 2**number))
        else:
            self._pending.failed(serial)
            return
        if not is_pushed:
            self._begin_collecting(place, caller)

    def _begin_collecting(self, place: Place, caller: Caller) -> None:
        """Fetch the results of one download server from now on, unless that is being done."""
        if place not in self._collecting and self._tasks is not None:
            self._collecting[place] = self._tasks.create_task(self._collect(place, caller))

    async def _collect(self, place: Place, caller: Caller) -> None:
        """Fetch the results of one download server, as long as something is under way there."""
        pause, is_wanted = FIRST_PAUSE, True
        try:
            # The last question, with nothing under way any more, confirms what was taken over before.
            while is_wanted or place in self._pending.places():
                is_wanted = place in self._pending.places()
                try:
                    last, content = await self._results(place, caller, WAIT if is_wanted else 0)
                    self._after[place] = max(self._after.get(place, 0), last)
                except (aiohttp.ClientError, TimeoutError, OSError):
                    content = None
                if content:
                    pause = FIRST_PAUSE
                    await self.settle(content)
                elif is_wanted:
                    # A server that has nothing, or does not answer, is not asked at once again.
                    await asyncio.sleep(jittered(pause))
                    pause = min(pause * 2, LONGEST_PAUSE if content is None else 1.0)
        finally:
            self._collecting.pop(place, None)

    async def _results(
        self, place: Place, caller: Caller, wait: float, most: int = MAX_RESULTS
    ) -> tuple[int, bytes | None]:
        """Fetch results of a download server, which confirms those taken over; `None`: it does not serve now.

        most: bytes, but one result at least. Returns the number of the last one, too; 0 without one.
        """
        body = b'{"after":%d,"wait":%d,"max_bytes":%d}' % (self._after.get(place, 0), wait, most)
        try:
            told, content = await caller.send("/v1/results", body, {"content-type": JSON, "accept": RESPONSES})
        except Refusal as refusal:
            if not CODES[refusal.code].again:
                raise DispatchError(str(refusal)) from None
            if refusal.code == "unknown-client":
                self._again(self._pending.lost(place))
            return 0, None
        if told.get("lycosa-process") != place[1]:
            self._again(self._pending.lost(place))
            return 0, None
        self._again(self._pending.only(place, int(told.get("lycosa-mailbox", "0"))))
        return int(told.get("lycosa-sequence", "0")) if content else 0, content

    def _again(self, count: int) -> None:
        """Ask again for requests whose results are lost."""
        if count:
            self._wake()

    async def take(self, content: bytes) -> None:
        """Settle results that are pushed; raises Refusal while the caller does not take others: memory has limits."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_free.wait(), HELD_UP)
        if self._held_up:
            raise Refusal("no-capacity", "the client has results that its caller has not taken", after=1.0)
        await self.settle(content)

    async def settle(self, content: bytes) -> None:
        """Pass results on, each request's once."""
        if not content:
            return
        responses = Responses.decode(content)
        settled: list[Wanted | None] = []
        again = []
        for serial, index, is_cancelled in responses.tickets():
            request = self._pending.settle(serial, index)
            if is_cancelled and request is not None:
                again.append(request)  # its server has not started it
                request = None
            settled.append(request)
        self._pending.reopen(again)
        self._wake()
        waited_for = [one.ready for one in settled if one is not None]
        answered = responses.answering([None if one is None else one.request for one in settled])
        of = dict.fromkeys(waited_for)
        self._held_up += 1
        self._is_free.clear()
        try:
            for ready in of:
                await ready.put(answered if len(of) == 1 else answered.select([one is ready for one in waited_for]))
        finally:
            self._held_up -= 1
            if not self._held_up:
                self._is_free.set()

    async def look(self, members: Members) -> None:
        """Have requests wait again whose results were dropped, which nobody pushes; fetch what is not pushed."""
        receiver = self._receiver
        if receiver is None:
            return
        for place in self._pending.places():
            address = members.address(place)
            if address is None or place in self._collecting:
                continue
            caller = self._caller(address)
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                first, _ = await self._results(place, caller, 0, 1)
                if self._held_up:
                    first = 0  # it is the caller who does not take them
                if receiver.is_stuck(place, first):
                    if not self._unreached:
                        logger.warning(
                            "download server %s seems not to reach port %d, to which results are to be pushed; they "
                            "are fetched instead",
                            place[0],
                            receiver.port,
                        )
                    self._unreached.add(place)
                    self._begin_collecting(place, caller)

    def _caller(self, address: str) -> Caller:
        """Return the caller of a download server."""
        caller = self._callers.get(address)
        if caller is None:
            fields = {"lycosa-service": self._service, "lycosa-client": self._name}
            caller = self._callers[address] = Caller(address, self._token, fields, self._context)
        return caller


def jittered(seconds: float) -> float:
    """Return a wait that is a little longer, by chance."""
    return seconds * (1 + JITTER * random.random())  # noqa: S311  # nobody gains by guessing it
