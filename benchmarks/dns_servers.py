"""DNS servers, ours and others: each is a child process on a free loopback port, with its own files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dns_load import message
from benchmarks.harness import environment, last_line
from benchmarks.ports import free_port
from benchmarks.report import BenchmarkError

START = 20.0  # seconds until a server must answer
END = 10.0  # seconds in which one must end when it is asked to
TICK = os.sysconf("SC_CLK_TCK")  # of a second: what /proc counts CPU time in
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"  # where Debian puts servers


@dataclass(slots=True)
class Server:
    """A running server process."""

    name: str
    port: int
    folder: Path
    child: subprocess.Popen[bytes] = field(repr=False)

    @property
    def address(self) -> str:
        """Its address, ``127.0.0.1:PORT``, UDP and TCP."""
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Its output."""
        return self.folder / "log"

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.child.poll() is None

    @property
    def cpu(self) -> float:
        """CPU seconds of its processes so far: user's and system's."""
        ticks = 0
        for pid in _family(self.child.pid):
            fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if fields else 0
        return ticks / TICK

    @property
    def resident(self) -> int:
        """Resident bytes of its processes, including mapped files."""
        lines = [line for pid in _family(self.child.pid) for line in _read(f"/proc/{pid}/status").splitlines()]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

    def kill(self) -> None:
        """Kill it, like a crash."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)  # the group is the child's own session
        self.child.wait()

    def stop(self) -> int:
        """Ask it to end, or kill it after a time-out; returns its exit status."""
        self.child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(END)
        self.kill()
        return self.child.returncode


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a server is run: its program, and a function that writes its files and returns its arguments.

    `prepare` gets an empty folder and a port, and returns the arguments; `{program}` is put before them.
    """

    name: str
    program: str
    package: str  # Debian's
    prepare: Callable[[Path, int], Sequence[str]]

    @property
    def found(self) -> str | None:
        """The program's path, if it exists."""
        return shutil.which(self.program, path=PATH)


@contextlib.contextmanager
def running(
    recipe: Recipe, folder: Path, *, cores: frozenset[int] | None = None, name: str = "probe.invalid"
) -> Iterator[Server]:
    """Run a server while the block runs; it is ready when it has answered a question for `name` in any way."""
    program = recipe.found
    if program is None:
        raise BenchmarkError(f"{recipe.name} is missing: apt-get install {recipe.package}")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [program, *recipe.prepare(folder, port)]
    server = launch(recipe.name, command, port, folder, cores)
    try:
        wait_until_it_answers(server, name)
        yield server
    finally:
        server.stop()


def launch(name: str, command: Sequence[str], port: int, folder: Path, cores: frozenset[int] | None = None) -> Server:
    """Start a server in a session of its own; does not wait until it is ready."""
    with (folder / "log").open("ab") as sink:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env=environment(),
            start_new_session=True,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
        )
    return Server(name, port, folder, child)


def ours(
    folder: Path, upstreams: Sequence[str], *arguments: str, tier: str = "lower", settings: str = "", port: int = 0
) -> tuple[list[str], int]:
    """Write our configuration (TOML); returns the command of `lycosa dns` and its port."""
    folder.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    listed = ", ".join(f'"{upstream}"' for upstream in upstreams)
    configuration = folder / "dns.toml"
    configuration.write_text(
        f'tier = "{tier}"\nlisten = ["127.0.0.1:{port}"]\nupstreams = [{listed}]\n{settings}\n', encoding="utf-8"
    )
    return [sys.executable, "-m", "lycosa", "dns", "--config", str(configuration), *arguments], port


@contextlib.contextmanager
def running_ours(
    folder: Path,
    upstreams: Sequence[str],
    *arguments: str,
    tier: str = "lower",
    settings: str = "",
    cores: frozenset[int] | None = None,
) -> Iterator[Server]:
    """Run `lycosa dns` while the block runs; it is ready when it has printed its line."""
    command, port = ours(folder, upstreams, *arguments, tier=tier, settings=settings)
    server = launch("lycosa dns", command, port, folder, cores)
    try:
        wait_until_it_listens(server)
        yield server
    finally:
        server.stop()


def wait_until_it_listens(server: Server) -> None:
    """Return when our server has printed its line; sends no question."""
    deadline = time.monotonic() + START
    while "listening on" not in _read(str(server.log)):
        if not server.alive or time.monotonic() > deadline:
            raise BenchmarkError(f"{server.name} did not start: {last_line(server.log)}")
        time.sleep(0.01)


def wait_until_it_answers(server: Server, name: str) -> None:
    """Return when the server has answered a question over UDP, with or without an address."""
    deadline = time.monotonic() + START
    question = message(4_711, name)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.port))
        client.settimeout(0.2)
        while time.monotonic() < deadline:
            if not server.alive:
                break
            try:
                client.send(question)
                client.recv(4096)
            except OSError:  # nobody listens yet, or nobody answers yet
                time.sleep(0.02)
                continue
            return
    raise BenchmarkError(f"{server.name} did not start: {last_line(server.log)}")


def debian_version(package: str) -> str | None:
    """Return the version of an installed Debian package."""
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


def _family(pid: int) -> list[int]:
    """Return a process and its living descendants."""
    children = [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]
    return [pid, *(member for child in children for member in _family(child))]


def _read(path: str) -> str:
    """Read a file; a file that has disappeared is empty."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
