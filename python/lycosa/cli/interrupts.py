"""Ctrl-C and SIGTERM of commands that run on no event loop."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupted(handle: Callable[[int, object], None]) -> Iterator[None]:
    """Call ``handle`` with the number of the signal and the frame, for Ctrl-C and SIGTERM within the block."""
    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
