"""A dispatch service in processes of its own: a master, download servers, and what may happen to them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from lycosa.simnet import SimulatedInternet

#: Seconds for a process to be there.
START = 20.0


class Process:
    """A command of lycosa that runs until it is ended; what it tells is kept."""

    def __init__(self, *arguments: str, token: str | None = None) -> None:
        """Start it."""
        environment = {name: value for name, value in os.environ.items() if name != "LYCOSA_TOKEN"}
        if token is not None:
            environment["LYCOSA_TOKEN"] = token
        command = [sys.executable, "-m", "lycosa", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Keep what it tells; the thread's body."""
        assert self.process.stderr is not None
        with contextlib.suppress(ValueError):
            for line in self.process.stderr:
                self.lines.append(line.rstrip())

    def told(self, pattern: str, within: float = START) -> re.Match[str]:
        """Return the match of a line that it tells, as soon as it does."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for line in list(self.lines):
                if match := re.search(pattern, line):
                    return match
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no line with {pattern!r} in:\n" + "\n".join(self.lines))

    def kill(self) -> None:
        """Kill it, as a power failure would."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Stop it where it is: to all others it is silent."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> int:
        """End it as a service manager does; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return self.process.returncode


class Service:
    """A master and its download servers, on the simulated Internet."""

    def __init__(
        self,
        folder: Path,
        net: SimulatedInternet,
        quotas: str,
        *,
        servers: int = 1,
        slots: int | Sequence[int] = 200,
        master: tuple[str, ...] = (),
        downloader: tuple[str, ...] = (),
        is_apart: bool = False,
    ) -> None:
        """quotas: the text of the file. slots: of each server. master, downloader: more arguments.

        is_apart: whether servers know nothing of each other's pauses, as on machines of their own: then the ring
        alone keeps sites from harm.
        """
        self._is_apart = is_apart
        self.folder, self.net = folder, net
        self.quotas = folder / "quotas.toml"
        self.quotas.write_text(quotas)
        self._count, self._master_arguments, self._arguments = servers, master, downloader
        self._slots = [slots] * servers if isinstance(slots, int) else slots
        self.job = net.job_file(folder / "downloader.toml")
        self.port = "0"
        self.processes: list[Process] = []
        self.servers: dict[str, Process] = {}

    def __enter__(self) -> Self:
        """Start all, and wait until URLs are admitted."""
        try:
            self.start_master()
            for number in range(self._count):
                self.start_server(f"d{number + 1}", self._slots[number])
            for number in range(self._count):
                self.servers[f"d{number + 1}"].told("at http")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all."""
        self.close()

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self.processes):
            process.end()

    def start_master(self) -> None:
        """Start the master, at the port that it had before."""
        arguments = ("--quotas", str(self.quotas), "--state", str(self.folder / "master"), *self._master_arguments)
        self.master = Process("master", "--listen", f"127.0.0.1:{self.port}", *arguments)
        self.processes.append(self.master)
        self.url = self.master.told(r"listening on (\S+)")[1]
        self.port = self.url.rpartition(":")[2]

    def start_server(self, name: str, slots: int = 200) -> Process:
        """Start a download server."""
        clocks = f"politeness.clock_file={self.folder / (f'clocks of {name}' if self._is_apart else 'clocks')}"
        arguments = ("--name", name, "--slots", str(slots), "--job", str(self.job), "--set", clocks)
        process = Process("downloader", "--master", self.url, "--listen", "127.0.0.1:0", *arguments, *self._arguments)
        self.processes.append(process)
        self.servers[name] = process
        return process
