"""httpcore: ``httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups))``, on asyncio through anyio.

httpx does not let its user choose a backend; it resolves by the loop, for which there is ``event_loop``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from httpcore import (
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)

from lycosa.names.lookups import Lookups, addresses


class HttpcoreBackend(AsyncNetworkBackend):
    """Connects to the addresses that the lookups give, one after the other until one answers."""

    def __init__(self, lookups: Lookups) -> None:
        """Take the lookups."""
        self._lookups, self._network = lookups, AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Connect within ``timeout`` seconds, resolving included. Raises ConnectError, ConnectTimeout."""
        options = None if socket_options is None else list(socket_options)
        try:
            async with asyncio.timeout(timeout):
                try:
                    found = addresses(await self._lookups.lookup(host))
                except OSError as error:
                    raise ConnectError(str(error)) from error
                for address in found[:-1]:
                    try:
                        return await self._network.connect_tcp(address, port, None, local_address, options)
                    except ConnectError:
                        continue
                return await self._network.connect_tcp(found[-1], port, None, local_address, options)
        except TimeoutError as error:
            raise ConnectTimeout(f"{host}: not connected in {timeout} s") from error

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> AsyncNetworkStream:
        """Connect to a local socket, which has no name to resolve."""
        return await self._network.connect_unix_socket(path, timeout, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._network.sleep(seconds)
