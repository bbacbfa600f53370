"""Happy Eyeballs (RFC 8305) on one thread: connects several sockets concurrently, and returns the first."""

from __future__ import annotations

import errno
import math
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from lycosa.names.lookups import family_of

#: Seconds after which the next address is tried as well, while earlier ones are silent (RFC 8305 section 5).
DELAY = 0.25


def connect_to_first(
    addresses: Iterable[str], port: int, deadline: float, local_address: str | None, options: Sequence[Any]
) -> socket.socket:
    """Return a socket connected to the first address that answers; tries the next after DELAY or a failure.

    ``deadline``: by ``time.monotonic``. ``options`` are set before connecting. All other sockets are closed in any
    case. Raises TimeoutError, or the first error if all addresses fail.
    """
    left, failures = deque(addresses), list[OSError]()
    next_try = time.monotonic()
    with selectors.DefaultSelector() as trying:
        try:
            while left or trying.get_map():
                now = time.monotonic()
                if now >= deadline:
                    raise TimeoutError
                if left and now >= next_try:
                    address = left.popleft()
                    try:
                        trying.register(_begin(address, port, local_address, options), selectors.EVENT_WRITE, address)
                    except OSError as error:
                        failures.append(error)
                        continue
                    next_try = now + DELAY
                until = min(next_try if left else math.inf, deadline)
                for key, _ in trying.select(None if until == math.inf else max(until - now, 0)):
                    begun = key.fileobj
                    assert isinstance(begun, socket.socket)
                    code = begun.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    trying.unregister(begun)
                    if not code:
                        return begun
                    begun.close()
                    failures.append(OSError(code, f"{key.data} port {port}: {os.strerror(code)}"))
                    next_try = time.monotonic()
            raise failures[0]
        finally:
            for key in list(trying.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()


def _begin(address: str, port: int, local_address: str | None, options: Sequence[Any]) -> socket.socket:
    """Return a socket that is connecting to an address. Raises OSError if that fails at once."""
    begun = socket.socket(family_of(address), socket.SOCK_STREAM)
    try:
        begun.setblocking(False)
        begun.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in options:
            begun.setsockopt(*option)
        if local_address is not None:
            begun.bind((local_address, 0))
        code = begun.connect_ex((address, port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, f"{address} port {port}: {os.strerror(code)}")
    except BaseException:
        begun.close()
        raise
    return begun
