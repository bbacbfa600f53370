"""Signals of servers that run on an event loop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from lycosa.cli.systemd import notify


async def ending(reload: Callable[[], None] | None = None) -> None:
    """Wait for SIGTERM or SIGINT; SIGHUP calls ``reload``."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    if reload is not None:
        loop.add_signal_handler(signal.SIGHUP, reload)
    notify("READY=1")
    await over.wait()
    notify("STOPPING=1")
