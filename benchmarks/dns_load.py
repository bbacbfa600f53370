"""Plain load on a DNS server: dnsperf, or a small loop of our own if dnsperf is missing."""

from __future__ import annotations

import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import environment, measure
from benchmarks.report import BenchmarkError

SOCKETS = 8  # clients, each with a port of its own
OUTSTANDING = 200  # questions under way, of all clients together


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a DNS server."""

    answers: int
    seconds: float


def run(resolver: str, names: Sequence[str], seconds: int, cores: frozenset[int], folder: Path) -> Answers:
    """Ask for the addresses of the names repeatedly for some seconds."""
    log, questions = folder / "dns.log", folder / "questions"
    address, _, port = resolver.rpartition(":")
    questions.write_text("".join(f"{name} A\n" for name in names))
    if shutil.which("dnsperf"):
        command = ["dnsperf", "-f", "inet", "-s", address, "-p", port, "-d", str(questions), "-l", str(seconds)]
        command += ["-c", str(SOCKETS), "-T", "1", "-q", str(OUTSTANDING)]
    else:
        command = [sys.executable, "-m", "benchmarks.dns_load", address, port, str(questions), str(seconds)]
    measure(generator(), command, cores=cores, timeout=seconds + 20.0, log=log, env=environment())
    text = log.read_text()
    found = [re.search(pattern, text) for pattern in _PATTERNS]
    sent, answers, taken = (match and float(match[1]) for match in found)
    if not answers or not taken or not sent or answers < sent * 0.99:
        raise BenchmarkError(f"load on {resolver} failed: {text.strip().splitlines()[-1:] or 'it printed nothing'}")
    return Answers(int(answers), taken)


def generator() -> str:
    """Return the name of the load generator."""
    return "dnsperf" if shutil.which("dnsperf") else "UDP load"


def version() -> str | None:
    """Return dnsperf's version from its help."""
    if not shutil.which("dnsperf"):
        return None
    done = subprocess.run(["dnsperf", "-h"], capture_output=True, text=True, timeout=10, check=False)
    found = re.search(r"Version (\S+)", done.stdout + done.stderr)
    return found and found[1]


def message(number: int, name: str, kind: int = 1) -> bytes:
    """Write a question (RFC 1035), recursion desired."""
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b"."))
    return number.to_bytes(2) + b"\x01\x00\x00\x01" + bytes(6) + labels + b"\x00" + kind.to_bytes(2) + b"\x00\x01"


def _flood(address: str, port: int, names: Sequence[str], seconds: float) -> tuple[int, int]:
    """Keep the questions in flight until the time is up; returns numbers of questions and answers."""
    questions = [message(number % 65536, name) for number, name in enumerate(names)]
    poll = select.epoll()
    clients: dict[int, socket.socket] = {}
    for _ in range(SOCKETS):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.setblocking(False)
        client.connect((address, port))
        poll.register(client, select.EPOLLIN)
        clients[client.fileno()] = client
    sent = answered = 0
    for client in clients.values():
        for _ in range(OUTSTANDING // SOCKETS):
            client.send(questions[sent % len(questions)])
            sent += 1
    deadline = time.monotonic() + seconds
    while answered < sent:
        ready = poll.poll(0.5)
        if not ready:
            break  # what is missing now is lost
        asking = time.monotonic() < deadline
        for number, _ in ready:
            client = clients[number]
            # In batches: one question for each answer that is there.
            for _ in range(64):
                try:
                    client.recv(4096)
                except BlockingIOError:
                    break
                answered += 1
                if asking:
                    client.send(questions[sent % len(questions)])
                    sent += 1
    return sent, answered


def main() -> None:
    """Run the load generator in a process of its own, with dnsperf's output."""
    address, port, questions, seconds = sys.argv[1:]
    names = [line.split()[0] for line in Path(questions).read_text().splitlines()]
    begin = time.monotonic()
    sent, answered = _flood(address, int(port), names, float(seconds))
    print(f"Queries sent: {sent}\nQueries completed: {answered}\nRun time (s): {time.monotonic() - begin:.3f}")


_PATTERNS = (r"Queries sent:\s+(\d+)", r"Queries completed:\s+(\d+)", r"Run time \(s\):\s+([\d.]+)")

if __name__ == "__main__":
    main()
