"""The receiving port of a client, to which download servers push results, as published (SYSTEMS.md section 4)."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

from lycosa.dispatch.access import check_access
from lycosa.dispatch.http import App, Call, Reply, Route, bind, reply, serving
from lycosa.dispatch.quotas import digest_of_token

#: Bytes of results at once.
MAX_PUSHED = 256 << 20


class Receiver:
    """Receives results, and says for which client."""

    def __init__(self, client: str, take: Callable[[bytes], Awaitable[None]], listen: str = "127.0.0.1:0") -> None:
        """take: is given results; what it has taken is confirmed."""
        self._client, self._take, self._listen = client, take, listen
        self.key = secrets.token_urlsafe(32)  # who has it was told it by this client
        self.port = 0

    async def _pushed(self, call: Call) -> Reply:
        """Take results of a download server that this client has submitted to."""
        await self._take(call.body)
        return reply({})

    def _admit(self, call: Call) -> None:
        """Refuse who was not told of the port by this client."""
        check_access(call, [digest_of_token(self.key)])

    async def _known(self, call: Call) -> Reply:
        """Say whose port it is."""
        return reply({"client": self._client})

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive."""
        routes = {
            ("POST", "/v1/results"): Route(self._pushed, MAX_PUSHED, self._admit),
            ("GET", "/v1/receiver"): Route(self._known),
        }
        bound = bind(self._listen, is_closed=True)
        self.port = bound.getsockname()[1]
        async with serving(App("receiver", routes), bound):
            yield
