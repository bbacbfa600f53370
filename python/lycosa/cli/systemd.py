"""Reports the state of a service to systemd (sd_notify(3)); without systemd it does nothing."""

from __future__ import annotations

import logging
import os
import socket
import time

logger = logging.getLogger("lycosa")


def notify(*states: str) -> None:
    """Send states such as ``READY=1``; a failure is only logged."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] not in ("/", "@"):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            # An @ stands for the leading zero byte of an abstract socket's name (unix(7)).
            telling.sendto("\n".join(states).encode(), f"\0{path[1:]}" if path[0] == "@" else path)
    except OSError as error:
        logger.warning("cannot send %s to systemd: %s", states[0], error.strerror)


def notify_reloading() -> None:
    """Report the start of a reload; ``READY=1`` ends it. ``Type=notify-reload`` requires the time."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000}")
