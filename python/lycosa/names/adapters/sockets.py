"""``socket.getaddrinfo`` by Lycosa's resolver: for every library of this process that resolves by it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

from lycosa.names.lookups import Lookups, refusal

#: One entry of getaddrinfo: family, kind, protocol, canonical name, address of a socket.
Entry = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]


@contextlib.contextmanager
def getaddrinfo_by(lookups: Lookups) -> Iterator[None]:
    """Replace ``socket.getaddrinfo`` while the block runs, for all threads.

    The caller's thread waits, as it does for the system's resolver, and no other.
    """
    system = socket.getaddrinfo

    def getaddrinfo(
        host: bytes | str | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        name = name_of(host, flags)
        if name is None:
            return permitted(lookups, host, system(host, port, family, type, proto, flags), flags)
        found = lookups.addresses(lookups.wait(name), family)
        return entries(system, name, found, port, type, proto, flags)

    socket.getaddrinfo = getaddrinfo
    try:
        yield
    finally:
        socket.getaddrinfo = system


def name_of(host: bytes | str | None, flags: int) -> str | None:
    """The name to be asked for; None where getaddrinfo asks for none: no host, or an address is all it may be."""
    if not host or flags & socket.AI_NUMERICHOST:
        return None
    # An address with a zone (fe80::1%eth0) is no name, and only the system knows zones.
    text = host if isinstance(host, str) else host.decode("ascii", "replace")
    return None if "%" in text else text


def permitted(lookups: Lookups, host: bytes | str | None, found: list[Any], flags: int) -> list[Any]:
    """What the system gave and ``filter_private`` keeps; who listens (no host, or AI_PASSIVE) speaks to nobody."""
    if not host or flags & socket.AI_PASSIVE:
        return found
    kept = [entry for entry in found if lookups.permits(entry[4][0])]
    if found and not kept:
        raise refusal(str(host), [entry[4][0] for entry in found])
    return kept


def entries(
    system: Callable[..., list[Any]],
    name: str,
    found: list[str],
    port: bytes | str | int | None,
    type: int,
    proto: int,
    flags: int,
) -> list[Entry]:
    """What getaddrinfo gives for these addresses; the system makes it, with ports by their services' names."""
    # Configured addresses are asked about for names, not for these: 127.0.0.1 would not be one.
    kept = (flags | socket.AI_NUMERICHOST) & ~(socket.AI_CANONNAME | socket.AI_ADDRCONFIG)
    made = [entry for text in found for entry in system(text, port, 0, type, proto, kept)]
    if flags & socket.AI_CANONNAME and made:
        made[0] = (*made[0][:3], name, made[0][4])
    return made
