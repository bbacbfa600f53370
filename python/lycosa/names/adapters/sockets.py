"""Replaces ``socket.getaddrinfo``: for every library of this process that resolves by it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

from lycosa.names.lookups import Lookups, refusal

#: One entry of getaddrinfo: family, type, protocol, canonical name, socket address.
Entry = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]


@contextlib.contextmanager
def getaddrinfo_by(lookups: Lookups) -> Iterator[None]:
    """Replace ``socket.getaddrinfo`` while the block runs, for all threads.

    It blocks the caller's thread only, like the system's resolver.
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
    """Return the name to look up; `None` if getaddrinfo would not: no host, or only an address is allowed."""
    if not host or flags & socket.AI_NUMERICHOST:
        return None
    # An address with a zone (fe80::1%eth0) is not a name, and only the system knows zones.
    text = host if isinstance(host, str) else host.decode("ascii", "replace")
    return None if "%" in text else text


def permitted(lookups: Lookups, host: bytes | str | None, found: list[Any], flags: int) -> list[Any]:
    """Return the system's results that ``filter_private`` permits; all for listening (no host, or AI_PASSIVE)."""
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
    """Return getaddrinfo's entries for these addresses; the system makes them and resolves service names to ports."""
    # AI_ADDRCONFIG is for names, not for addresses: it would exclude 127.0.0.1.
    kept = (flags | socket.AI_NUMERICHOST) & ~(socket.AI_CANONNAME | socket.AI_ADDRCONFIG)
    made = [entry for text in found for entry in system(text, port, 0, type, proto, kept)]
    if flags & socket.AI_CANONNAME and made:
        made[0] = (*made[0][:3], name, made[0][4])
    return made
