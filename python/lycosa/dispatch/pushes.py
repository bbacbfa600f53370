"""Results that are pushed to the receiving port of a client, as published (SYSTEMS.md section 4).

A download server calls back only who has called it, at that address, and only once a receiver there has said which
client it is: it cannot be made to talk to others, nor to servers of another protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import NamedTuple

import aiohttp

from lycosa.dispatch.calls import Caller
from lycosa.dispatch.desk import Key
from lycosa.dispatch.jsons import write_json
from lycosa.dispatch.refusal import Refusal
from lycosa.names.server_settings import told

logger = logging.getLogger("lycosa")

#: Seconds between tries of a receiver that does not answer: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0

#: Seconds for which results are waited for at once, bytes that are sent at once, and seconds for a receiver's answer.
WAIT, MAX_BYTES, WITHIN = 10.0, 4 << 20, 30.0

#: Bytes of a receiver's answer.
MAX_ANSWER = 4_096


class Place(NamedTuple):
    """Where a client receives."""

    peer: str  # address
    port: int
    key: str  # by which it knows that a download server was told of the port by itself
    certificate: str | None = None  # SHA-256 of the one that it has; None: without TLS

    def caller(self) -> Caller:
        """Return what calls it."""
        at = told(ip_address(self.peer), self.port)
        if self.certificate is None:
            return Caller(f"http://{at}")
        return Caller(f"https://{at}", context=aiohttp.Fingerprint(bytes.fromhex(self.certificate)))


#: Returns results: client, after, wait, most bytes, accept → body, media type, last sequence, how many are owed.
Next = Callable[[Key, int, float, int, str], Awaitable[tuple[bytes, str, int, int]]]


class Pushes:
    """Pushes results, with a task for each client that has a receiving port."""

    def __init__(
        self,
        server: str,
        process: str,
        next_results: Next,
        heard: Callable[[Key], None],
        mailbox: Callable[[Key], int | None],
    ) -> None:
        """next_results: returns a client's next results and forgets those before. heard: told of one that took some.

        mailbox: returns the number of a client's mailbox, `None` once it was dropped.
        """
        self._server, self._process = server, process
        self._next, self._heard, self._mailbox = next_results, heard, mailbox
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._places: dict[Key, Place] = {}

    def begin(self, tasks: asyncio.TaskGroup, key: Key, place: Place, accept: str) -> None:
        """Push a client's results to a place from now on, unless that is being done."""
        self._places[key] = place
        if key not in self._tasks:
            self._tasks[key] = tasks.create_task(self._push(key, accept))

    def end(self) -> None:
        """Push nothing more."""
        for task in self._tasks.values():
            task.cancel()

    async def _push(self, key: Key, accept: str) -> None:
        """Push until nothing is owed any more, or the client's results were dropped."""
        after, pause = 0, FIRST_PAUSE
        while self._mailbox(key) is not None:
            place = self._places[key]
            async with place.caller() as receiver:
                try:
                    await self._greet(receiver, key)
                    while self._places[key] == place:
                        body, kind, last, owed = await self._next(key, after, WAIT, MAX_BYTES, accept)
                        if last > after:
                            await receiver.send(
                                "/v1/results", body, self._fields(place, kind, last), WITHIN, MAX_ANSWER
                            )
                            after, pause = last, FIRST_PAUSE
                            self._heard(key)
                        elif not owed:
                            self._forget(key)
                            return
                        else:
                            await self._greet(receiver, key)  # it is still there
                except Refusal as refusal:
                    logger.info("results of client %s of %s are not pushed: %s", key[1], key[0], refusal)
                    if refusal.code == "no-capacity":
                        pause = max(refusal.after, FIRST_PAUSE)  # it is there, and its caller is slow
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    logger.info("the receiver of client %s of %s does not answer: %s", key[1], key[0], error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        self._forget(key)

    def _forget(self, key: Key) -> None:
        """Push nothing more to a client; what it submits from now on begins anew."""
        self._tasks.pop(key, None)
        self._places.pop(key, None)

    async def _greet(self, receiver: Caller, key: Key) -> None:
        """Check that a receiver is the client's, before anything is told to it."""
        _, answer = await receiver.send("/v1/receiver", None, {}, WITHIN, MAX_ANSWER)
        if answer != write_json({"client": key[1]}):
            raise Refusal("unknown-client", f"{receiver.url} receives for somebody else, or is no receiver")
        self._heard(key)

    def _fields(self, place: Place, kind: str, last: int) -> dict[str, str]:
        """Return the header fields of results."""
        return {
            "content-type": kind,
            "authorization": f"Bearer {place.key}",
            "lycosa-server": self._server,
            "lycosa-process": self._process,
            "lycosa-sequence": str(last),
        }
