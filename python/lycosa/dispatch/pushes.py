"""Results that are pushed to the receiving port of a client, as published (SYSTEMS.md section 4).

A download server calls back only who has called it, at that address, and only once a receiver there has said which
client it is: it cannot be made to talk to others, nor to servers of another protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import aiohttp

from lycosa.dispatch.calls import Caller
from lycosa.dispatch.refusal import Refusal

logger = logging.getLogger("lycosa")

#: Seconds between tries of a receiver that does not answer: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0

#: Seconds for which results are waited for at once, bytes that are sent at once, and seconds for a receiver's answer.
WAIT, MAX_BYTES, WITHIN = 30.0, 4 << 20, 30.0


class Place(NamedTuple):
    """Where a client receives."""

    peer: str  # address
    port: int
    key: str  # by which it knows that a download server was told of the port by itself


#: Returns results: client, service, after, wait, most bytes, accept → body, media type, last sequence, how many are
#: owed.
Next = Callable[[str, str, int, float, int, str], Awaitable[tuple[bytes, str, int, int]]]


class Pushes:
    """Pushes results, with a task for each client that has a receiving port."""

    def __init__(self, server: str, process: str, next_results: Next, heard: Callable[[str], None]) -> None:
        """next_results: returns a client's next results and forgets those before.

        Heard: told of a client that took some.
        """
        self._server, self._process, self._next, self._heard = server, process, next_results, heard
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._places: dict[str, Place] = {}

    def begin(self, tasks: asyncio.TaskGroup, client: str, service: str, place: Place, accept: str) -> None:
        """Push a client's results to a place from now on, unless that is being done."""
        self._places[client] = place
        task = self._tasks.get(client)
        if task is None or task.done():
            self._tasks[client] = tasks.create_task(self._push(client, service, accept))

    def end(self) -> None:
        """Push nothing more."""
        for task in self._tasks.values():
            task.cancel()

    async def _push(self, client: str, service: str, accept: str) -> None:
        """Push until nothing is owed any more, or the client's results were dropped."""
        after, pause = 0, FIRST_PAUSE
        greeted: Place | None = None
        while True:
            place = self._places[client]
            host = f"[{place.peer}]" if ":" in place.peer else place.peer
            async with Caller(f"http://{host}:{place.port}") as receiver:
                try:
                    if greeted != place:
                        known = await receiver.get("/v1/receiver")
                        if known.get("client") != client:
                            raise Refusal("unknown-client", f"{host}:{place.port} receives for another client")
                        greeted = place
                        self._heard(client)
                    while self._places[client] == place:
                        body, kind, last, owed = await self._next(client, service, after, WAIT, MAX_BYTES, accept)
                        if last > after:
                            fields = {
                                "content-type": kind,
                                "authorization": f"Bearer {place.key}",
                                "lycosa-server": self._server,
                                "lycosa-process": self._process,
                                "lycosa-sequence": str(last),
                            }
                            await receiver.send("/v1/results", body, fields, WITHIN)
                            after, pause = last, FIRST_PAUSE
                            self._heard(client)
                        elif not owed:
                            return
                except Refusal as refusal:
                    if refusal.code in ("unknown-client", "other-service"):
                        return
                    logger.info("the receiver of client %s refuses results: %s", client, refusal)
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    logger.info("the receiver of client %s does not answer: %s", client, error)
            greeted = None
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
