"""httpcore: ``httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups))``, on asyncio through anyio.

httpx does not let its user choose a backend; it resolves by the loop, for which there is ``event_loop``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any

from httpcore import (
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)

from lycosa.names.lookups import Lookups, family_of

#: Seconds after which the next address is tried as well, while earlier ones are silent (RFC 8305 section 5).
DELAY = 0.25


class HttpcoreBackend(AsyncNetworkBackend):
    """Connects to the addresses that the lookups give, in turn and side by side, until one answers (RFC 8305)."""

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
                except OSError as error:
                    raise ConnectError(str(error)) from error
                return await _race(_interleaved(found), connect)
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


def _interleaved(addresses: Sequence[str]) -> list[str]:
    """The addresses with their families in turn, that of the first one first (RFC 8305 section 4)."""
    first = [address for address in addresses if family_of(address) == family_of(addresses[0])]
    other = [address for address in addresses if address not in first]
    return [address for address in chain.from_iterable(zip_longest(first, other)) if address is not None]


async def _race(
    addresses: Iterable[str], connect: Callable[[str], Coroutine[Any, Any, AsyncNetworkStream]]
) -> AsyncNetworkStream:
    """The first connection that comes about; the next address is tried after DELAY, or when one has failed.

    All others are given up and closed, however this ends. Raises what became of the first address when all failed.
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
        for outcome in await asyncio.gather(*losers, return_exceptions=True):
            if isinstance(outcome, AsyncNetworkStream):
                await outcome.aclose()
