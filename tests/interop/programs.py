"""Foreign programs that judge, wherever Debian puts them. Not a test."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from benchmarks.dns_servers import PATH


def require(program: str) -> str:
    """The program, or the test is skipped: root (and CI) skips nothing."""
    if shutil.which(program, path=PATH) is None and os.geteuid() != 0:
        pytest.skip(f"{program} is not installed")
    return program


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the end of the block."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 10
            while True:
                assert server.poll() is None, f"{command[0]} did not start"
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield server
        finally:
            server.terminate()


def program(name: str) -> str:
    """The path of a program of Debian."""
    found = shutil.which(name, path=PATH)
    assert found is not None, f"{name} is missing: see DEBIAN in the Makefile"
    return found
