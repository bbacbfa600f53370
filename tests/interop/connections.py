"""Addresses that answer nothing, and what errors say of connections that did not come about. Not a test."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator


@contextlib.contextmanager
def black_hole() -> Iterator[tuple[str, int]]:
    """An address that answers no connection: a listener whose queue is full, as one behind a firewall looks."""
    with contextlib.ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.2", 0))
        listener.listen(0)
        for _ in range(4):  # the queue holds one or two; the others are not answered
            caller = open_sockets.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        time.sleep(0.05)
        yield listener.getsockname()


def causes(error: BaseException | None) -> Iterator[str]:
    """What an error says, and those that led to it: libraries have several connections that failed in one."""
    while error is not None:
        yield str(error)
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from causes(one)
        error = error.__cause__ or error.__context__
