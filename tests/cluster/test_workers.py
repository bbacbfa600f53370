"""Workers crawl the simulated Internet through a real Kafka; some are killed. The ledger and the journals judge."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from lycosa import _core
from lycosa.cluster.control import status
from lycosa.cluster.journal import GIVEN_BACK
from lycosa.cluster.reading import ends, make_reader, read
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import Topics
from lycosa.job import make_job, read_job
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka

PARTITIONS = 16

#: Requests that a worker may have had in flight when it was killed.
SLOTS = 32


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with Kafka() as kafka:
        yield kafka


class Workers:
    """Workers of one job."""

    def __init__(self, kafka: Kafka, job: Path, name: str, folder: Path) -> None:
        self._kafka, self._job, self._name, self._folder = kafka, job, name, folder
        (folder / "state").mkdir()
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more."""
        command = [sys.executable, "-m", "lycosa", "work", "--job", str(self._job), "--name", self._name]
        command += ["--kafka", self._kafka.servers, "--state", str(self._folder / "state")]
        command += ["--set", f"fetch.slots={SLOTS}"]
        self.all.append(subprocess.Popen(command))

    def end(self, worker: subprocess.Popen[bytes], number: signal.Signals) -> int:
        """End one; returns its exit status."""
        self.all.remove(worker)
        worker.send_signal(number)
        return worker.wait(30)

    def close(self) -> None:
        """End all."""
        for worker in list(self.all):
            self.end(worker, signal.SIGKILL)


def recorded(kafka: Kafka, topics: Topics) -> Counter[str]:
    """How often each URL was recorded with its last outcome."""
    connection = {"bootstrap.servers": kafka.servers, "log_level": 3}
    admin, found = AdminClient(connection), Counter[str]()
    with contextlib.closing(make_reader(connection, "judge")) as reader:
        for partition in range(PARTITIONS):
            place = TopicPartition(topics.journal, partition)
            end = ends(admin, [place])[partition]
            for message in read(reader, TopicPartition(topics.journal, partition, 0), end):
                if message.value() != GIVEN_BACK:
                    entries = _core.Entries.of_journal(message.value(), message.offset() + 1)
                    found.update(outcome.url for outcome in entries.outcomes().last() if outcome.status == 200)
    return found


def crawl(kafka: Kafka, folder: Path, name: str, workers: int, kills: int, hosts: int) -> None:
    """Crawl with workers of which some are killed, and judge."""
    rng = random.Random(kills)  # noqa: S311
    topics, connection = Topics(name), {"bootstrap.servers": kafka.servers, "log_level": 3}
    with SimulatedInternet(hosts=hosts, pages=4, seed=3, speed=20) as net:
        job = folder / "job.toml"
        job.write_text(f"{net.job()}\n[cluster]\npartitions = {PARTITIONS}\nreplicas = 1\nsession_timeout = 6.0\n")
        submit(make_job(read_job(job)), name, connection)
        group = Workers(kafka, job, name, folder)
        try:
            for _ in range(workers):
                group.start()
            for _ in range(kills):
                time.sleep(rng.uniform(2, 6))
                group.end(rng.choice(group.all), rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                group.start()
            deadline = time.monotonic() + 150
            while not status(topics, connection)[1]:
                assert time.monotonic() < deadline, (status(topics, connection), net.report()["coverage"])
                assert all(worker.poll() is None for worker in group.all), "a worker has ended"
                time.sleep(0.5)
            for worker in list(group.all):
                assert group.end(worker, signal.SIGTERM) == 0
        finally:
            group.close()
        report, found = net.report(), recorded(kafka, topics)
    assert report["coverage"]["ratio"] == 1.0, report["coverage"]
    assert report["rates"]["host"]["count"] == 0, report["rates"]
    assert report["robots"]["count"] == report["pauses"]["count"] == 0
    assert report["coverage"]["repeats"] <= kills * SLOTS, report["coverage"]
    assert len(found) == report["coverage"]["served"]
    assert set(found.values()) == {1}, [url for url, count in found.items() if count > 1][:5]


def test_workers_share_a_crawl(kafka: Kafka, tmp_path: Path) -> None:
    crawl(kafka, tmp_path, "share", workers=2, kills=0, hosts=100)


@pytest.mark.timeout(300)
def test_nothing_is_lost_when_workers_are_killed(kafka: Kafka, tmp_path: Path) -> None:
    crawl(kafka, tmp_path, "killed", workers=4, kills=5, hosts=400)
