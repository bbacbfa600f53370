"""Free ports of the loopback for servers that are told where to listen."""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress

#: Below the ports that the system gives to clients: nobody else takes one between here and the server's start. Tests
#: that run side by side (``tools/run_tests.py``) have a half each.
FIRST, LAST = 12_000, 32_000

#: The chance of a process: no seed of a test decides which ports are tried.
CHANCE = random.SystemRandom()


def free_port() -> int:
    """Find a port that is free for UDP and TCP."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Find some, each once."""
    half, middle = os.environ.get("LYCOSA_TEST_HALF"), (FIRST + LAST) // 2
    ports = {None: range(FIRST, LAST), "0": range(FIRST, middle), "1": range(middle, LAST)}[half]
    found: list[int] = []
    while len(found) < count:
        port = CHANCE.choice(ports)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp, suppress(OSError):
        udp.bind(("127.0.0.1", port))
        tcp.bind(("127.0.0.1", port))
        return True
    return False
