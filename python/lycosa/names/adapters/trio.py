"""trio: for its own connections, and those of libraries on top of it: httpx, anyio."""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Iterator
from typing import Any

import trio

from lycosa._core import Resolution
from lycosa.names.adapters.sockets import entries, name_of, permitted
from lycosa.names.lookups import Lookups


@contextlib.contextmanager
def trio_resolver_by(lookups: Lookups) -> Iterator[None]:
    """Replace the resolver of this ``trio.run`` while the block runs; waits may be cancelled.

    The socket factory is replaced, too: trio does not resolve addresses, but ``filter_private`` applies to them.
    """
    resolver = trio.socket.set_custom_hostname_resolver(TrioResolver(lookups))
    factory = trio.socket.set_custom_socket_factory(None)
    trio.socket.set_custom_socket_factory(TrioSockets(lookups, factory))
    try:
        yield
    finally:
        trio.socket.set_custom_hostname_resolver(resolver)
        trio.socket.set_custom_socket_factory(factory)


class TrioResolver(trio.abc.HostnameResolver):
    """Resolves for ``trio.socket``."""

    def __init__(self, lookups: Lookups) -> None:
        """Take the lookups."""
        self._lookups = lookups

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Return the host's addresses. Raises socket.gaierror."""
        name = name_of(host, flags)
        if name is None:
            ask = functools.partial(socket.getaddrinfo, host, port, family, type, proto, flags)
            return permitted(self._lookups, host, await trio.to_thread.run_sync(ask, abandon_on_cancel=True), flags)
        found = self._lookups.addresses(await self._answer(name), family)
        return entries(socket.getaddrinfo, name, found, port, type, proto, flags)

    async def getnameinfo(self, sockaddr: Any, flags: int) -> tuple[str, str]:
        """Return an address's name, by the system's resolver: the lookups only resolve names to addresses."""
        ask = functools.partial(socket.getnameinfo, sockaddr, flags)
        return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)

    async def _answer(self, name: str) -> Resolution:
        """Ask and wait in trio's loop; cancellation cancels the lookup."""
        answered, token = trio.Event(), trio.lowlevel.current_trio_token()
        future = self._lookups.ask(name)

        def wake(_: object) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(answered.set)

        future.add_done_callback(wake)
        try:
            await answered.wait()
        finally:
            future.cancel()
        if future.cancelled():
            raise socket.gaierror(socket.EAI_AGAIN, f"{name}: the lookups are closed")
        return future.result()


class TrioSockets(trio.abc.SocketFactory):
    """Makes sockets that connect and send to permitted addresses only."""

    def __init__(self, lookups: Lookups, factory: trio.abc.SocketFactory | None = None) -> None:
        """Use the lookups, and another socket factory (`None`: trio itself)."""
        self._lookups, self._factory = lookups, factory

    def socket(
        self,
        family: socket.AddressFamily | int = socket.AF_INET,
        type: socket.SocketKind | int = socket.SOCK_STREAM,
        proto: int = 0,
    ) -> trio.socket.SocketType:
        """Return a socket."""
        if self._factory is not None:
            made = self._factory.socket(family, type, proto)
        else:
            made = trio.socket.from_stdlib_socket(socket.socket(family, type, proto))
        connect, sendto = made.connect, made.sendto

        async def connect_if_permitted(address: Any) -> None:
            if family in (socket.AF_INET, socket.AF_INET6):
                self._check(address[0])
            await connect(address)

        async def send_if_permitted(*arguments: Any) -> int:
            if family in (socket.AF_INET, socket.AF_INET6):
                self._check(arguments[-1][0])  # the address is last, with and without flags
            return await sendto(*arguments)

        made.sendto = send_if_permitted  # type: ignore[method-assign]
        made.connect = connect_if_permitted  # type: ignore[method-assign]
        return made

    def _check(self, host: bytes | str | None) -> None:
        """Raise socket.gaierror for an address, in any notation, that is not permitted.

        The resolver checks names. No host means the machine itself, as for trio.
        """
        try:
            found = socket.getaddrinfo(host or None, 0, flags=socket.AI_NUMERICHOST)
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:
                raise
        except ValueError:
            return  # neither an address nor a name: trio raises the error
        else:
            for entry in found:
                self._lookups.check_host(str(entry[4][0]))
