"""An asyncio loop's ``getaddrinfo`` by Lycosa's resolver: asyncio's own connections, and anyio's, so httpx's too.

uvloop resolves inside libuv and never asks its own ``getaddrinfo``: there, use a library's adapter.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

from lycosa.names.adapters.sockets import entries, name_of
from lycosa.names.lookups import Lookups, addresses


@contextlib.asynccontextmanager
async def loop_getaddrinfo_by(lookups: Lookups) -> AsyncIterator[None]:
    """Replace ``getaddrinfo`` of the running loop while the block runs; waits may be cancelled."""
    loop = asyncio.get_running_loop()
    system = loop.getaddrinfo

    async def getaddrinfo(
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        name = name_of(host, flags)
        if name is None:
            return await system(host, port, family=family, type=type, proto=proto, flags=flags)
        found = addresses(await lookups.lookup(name), family)
        return entries(socket.getaddrinfo, name, found, port, type, proto, flags)

    loop.getaddrinfo = getaddrinfo  # type: ignore[method-assign]
    try:
        yield
    finally:
        loop.getaddrinfo = system  # type: ignore[method-assign]
