"""httpcore: ``httpcore.ConnectionPool(network_backend=HttpcoreSyncBackend(lookups))``, and the same for asyncio.

That is ``httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups))``, through anyio. httpx does not
allow another backend; the transports of ``adapters.httpx`` use these.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from typing import Any

from httpcore import (
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
    NetworkBackend,
    NetworkStream,
    SyncBackend,
)

from lycosa._core import Resolution
from lycosa.names.adapters.connecting import DELAY, connect_to_first
from lycosa.names.adapters.httpcore_streams import SocketStream
from lycosa.names.lookups import Lookups


class HttpcoreBackend(AsyncNetworkBackend):
    """Connects to the addresses of the lookups by Happy Eyeballs (RFC 8305)."""

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

        async def connect(address: str) -> AsyncNetworkStream:
            return await self._network.connect_tcp(address, port, None, local_address, options)

        try:
            async with asyncio.timeout(timeout):
                try:
                    found = self._lookups.addresses(await self._lookups.lookup(host))
                except (OSError, ValueError) as error:  # ValueError if the lookups are closed
                    raise ConnectError(str(error)) from error
                return await _race(found, connect)
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


class HttpcoreSyncBackend(NetworkBackend):
    """The same, but synchronous: the caller's thread waits for all connections; there are no other threads."""

    def __init__(self, lookups: Lookups) -> None:
        """Take the lookups."""
        self._lookups, self._network = lookups, SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        """Connect within ``timeout`` seconds, resolving included. Raises ConnectError, ConnectTimeout."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        options = [] if socket_options is None else list(socket_options)
        try:
            found = self._lookups.addresses(self._wait(host, timeout))
            return SocketStream(connect_to_first(found, port, deadline, local_address, options))
        except TimeoutError as error:
            raise ConnectTimeout(f"{host}: not connected in {timeout} s") from error
        except OSError as error:
            raise ConnectError(str(error)) from error

    def _wait(self, host: str, timeout: float | None) -> Resolution:
        """Ask and wait. Raises ConnectError if the lookups are closed, before or while it waits; TimeoutError."""
        try:
            return self._lookups.wait(host, timeout)
        except (CancelledError, ValueError) as error:
            raise ConnectError(f"{host}: the lookups are closed") from error

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> NetworkStream:
        """Connect to a local socket, which has no name to resolve."""
        return self._network.connect_unix_socket(path, timeout, socket_options)


async def _race(
    addresses: Iterable[str], connect: Callable[[str], Coroutine[Any, Any, AsyncNetworkStream]]
) -> AsyncNetworkStream:
    """Return the first connection that succeeds; tries the next address after DELAY or a failure.

    All others are cancelled and closed in any case. Raises the first address's error if all fail.
    """
    left = deque(addresses)
    tries: list[asyncio.Task[AsyncNetworkStream]] = []
    winner: asyncio.Task[AsyncNetworkStream] | None = None
    try:
        running: set[asyncio.Task[AsyncNetworkStream]] = set()
        while left or running:
            if left:
                tries.append(asyncio.create_task(connect(left.popleft())))
                running.add(tries[-1])
            done, running = await asyncio.wait(
                running, timeout=DELAY if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            winner = next((task for task in done if task.exception() is None), None)
            if winner is not None:
                return winner.result()
        return tries[0].result()
    finally:
        losers = [task for task in tries if task is not winner]
        for task in losers:
            task.cancel()
        try:
            for outcome in await asyncio.gather(*losers, return_exceptions=True):
                if isinstance(outcome, AsyncNetworkStream):
                    await outcome.aclose()
        except BaseException:
            if winner is not None:  # nobody gets it
                await winner.result().aclose()
            raise
