"""Measures contestants: as child processes, in turn, pinned, with the CPU time of all their descendants."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import BenchmarkError, Report

SAMPLE = 0.05  # seconds between two looks at a child's memory; the sampler runs on the server's core


@dataclass(frozen=True, slots=True)
class Options:
    """Command-line options for every benchmark."""

    quick: bool = False
    peers_only: bool = False
    plot: Path | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of one run: CPU seconds and peak memory of all its processes, and wall seconds."""

    cpu: float
    wall: float
    peak: int  # bytes


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of the server and of the contestants, which run one after the other."""

    server: frozenset[int]
    client: frozenset[int]

    @classmethod
    def split(cls) -> Cores:
        """Assign the first usable core to the server and the second to the contestants."""
        usable = sorted(os.sched_getaffinity(0))
        return cls(frozenset(usable[:1]), frozenset(usable[1:2] or usable[:1]))

    @property
    def describe(self) -> str:
        """Describe the cores, and that both disturb each other if there is only one."""
        if self.server == self.client:
            return f"server and contestants share the only core, {min(self.server)}: wall times mean little"
        return f"server on core {min(self.server)}, contestants on core {min(self.client)}"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A contestant: `start` makes one run and checks its output."""

    name: str
    start: Callable[[], Run]
    rounds: int
    spare: bool = False  # no claim needs it: left out when time is short


#: One part of a benchmark: adds its claims, figures, peers and notes to the report. Its files go with the folder.
Part = Callable[[Report, Options, Cores, Path], None]


def run_parts(name: str, parts: Sequence[Part], options: Options) -> Report:
    """Run the parts of a benchmark one after the other, with this process on the server's core.

    One that fails does not stop the others.
    """
    report, cores = Report(name, options.quick), Cores.split()
    begin = time.monotonic()
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        for part in parts:
            try:
                part(report, options, cores, Path(folder))
            except BenchmarkError as error:
                progress(f"failed: {error}")
                report.failures.append(str(error))
    report.notes.append(f"took {time.monotonic() - begin:.0f} s")
    return report


def in_turn(contestants: Sequence[Contestant], budget: float = math.inf) -> dict[str, list[Run]]:
    """Run the contestants as A B C A B C …, so that a slow minute of the machine affects all of them.

    After `budget` seconds only first runs start, and no spare ones.
    """
    begin = time.monotonic()
    runs: dict[str, list[Run]] = {contestant.name: [] for contestant in contestants}
    for turn in range(max((c.rounds for c in contestants), default=0)):
        for contestant in contestants:
            late = time.monotonic() - begin > budget and (turn or contestant.spare)
            if turn >= contestant.rounds or late:
                continue
            run = contestant.start()
            runs[contestant.name].append(run)
            progress(
                f"round {turn + 1}/{contestant.rounds} {contestant.name}: {_seconds(run.cpu)} CPU, "
                f"{_seconds(run.wall)}, {run.peak / 1e6:.0f} MB"
            )
    return {name: made for name, made in runs.items() if made}


def _seconds(value: float) -> str:
    """Return the text of a time; that of one request is in microseconds."""
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1e6:.0f} µs"


def measure(
    name: str,
    command: Sequence[str],
    *,
    cores: frozenset[int],
    timeout: float,
    log: Path,
    env: Mapping[str, str] | None = None,
    accepted: Collection[int] = (0,),
) -> Run:
    """Run a command to its end on `cores`; a failure's error has the last line of `log`.

    `accepted`: the exit statuses that are no failure.

    CPU is what wait4 reports: the child and every descendant that it has waited for.
    """
    with log.open("wb") as sink:
        begin = time.monotonic()
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=env,
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        except OSError as error:
            raise BenchmarkError(f"{name}: cannot start: {error}") from None
        peak, in_time = _watch(child.pid, begin + timeout)
        if not in_time:
            os.killpg(child.pid, signal.SIGKILL)  # the group is the child's own session
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
    if not in_time:
        raise BenchmarkError(f"{name}: not done after {timeout:g} s and was ended; peak {peak >> 20} MiB")
    if child.returncode not in accepted:
        raise BenchmarkError(f"{name}: exit status {child.returncode}: {last_line(log)}")
    return Run(usage.ru_utime + usage.ru_stime, wall, peak)


def printed(name: str, command: Callable[[str], list[str]], *, timeout: float) -> dict[str, Any]:
    """Run a command, made for a temporary folder, on all cores; returns the JSON object of its last line."""
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        log, cores = Path(folder) / f"{name}.json", frozenset(os.sched_getaffinity(0))
        measure(name, command(folder), cores=cores, timeout=timeout, log=log, env=environment())
        try:
            result: dict[str, Any] = json.loads(last_line(log))
        except json.JSONDecodeError as error:
            raise BenchmarkError(f"{name}: printed no JSON: {error}") from None
    return result


def build_example(package: str, name: str) -> Path:
    """Build an example program of a crate, if needed; returns its path."""
    root = Path(__file__).parents[1]
    command = ["cargo", "build", "--release", "--locked", "-q", "-p", package, "--example", name]
    command.append("--message-format=json")
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    made = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    files = [each["executable"] for each in made if each.get("executable")]
    if built.returncode != 0 or not files:
        raise BenchmarkError(f"{name}: cargo cannot build it; run `{' '.join(command)}` to see why")
    return Path(files[-1])


def _watch(pid: int, deadline: float) -> tuple[int, bool]:
    """Wait for a child's end; returns its peak memory in bytes and whether it ended before the deadline.

    ru_maxrss would not do: it starts at the size of the process that forked.
    """
    peak = 0
    end = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(end, select.POLLIN)
    try:
        while not poll.poll(SAMPLE * 1000):
            peak = max(peak, _resident(pid))
            if time.monotonic() > deadline:
                return peak, False
    except BaseException:
        os.killpg(pid, signal.SIGKILL)  # Ctrl-C: leave nothing running
        raise
    finally:
        os.close(end)
    return peak, True


def _resident(pid: int) -> int:
    """Return the peak resident bytes of a process and its living descendants together."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0  # it has just ended
    own = next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return own + sum(_resident(int(child)) for child in children)


def last_line(log: Path) -> str:
    """Return the last line that a command printed: usually its reason for failing."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def progress(text: str) -> None:
    """Print progress to stderr; stdout is for the result."""
    print(text, file=sys.stderr, flush=True)


def environment() -> dict[str, str]:
    """Return an environment in which a child, in any directory, can import `benchmarks`."""
    root = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


@contextlib.contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """Keep this process on `cores` while the block runs, out of the contestants' way."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
