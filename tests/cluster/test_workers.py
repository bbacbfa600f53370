"""Workers crawl the simulated Internet through a real Kafka; some are killed. The ledger and the journals judge."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from lycosa import _core
from lycosa.cluster.control import status
from lycosa.cluster.frontier_part import LENT
from lycosa.cluster.journal import GIVEN_BACK
from lycosa.cluster.reading import ends, make_reader, read, starts
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import NoBroker, Topics
from lycosa.errors import SettingError
from lycosa.job import make_job, read_job
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka
from tests.cluster.old_broker import OldBroker
from tests.cluster.workers import PARTITIONS, SLOTS, WHOLE, Workers, is_complete, settings_of


def test_workers_agree_on_the_job(kafka: Kafka) -> None:
    connection = kafka.connection
    given = {"seeds": ["https://example.com/"], "user_agent": "test/1.0 (me@example.org)"}
    job = make_job({**given, "cluster": {"partitions": 4, "replicas": 1}})
    assert submit(job, "agreed", connection) == 1
    assert status(Topics("agreed"), connection) == ({}, False)
    own = make_job({**given, "memory": "1 GB", "cluster": {"partitions": 4, "replicas": 1}})
    assert submit(own, "agreed", connection) == 1, "what is a worker's own may differ"
    other = make_job({**given, "max_depth": 3, "cluster": {"partitions": 4, "replicas": 1}})
    with pytest.raises(
        SettingError, match=r"max_depth: '3' is not allowed; allowed: None, as other workers of job agreed"
    ):
        submit(other, "agreed", connection)
    with pytest.raises(SettingError, match=r"cluster.partitions: '8' is not allowed; allowed: 4, which topic"):
        submit(make_job({**given, "cluster": {"partitions": 8, "replicas": 1}}), "agreed", connection)
    with pytest.raises(NoBroker, match="replication factor"):
        submit(make_job({**given, "cluster": {"partitions": 4, "replicas": 3}}), "other", connection)


def test_no_broker_is_told(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('seeds = ["https://example.com/"]\nuser_agent = "test/1.0 (me@example.org)"\n')
    command = ["work", "--job", str(job), "--name", "x", "--kafka", "127.0.0.1:1", "--state", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "lycosa", *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("lycosa: 127.0.0.1:1: no broker can be asked")


def test_brokers_that_are_too_old_are_told(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('seeds = ["https://example.com/"]\nuser_agent = "test/1.0 (me@example.org)"\n')
    with OldBroker() as broker:
        command = ["work", "--job", str(job), "--name", "x", "--kafka", f"127.0.0.1:{broker.port}"]
        command += ["--state", str(tmp_path)]
        done = subprocess.run([sys.executable, "-m", "lycosa", *command], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1, done.stderr
    assert "the brokers are too old: Kafka 3.7 or newer is needed" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--name", "bad name"], "--name: 'bad name' is not allowed; allowed: 1 to 100 letters"),
        (["--state", "/nonexistent"], "--state: '/nonexistent' is not allowed; allowed: a directory that exists"),
        (["--kafka-set", "nonsense=1"], 'No such configuration property: "nonsense"'),
        (
            ["-o", "pages.jsonl"],
            "--output: 'pages.jsonl' is not allowed; allowed: a directory that all workers share",
        ),
        (["-o", "pages.csv/"], "--output: 'pages.csv/' is not allowed; allowed: a directory that all workers share"),
        (["-o", "x/", "-o", "./x/"], "each output once"),
        (["--kafka-config", "/nonexistent"], "--kafka-config: '/nonexistent' is not allowed; allowed: a file that"),
        (["--kafka-set", "nonsense"], "--kafka-set: 'nonsense' is not allowed; allowed: KEY=VALUE"),
    ],
)
def test_bad_input_is_told(tmp_path: Path, given: list[str], told: str) -> None:
    job = tmp_path / "job.toml"
    job.write_text('user_agent = "test/1.0 (me@example.org)"\n')
    command = ["work", "--job", str(job), "--name", "x", "--kafka", "127.0.0.1:1", "--state", str(tmp_path), *given]
    done = subprocess.run([sys.executable, "-m", "lycosa", *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def recorded(kafka: Kafka, topics: Topics) -> tuple[Counter[str], int]:
    """How often each page was recorded, since it was taken back if it was; and how many were."""
    connection = kafka.connection
    admin, found, taken = AdminClient(connection), Counter[str](), 0
    with contextlib.closing(make_reader(connection, "judge")) as reader:
        for partition in range(PARTITIONS):
            place = TopicPartition(topics.journal, partition)
            end = ends(admin, [place])[partition]
            for message in read(reader, TopicPartition(topics.journal, partition, 0), end):
                if not message.value().startswith((GIVEN_BACK, LENT)):
                    entries = _core.Entries.of_journal(message.value(), message.offset() + 1)
                    for outcome in entries.outcomes():
                        if outcome.retry and outcome.request.lease == 0:
                            found[outcome.url] = 0  # taken back: its site may not have sent it
                            taken += 1
                        elif not outcome.retry and outcome.status == 200 and outcome.request.purpose == "page":
                            found[outcome.url] += 1
    return +found, taken  # those that stay


def crawl(
    kafka: Kafka,
    folder: Path,
    name: str,
    workers: int,
    kills: int,
    hosts: int,
    brokers: int = 0,
    seed: int = 1,
    snapshots: float = WHOLE,
) -> None:
    """Crawl with workers of which some are killed, or stopped, and brokers that are killed, and judge."""
    rng = random.Random(seed)  # noqa: S311
    topics, connection = Topics(name), kafka.connection
    with SimulatedInternet(hosts=hosts, pages=4, seed=3, speed=20) as net:
        job = folder / "job.toml"
        job.write_text(net.job() + settings_of(kafka, snapshots))
        submit(make_job(read_job(job)), name, connection)
        group = Workers(kafka, job, name, folder)
        try:
            for _ in range(workers):
                group.start()
            for what in rng.sample(["worker"] * kills + ["broker"] * brokers, kills + brokers):
                time.sleep(rng.uniform(1, 5))
                if what == "broker":
                    broker = rng.choice(kafka.brokers)
                    broker.stop()
                    time.sleep(rng.uniform(0, 5))
                    broker.start()
                else:
                    group.end(rng.choice(group.all), rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                    group.start()
            deadline = time.monotonic() + 150
            while not is_complete(topics, kafka):
                assert time.monotonic() < deadline, (status(topics, connection), net.report()["coverage"])
                assert not (ended := [worker.returncode for worker in group.all if worker.poll() is not None]), ended
                time.sleep(0.5)
            for worker in list(group.all):
                assert group.end(worker, signal.SIGTERM) == 0
            rows = group.rows()
        finally:
            group.close()
        report = net.report()
        # A journal that snapshots have passed is not whole: the outputs are then.
        found, taken = recorded(kafka, topics) if snapshots == WHOLE else (rows[0], hosts)
    assert report["coverage"]["ratio"] == 1.0, report["coverage"]
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0, report["rates"]
    assert report["robots"]["count"] == report["pauses"]["count"] == 0
    # A broker that is gone may make all workers begin again.
    assert report["repeats"]["after_answer"] <= (kills + brokers * workers) * SLOTS + taken, report["repeats"]
    assert len(found) == report["coverage"]["served"]
    assert set(found.values()) == {1}, [url for url, count in found.items() if count > 1][:5]
    for output in rows:
        assert output == found, [(url, count) for url, count in output.items() if count > 1][:5]


@pytest.mark.timeout(300)
def test_nothing_is_lost_when_workers_are_killed_and_what_snapshots_have_passed_is_removed(
    kafka: Kafka, tmp_path: Path
) -> None:
    crawl(kafka, tmp_path, "killed", workers=4, kills=5, hosts=400, snapshots=1.0)
    topics = Topics("killed")
    places = [TopicPartition(topics.journal, partition) for partition in range(PARTITIONS)]
    assert sum(start > 0 for start in starts(AdminClient(kafka.connection), places).values()) > PARTITIONS // 2


@pytest.mark.timeout(300)
def test_nothing_is_lost_when_a_broker_is_killed(tmp_path: Path) -> None:
    with Kafka(3) as kafka:
        crawl(kafka, tmp_path, "broker", workers=2, kills=0, brokers=1, hosts=300)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_whatever_is_killed(tmp_path: Path, seed: int) -> None:
    with Kafka(3) as kafka:
        crawl(kafka, tmp_path, "all", workers=4, kills=5, brokers=1, hosts=1500, seed=seed)
