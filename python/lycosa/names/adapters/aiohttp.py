"""aiohttp: ``aiohttp.TCPConnector(resolver=AiohttpResolver(lookups))``."""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from lycosa.names.lookups import Lookups, addresses, family_of


class AiohttpResolver(AbstractResolver):
    """Resolves for a connector; the lookups stay open when it closes, since others may use them."""

    def __init__(self, lookups: Lookups) -> None:
        """Take the lookups."""
        self._lookups = lookups

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The host's addresses. Raises socket.gaierror, which aiohttp makes its ClientConnectorDNSError of."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=family_of(address),
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses(await self._lookups.lookup(host), family)
        ]

    async def close(self) -> None:
        """Nothing is held."""
