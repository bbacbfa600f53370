"""Telling systemd how a service is (sd_notify(3)); elsewhere it does nothing."""

from __future__ import annotations

import logging
import os
import socket
import time

logger = logging.getLogger("lycosa")


def notify(*states: str) -> None:
    """Tell it states such as ``READY=1``; where it cannot be told, the service goes on."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] not in ("/", "@"):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            # An @ stands for the zero byte by which names outside the file system begin (unix(7)).
            telling.sendto("\n".join(states).encode(), f"\0{path[1:]}" if path[0] == "@" else path)
    except OSError as error:
        logger.warning("systemd cannot be told %s: %s", states[0], error.strerror)


def notify_reloading() -> None:
    """Tell it that a reload begins; ``READY=1`` ends it. The time is what ``Type=notify-reload`` needs."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000}")
