"""Load by dnsperf: passes over a list of names, full load, or a fixed rate with the latency of each answer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import dns_load
from benchmarks.harness import measure
from benchmarks.report import BenchmarkError, Peer

CLIENTS = 8  # sockets, as programs have that ask many questions
UNDER_WAY = 200  # questions, all sockets together: what fits into a server's socket with the kernel's default room
MANY = UNDER_WAY  # sockets, so that each has one question under way: nothing can be done for several at once
GIVE_UP = 2.0  # seconds after which a question counts as lost
SETTINGS = (
    f"{CLIENTS} sockets (where so named: {MANY}), {UNDER_WAY} questions under way, no EDNS, lost after {GIVE_UP:g} s"
)


@dataclass(frozen=True, slots=True)
class Load:
    """A server's result under a load."""

    sent: int
    answers: int  # of whatever kind
    good: int  # NOERROR
    seconds: float
    late: float  # ms: 99 % of the answers came sooner; 0 when not asked for

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return self.good / self.seconds

    @property
    def lost(self) -> int:
        """Questions without a good answer."""
        return self.sent - self.good


def write(names: Sequence[str], file: Path) -> Path:
    """Write questions for the addresses of names."""
    file.write_text("".join(f"{name} A\n" for name in names))
    return file


def once(port: int, questions: Path, cores: frozenset[int]) -> Load:
    """Ask each question once, as fast as answers arrive."""
    return _run(port, questions, cores, ["-n", "1"])


def full(port: int, questions: Path, cores: frozenset[int], seconds: float, clients: int = CLIENTS) -> Load:
    """Ask repeatedly, as fast as answers arrive, from so many sockets."""
    return _run(port, questions, cores, ["-l", f"{seconds:g}"], clients)


def at_rate(port: int, questions: Path, cores: frozenset[int], seconds: float, rate: int) -> Load:
    """Ask so many questions per second and measure the latency of each answer."""
    return _run(port, questions, cores, ["-l", f"{seconds:g}", "-Q", str(rate), "-v"])


def described() -> Peer:
    """Describe it for a report."""
    missing = None if shutil.which("dnsperf") else "not installed: apt-get install dnsperf"
    return Peer("dnsperf", dns_load.version(), SETTINGS, missing)


def _run(port: int, questions: Path, cores: frozenset[int], arguments: Sequence[str], clients: int = CLIENTS) -> Load:
    """Run it to its end and parse its output."""
    log = questions.with_suffix(".log")
    command = ["dnsperf", "-f", "inet", "-s", "127.0.0.1", "-p", str(port), "-d", str(questions)]
    command += ["-T", "1", "-c", str(clients), "-q", str(UNDER_WAY), "-t", f"{GIVE_UP:g}", *arguments]
    measure("dnsperf", command, cores=cores, timeout=120.0, log=log)
    text = log.read_text(errors="replace")
    found = [re.search(pattern, text) for pattern in _COUNTS]
    sent, answers, seconds = (float(match[1]) if match else 0.0 for match in found)
    if not sent or not seconds:
        raise BenchmarkError(f"dnsperf asked nothing: {text.strip().splitlines()[-1:] or 'it printed nothing'}")
    good = re.search(r"Response codes:.*?\bNOERROR (\d+)", text)
    times = sorted(float(line) for line in _EACH.findall(text))
    late = times[len(times) * 99 // 100] * 1e3 if times else 0.0
    return Load(int(sent), int(answers), int(good[1]) if good else 0, seconds, late)


_COUNTS = (r"Queries sent:\s+(\d+)", r"Queries completed:\s+(\d+)", r"Run time \(s\):\s+([\d.]+)")
_EACH = re.compile(r"^> \S+ \S+ \S+ ([\d.]+)$", re.MULTILINE)  # what -v prints for an answer
