"""A dispatch service under test: master and download servers as child processes, and what they have cost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.crawl import CONCURRENCY, PACE
from benchmarks.harness import Cores, environment
from benchmarks.report import BenchmarkError

#: Clock ticks of a second in /proc.
TICKS = os.sysconf("SC_CLK_TCK")

#: Seconds for a process to end when it is asked to.
END = 20.0


class Running:
    """A process that serves, and what it has cost."""

    def __init__(
        self, command: list[str], says: str, cores: frozenset[int], env: Mapping[str, str] | None = None
    ) -> None:
        """Start it, and wait for the line with its URL. says: the pattern of that line; its group is the URL."""
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment() | dict(env or {}),
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        assert self._process.stderr is not None
        self.url = ""
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if match := re.search(says, line):
                self.url = match[1]
                break
        if not self.url:
            self.end()
            raise BenchmarkError(f"{' '.join(command[:4])} did not start: {''.join(lines)[-300:]}")
        # What it says later must not fill the pipe.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def cpu(self) -> float:
        """Return the seconds of CPU until now, of the process and of all that it has started."""
        return sum(_cpu(pid) for pid in _family(self._process.pid))

    def statistics(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return a master's statistics."""
        with urllib.request.urlopen(f"{self.url}/statistics", timeout=10) as answer:  # noqa: S310  # our own
            found: dict[str, dict[str, dict[str, int]]] = json.load(answer)
        return found

    def granted(self, service: str) -> int:
        """Return how many grants a service has had of a master."""
        return self.statistics()["services"][service]["grants"]

    def wait_for(self, servers: int) -> None:
        """Wait until so many download servers share a master's ring."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            found = self.statistics()
            if len(found["servers"]) == servers and found["ring"] is not None:
                return
            time.sleep(0.05)
        raise BenchmarkError(f"{servers} download servers did not come")

    def kill(self) -> None:
        """End it as if its machine had failed."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _family(pid: int) -> list[int]:
    """Return a process and all its living descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        children = ""
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            children = (task / "children").read_text()
        for child in children.split():
            found += _family(int(child))
    return found


def _cpu(pid: int) -> float:
    """Return the seconds of CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextlib.contextmanager
def master(folder: Path, quotas: str, cores: Cores) -> Iterator[Running]:
    """Run a master with these quotas, and with a state of its own.

    One that is restarted waits for `--hold` seconds before it gives sites to servers that it does not know: the time
    costs heartbeats, which are no page's.
    """
    path = folder / "quotas.toml"
    path.write_text(quotas)
    state = tempfile.mkdtemp(prefix="master-", dir=folder)
    command = [sys.executable, "-m", "lycosa", "master", "--quotas", str(path), "--state", state]
    running = Running([*command, "--listen", "127.0.0.1:0"], r"listening on (\S+)", cores.client)
    try:
        yield running
    finally:
        running.end()


@contextlib.contextmanager
def downloaders(
    folder: Path,
    url: str,
    count: int,
    cores: Cores,
    *,
    job: str | None = None,
    slots: int = CONCURRENCY,
    of_site: int = CONCURRENCY,
) -> Iterator[list[Running]]:
    """Run download servers. job: the text of their settings; default: for sites that take any pace.

    of_site: requests to a site at a time, by the default settings.
    """
    path = folder / "downloader.toml"
    path.write_text(f"{PACE.format(concurrency=of_site)}share_clocks = false\n" if job is None else job)
    with contextlib.ExitStack() as opened:
        servers = []
        for number in range(count):
            command = [sys.executable, "-m", "lycosa", "downloader", "--master", url, "--listen", "127.0.0.1:0"]
            arguments = ["--name", f"d{number}", "--job", str(path), "--slots", str(slots)]
            server = Running([*command, *arguments], r" at (http\S+),", cores.client)
            opened.callback(server.end)
            servers.append(server)
        yield servers
