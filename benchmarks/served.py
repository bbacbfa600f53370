"""A simulated Internet in a process of its own, pinned, that reports its CPU seconds and its memory."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import environment, last_line
from benchmarks.report import BenchmarkError

START = 30.0  # seconds until simnet must answer


@dataclass(frozen=True, slots=True)
class Served:
    """A running simnet process."""

    port: int
    resolver: str
    seeds: list[str]
    hosts: dict[str, str]
    start: float  # seconds from the process's start until it served
    _child: subprocess.Popen[bytes]
    _log: Path

    @property
    def cpu(self) -> float:
        """CPU seconds used so far."""
        return float(self._ask("cpu"))

    @property
    def peak(self) -> int:
        """Peak resident bytes so far."""
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    @property
    def model(self) -> dict[str, Any] | None:
        """The model of its world, if this version reports it."""
        model: dict[str, Any] | None = self._ask("model")
        return model

    @property
    def report(self) -> dict[str, Any]:
        """Its ledger's report."""
        report: dict[str, Any] = self._ask("report")
        return report

    def _ask(self, question: str) -> Any:
        return _ask(self._child, self._log, question)


@contextlib.contextmanager
def serving(settings: Mapping[str, Any], cores: frozenset[int], folder: Path) -> Iterator[Served]:
    """Run ``SimulatedInternet(**settings)`` on `cores` while the block runs."""
    log = folder / "simnet.log"
    begin = time.monotonic()
    with log.open("wb") as sink:
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.served", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            env=environment(),
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
            start_new_session=True,
        )
    try:
        _answer(child, log)
        start = time.monotonic() - begin
        yield Served(**_ask(child, log, "world"), start=start, _child=child, _log=log)
    finally:
        try:
            child.communicate(timeout=10)  # closes its stdin, which ends it
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the group is the child's own session
            child.communicate()


def _ask(child: subprocess.Popen[bytes], log: Path, question: str) -> Any:
    """Ask the child something."""
    assert child.stdin is not None
    child.stdin.write(question.encode() + b"\n")
    child.stdin.flush()
    return _answer(child, log)


def _answer(child: subprocess.Popen[bytes], log: Path) -> Any:
    """Read one line of JSON from the child."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], START)
    line = child.stdout.readline() if ready else b""
    if not line:
        raise BenchmarkError(f"simnet did not answer within {START:.0f} s: {last_line(log)}")
    return json.loads(line)


def main() -> None:
    """Run simnet in the child, and answer the questions on stdin."""
    from lycosa.simnet import SimulatedInternet

    def tell(answer: Any) -> None:
        print(json.dumps(answer), flush=True)

    net = SimulatedInternet(**json.loads(sys.argv[1]))
    with net:
        tell(None)  # it serves
        for question in sys.stdin:
            match question.strip():
                case "world":
                    tell({"port": net.http_port, "resolver": net.resolver, "seeds": net.seeds, "hosts": net.hosts})
                case "cpu":
                    times = os.times()
                    tell(times.user + times.system)
                case "model":
                    model = getattr(net, "model", None)
                    tell(model and model())
                case "report":
                    tell(net.report())


if __name__ == "__main__":
    main()
