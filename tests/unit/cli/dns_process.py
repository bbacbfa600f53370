"""Servers of the command line in processes of their own, and how tests talk to them."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import lycosa

#: What starts a server.
COMMAND = (sys.executable, "-m", "lycosa", "dns")


class Running:
    """A server of its own process."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        notify: str | None = None,
        command: tuple[str, ...] = COMMAND,
        stdout: int | None = None,
    ) -> None:
        """Start it; it says on stderr when it listens."""
        environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=cwd,
            env=environment | ({} if notify is None else {"NOTIFY_SOCKET": notify}),
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
        self.said = b""

    def line(self, within: float = 20.0) -> str:
        """The next line that it says."""
        assert self.process.stderr is not None
        while b"\n" not in self.said:
            assert select.select([self.process.stderr], [], [], within)[0], f"it says only {self.said!r}"
            piece = os.read(self.process.stderr.fileno(), 4_096)
            assert piece, f"it has ended after {self.said!r}"
            self.said += piece
        line, _, self.said = self.said.partition(b"\n")
        return line.decode()

    def ready(self) -> Self:
        """Itself, once it listens."""
        self.told = self.line()
        assert " tier, listening on " in self.told, self.told
        return self

    @property
    def address(self) -> str:
        """Where it listens."""
        found = re.search(r"listening on (\S+) \(UDP, TCP\)", self.told)
        assert found is not None
        return found[1]

    @property
    def http(self) -> str:
        """Where its metrics are."""
        return self.told.rpartition("http://")[2]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(15)


Start = Callable[..., Running]


def serve(start: Start, upstream: str, *arguments: str, **others: Any) -> Running:
    """A lower server on a free port, with metrics."""
    options = ["--tier", "lower", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "1"]
    return start(*options, "--upstream", upstream, *arguments, **others).ready()


def dns_message(name: str) -> bytes:
    """A question for IPv4 addresses."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\0\1\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    line = [*COMMAND, *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=60)


def resolve(running: Running, *names: str) -> list[list[str]]:
    """The addresses of names, asked of a server."""
    return [answer.addresses for answer in lycosa.resolve(names, resolvers=[running.address])]


def statistics(running: Running) -> dict[str, Any]:
    """What it tells."""
    with urllib.request.urlopen(f"http://{running.http}/statistics", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
