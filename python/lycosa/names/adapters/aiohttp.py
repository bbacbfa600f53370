"""aiohttp: ``aiohttp.TCPConnector(resolver=resolver, socket_factory=resolver.open_socket)``, that one since 3.12."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

from lycosa.names.lookups import Lookups, family_of

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType


class AiohttpResolver(AbstractResolver):
    """Resolves for a connector; the lookups stay open when it closes, since others may use them."""

    def __init__(self, lookups: Lookups) -> None:
        """Use the lookups."""
        self._lookups = lookups

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the host's addresses. Raises socket.gaierror, which aiohttp wraps in ClientConnectorDNSError."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=family_of(address),
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in self._lookups.addresses(await self._lookups.lookup(host), family)
        ]

    def open_socket(self, entry: AddrInfoType) -> socket.socket:
        """Return a socket if ``filter_private`` permits the address: aiohttp does not resolve addresses in URLs."""
        family, kind, protocol, _, address = entry
        self._lookups.check_host(str(address[0]))
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        """Do nothing."""
