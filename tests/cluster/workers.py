"""Workers of a test's own, and how their job stands."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
from lycosa.cluster.control import behind, status
from lycosa.cluster.topics import NoBroker, Topics

from tests.cluster.kafka import Kafka

PARTITIONS = 16

#: Seconds between snapshots of a partition with which journals stay whole.
WHOLE = 600.0

#: Requests that a worker may have had in flight when it was killed.
SLOTS = 32


class Workers:
    """Workers of one job, which write two outputs."""

    def __init__(
        self,
        kafka: Kafka,
        job: Path,
        name: str,
        folder: Path,
        *,
        with_outputs: bool = True,
        more: Sequence[str] = (),
    ) -> None:
        self._more = more
        self._kafka, self._job, self._name, self._folder = kafka, job, name, folder
        (folder / "state").mkdir()
        self.outputs = [folder / "pages.jsonl", folder / "pages"] if with_outputs else []
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more."""
        command = [sys.executable, "-m", "lycosa", "work", "--job", str(self._job), "--name", self._name]
        command += ["--kafka", self._kafka.servers, "--state", str(self._folder / "state")]
        command += ["--set", f"fetch.slots={SLOTS}"]
        command += [option for output in self.outputs for option in ("-o", f"{output}/")]
        self.all.append(subprocess.Popen([*command, *self._more]))

    def end(self, worker: subprocess.Popen[bytes], number: signal.Signals) -> int:
        """End one; returns its exit status."""
        self.all.remove(worker)
        worker.send_signal(number)
        return worker.wait(60)  # as long as Kubernetes waits by the chart

    def rows(self) -> list[Counter[str]]:
        """How often each URL is in each output. DuckDB reads them."""
        lines, columns = self.outputs
        sources = (f"read_json('{lines}/*.jsonl')", f"read_parquet('{columns}/*.parquet')")
        with duckdb.connect() as database:
            query = "SELECT url FROM {} WHERE status = 200"
            found = [database.execute(query.format(source)).fetchall() for source in sources]
        return [Counter(url for (url,) in rows) for rows in found]

    def close(self) -> None:
        """End all."""
        for worker in list(self.all):
            self.end(worker, signal.SIGKILL)


def settings_of(kafka: Kafka, snapshots: float) -> str:
    """The section ``cluster`` of a job."""
    copies = min(len(kafka.brokers), 3)
    sizes = f"output_interval = 5.0\ninline_bytes = 2000\nsnapshot_interval = {snapshots}\n"
    return f"\n[cluster]\npartitions = {PARTITIONS}\nreplicas = {copies}\nsession_timeout = 6.0\n{sizes}"


def wait_until_complete(topics: Topics, kafka: Kafka, group: Workers, within: float = 100.0) -> None:
    """Wait until a job is over, and its outputs have all."""
    deadline = time.monotonic() + within
    while not is_complete(topics, kafka):
        assert time.monotonic() < deadline, status(topics, kafka.connection)
        assert not (ended := [worker.returncode for worker in group.all if worker.poll() is not None]), ended
        time.sleep(0.2)


def is_complete(topics: Topics, kafka: Kafka) -> bool:
    """Whether a job is over, and its outputs have all; not, as long as brokers do not tell."""
    try:
        statuses, is_over = status(topics, kafka.connection)
        return is_over and not any(behind(topics, kafka.connection, statuses).values())
    except NoBroker:
        return False
