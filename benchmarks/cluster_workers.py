"""Workers of a benchmark: what they own, cost and keep in Kafka."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.crawl import TIMEOUT
from benchmarks.dispatch_service import Running
from benchmarks.harness import Cores, environment
from benchmarks.report import BenchmarkError


class Cluster:
    """Workers of one job. A context manager."""

    def __init__(self, kafka: Any, name: str, job: str, partitions: int, cores: Cores, folder: Path) -> None:
        """Start nothing yet. kafka: the brokers of the tests. job: the text of the job file."""
        self.name, self.connection = name, kafka.connection
        self._kafka, self._partitions, self._cores, self._folder = kafka, partitions, cores, folder
        self.workers: list[Running] = []
        self.state = folder / "state"
        self.cpu = self.broker_cpu = self.bytes = 0.0
        (folder / "job.toml").write_text(job)
        self.state.mkdir()

    def __enter__(self) -> Cluster:
        """Have no workers yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.end()

    def add(self, slots: int, *more: str) -> Running:
        """Start a worker. more: further options."""
        command = [sys.executable, "-m", "lycosa", "work", *self._of_job(), "--state", str(self.state)]
        command += ["--http", "127.0.0.1:0", "--set", f"fetch.slots={slots}", *more]
        worker = Running(command, r"metrics on http://(\S+)", self._cores.client)
        self.workers.append(worker)
        return worker

    def wait_until_shared(self, within: float = 60.0) -> None:
        """Wait until all partitions are owned, by all workers."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            owned = [owned_partitions(worker) for worker in self.workers]
            if sum(owned) == self._partitions and all(owned):
                return
            time.sleep(0.05)
        raise BenchmarkError(f"workers own {owned} of {self._partitions} partitions after {within:g} s")

    def crawl(self, roots: list[str], pages: int) -> None:
        """Submit the seeds, wait until the job is over, and take what it has cost."""
        before = sum(worker.cpu() for worker in self.workers)
        broker, kept = self._broker_cpu(), self._bytes()
        submit = [sys.executable, "-m", "lycosa", "job", "submit", *roots, *self._of_job()]
        subprocess.run(submit, check=True, capture_output=True, env=environment())
        until = time.monotonic() + TIMEOUT
        while not (told := self.status())["over"] or any(told["outputs"].values()):
            if time.monotonic() > until:
                raise BenchmarkError(f"the job is not over after {TIMEOUT:g} s: {told}")
            time.sleep(0.5)
        self.cpu = sum(worker.cpu() for worker in self.workers) - before
        self.broker_cpu, self.bytes = self._broker_cpu() - broker, self._bytes() - kept
        if told["counts"]["pages"] != pages:
            raise BenchmarkError(f"{told['counts']['pages']:,} of {pages:,} pages")

    def status(self) -> dict[str, Any]:
        """How the job stands."""
        from lycosa.cluster.control import behind, status
        from lycosa.cluster.topics import Topics

        topics, connection = Topics(self.name), self.connection
        statuses, is_over = status(topics, connection)
        names = ("pages", "known")
        counts = {name: sum(one.counts.get(name, 0) for one in statuses.values()) for name in names}
        return {"over": is_over, "counts": counts, "outputs": behind(topics, connection, statuses)}

    def _of_job(self) -> list[str]:
        """The options that name the job."""
        return ["--job", str(self._folder / "job.toml"), "--name", self.name, "--kafka", self._kafka.servers]

    def _broker_cpu(self) -> float:
        """CPU of the broker until now, in s."""
        fields = Path(f"/proc/{self._kafka.brokers[0].pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _bytes(self) -> int:
        """Bytes of the job's topics at the broker."""
        data = self._kafka.brokers[0].folder / "data"
        return sum(
            file.stat().st_size
            for topic in ("links", "journal", "pages")
            for file in data.glob(f"lycosa.{self.name}.{topic}-*/*.log")
        )


def metric(worker: Running, name: str) -> float:
    """Return a metric of a worker, by its name and labels; 0 if it tells none."""
    with urllib.request.urlopen(f"http://{worker.url}/metrics", timeout=10) as answer:  # our own
        for line in answer.read().decode().splitlines():
            told, _, value = line.rpartition(" ")
            if told == name:
                return float(value)
    return 0.0


def owned_partitions(worker: Running) -> int:
    """Return how many partitions a worker owns, by its metrics."""
    return int(metric(worker, 'lycosa_worker_partitions{state="owned"}'))
