"""Replaces an asyncio loop's ``getaddrinfo``: for asyncio's own connections, and anyio's, so httpx's, too.

uvloop resolves inside libuv and never calls its own ``getaddrinfo``: there, use a library's adapter.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from lycosa.names.adapters.sockets import entries, name_of, permitted
from lycosa.names.lookups import Lookups


@contextlib.asynccontextmanager
async def loop_getaddrinfo_by(lookups: Lookups) -> AsyncIterator[None]:
    """Replace ``getaddrinfo`` of the running loop while the block runs; waits may be cancelled.

    ``create_connection`` and ``create_datagram_endpoint`` are replaced, too, so that ``filter_private`` also applies
    to addresses; not the ``sock_…`` methods, whose callers have the address.
    """
    loop = asyncio.get_running_loop()
    system, connect, open_endpoint = loop.getaddrinfo, loop.create_connection, loop.create_datagram_endpoint

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
            given = await system(host, port, family=family, type=type, proto=proto, flags=flags)
            return permitted(lookups, host, given, flags)
        found = lookups.addresses(await lookups.lookup(name), family)
        return entries(socket.getaddrinfo, name, found, port, type, proto, flags)

    async def create_connection(
        protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        check(host)
        return await connect(protocol_factory, host, port, **options)

    async def create_datagram_endpoint(
        protocol_factory: Callable[[], Any], local_addr: Any = None, remote_addr: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        if isinstance(remote_addr, tuple):  # else the path of a local socket
            check(remote_addr[0])
        return await open_endpoint(protocol_factory, local_addr, remote_addr, **options)

    def check(host: Any) -> None:
        if host:
            lookups.check_host(host if isinstance(host, str) else bytes(host).decode("ascii", "replace"))

    loop.getaddrinfo = getaddrinfo  # type: ignore[method-assign]
    loop.create_connection = create_connection  # type: ignore[method-assign]
    loop.create_datagram_endpoint = create_datagram_endpoint  # type: ignore[method-assign]
    try:
        yield
    finally:
        loop.getaddrinfo = system  # type: ignore[method-assign]
        loop.create_connection = connect  # type: ignore[method-assign]
        loop.create_datagram_endpoint = open_endpoint  # type: ignore[method-assign]
