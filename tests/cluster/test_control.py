"""A job is paused, goes on, puts aside what it cannot read; an output is added when it is over."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from lycosa.cluster import output
from lycosa.cluster.control import behind, status
from lycosa.cluster.dead_letters import dead_letters
from lycosa.cluster.output import OutputWriter, PositionsLost, group_of
from lycosa.cluster.output_files import OutputDirectory, OutputFile
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import Topics
from lycosa.job import Job, make_job, read_job
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka
from tests.cluster.workers import PARTITIONS, WHOLE, Workers, settings_of, wait_until_complete


def tell(kafka: Kafka, action: str, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run an action of `lycosa job`."""
    command = [sys.executable, "-m", "lycosa", "job", action, "--name", name, "--kafka", kafka.servers, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def begun(kafka: Kafka, net: SimulatedInternet, folder: Path, name: str) -> tuple[Job, Path]:
    """A job whose seeds are submitted, and its file."""
    file = folder / "job.toml"
    file.write_text(net.job() + settings_of(kafka, WHOLE))
    job = make_job(read_job(file))
    submit(job, name, kafka.connection)
    return job, file


def wait_for_trouble(writer: OutputWriter) -> None:
    """Wait until a writer raises what has ended it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        writer.check()
        time.sleep(0.1)


def served(net: SimulatedInternet) -> int:
    """How many pages were fetched."""
    count: int = net.report()["coverage"]["served"]
    return count


def test_a_job_pauses_and_goes_on(kafka: Kafka, tmp_path: Path) -> None:
    topics = Topics("paused")
    with SimulatedInternet(hosts=200, pages=4, seed=3, speed=40) as net:
        _, file = begun(kafka, net, tmp_path, "paused")
        assert tell(kafka, "pause", "paused").returncode == 0
        group = Workers(kafka, file, "paused", tmp_path, with_outputs=False)
        try:
            group.start()
            time.sleep(4)
            assert served(net) == 0, "a worker that begins while the job is paused starts nothing"
            assert json.loads(tell(kafka, "status", "paused", "--json").stdout)["paused"]
            assert tell(kafka, "resume", "paused").returncode == 0
            deadline = time.monotonic() + 60
            while served(net) < 50:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            tell(kafka, "pause", "paused")
            time.sleep(3)  # what is in flight ends
            before = served(net)
            time.sleep(2)
            assert served(net) == before
            tell(kafka, "resume", "paused")
            wait_until_complete(topics, kafka, group)
        finally:
            group.close()
        assert net.report()["coverage"]["ratio"] == 1.0


def test_max_pages_is_of_the_whole_job(kafka: Kafka, tmp_path: Path) -> None:
    topics = Topics("budget")
    with SimulatedInternet(hosts=200, pages=4, seed=3, speed=60) as net:
        file = tmp_path / "job.toml"
        file.write_text("max_pages = 250\n" + net.job() + settings_of(kafka, WHOLE))
        submit(make_job(read_job(file)), "budget", kafka.connection)
        group = Workers(kafka, file, "budget", tmp_path, with_outputs=False)
        try:
            for _ in range(3):
                group.start()
            time.sleep(4)
            group.end(group.all[0], signal.SIGKILL)
            wait_until_complete(topics, kafka, group)
        finally:
            group.close()
    statuses, _ = status(topics, kafka.connection)
    assert sum(one.counts["pages"] for one in statuses.values()) == 250


def test_an_unknown_job_is_told(kafka: Kafka) -> None:
    for action in ("pause", "resume", "status"):
        done = tell(kafka, action, "unknown")
        assert done.returncode == 2
        assert done.stderr.startswith("lycosa: --name: 'unknown' is not allowed; allowed: "), done.stderr


def test_damaged_records_and_an_error_in_a_batch_lose_no_page(kafka: Kafka, tmp_path: Path) -> None:
    topics = Topics("damaged")
    with SimulatedInternet(hosts=150, pages=4, seed=3, speed=60) as net:
        _, file = begun(kafka, net, tmp_path, "damaged")
        producer = Producer(kafka.connection)
        for topic in (topics.links, topics.journal, topics.pages):
            producer.produce(topic, b"nonsense", partition=5)
        assert producer.flush(30) == 0
        group = Workers(kafka, file, "damaged", tmp_path)
        bodies, aside = tmp_path / "state" / "bodies", tmp_path / "aside"
        try:
            group.start()
            deadline = time.monotonic() + 60
            # The worker loads one partition after another, and fetches meanwhile: it has to have read the journal.
            found: dict[str, int] = {}
            while len(list(bodies.glob("*/*"))) < 30 or "journal" not in found:
                found = dead_letters(topics, kafka.connection).counts
                assert time.monotonic() < deadline
                time.sleep(0.1)
            bodies.rename(aside)
            bodies.write_text("no directory")  # as a share that fails
            assert group.all.pop().wait(60) == 1
            bodies.unlink()
            aside.rename(bodies)
            group.start()
            wait_until_complete(topics, kafka, group)
            rows = group.rows()
        finally:
            group.close()
        assert net.report()["coverage"]["ratio"] == 1.0
        assert all(urls.total() == len(urls) == served(net) for urls in rows)
    dead = json.loads(tell(kafka, "status", "damaged", "--json").stdout)["dead_letters"]
    assert dead["links"] == 1
    assert dead["journal"] == 2, "each owner reads the journal for itself"
    assert dead["pages"] >= 2, "each output reads pages for itself"
    assert "record" in tell(kafka, "status", "damaged").stdout


def test_an_output_that_is_added_later_has_all_whatever_its_disk_does(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = Topics("later")
    with SimulatedInternet(hosts=100, pages=4, seed=3, speed=60) as net:
        job, file = begun(kafka, net, tmp_path, "later")
        group = Workers(kafka, file, "later", tmp_path, with_outputs=False)
        try:
            group.start()
            wait_until_complete(topics, kafka, group)
            assert group.end(group.all[0], signal.SIGTERM) == 0
        finally:
            group.close()
        count = served(net)
    write, complete = OutputFile.write, OutputFile.complete
    left_to_fail = {"write": [PARTITIONS // 2], "complete": [1]}  # positions of other partitions are behind rows then

    def fail(what: str) -> None:
        for at in left_to_fail[what]:
            left_to_fail[what] = [at - 1] if at > 1 else []
            if at == 1:
                raise OSError(errno.ENOSPC, "No space left on device")

    def failing_write(self: OutputFile, rows: Any) -> None:
        fail("write")
        write(self, rows)

    def failing_complete(self: OutputFile) -> None:
        fail("complete")
        complete(self)

    monkeypatch.setattr(OutputFile, "write", failing_write)
    monkeypatch.setattr(OutputFile, "complete", failing_complete)
    monkeypatch.setattr(output, "AGAIN", 0.1)
    own = tmp_path / "own"
    own.mkdir()
    bodies = tmp_path / "state" / "bodies"
    directory = OutputDirectory(f"{tmp_path}/later.jsonl/")
    writer = OutputWriter(job, topics, kafka.connection, directory, bodies, "test", own)
    writer.start()
    deadline = time.monotonic() + 60
    while not (left := behind(topics, kafka.connection, status(topics, kafka.connection)[0])) or any(left.values()):
        assert time.monotonic() < deadline, left
        writer.check()
        time.sleep(0.2)
    writer.close()
    # Positions that nobody has used for long are removed by the brokers.
    admin = AdminClient(kafka.connection)
    for future in admin.delete_consumer_groups([group_of(topics, directory)]).values():
        future.result()
    again = OutputWriter(job, topics, kafka.connection, directory, bodies, "again", own)
    again.start()
    with pytest.raises(PositionsLost, match="the brokers do not know any more how far it is"):
        wait_for_trouble(again)
    again.close()
    assert left_to_fail == {"write": [], "complete": []}
    query = "SELECT count(url), count(DISTINCT url) FROM read_json('{}/*.jsonl') WHERE status = 200"
    with duckdb.connect() as database:
        assert database.execute(query.format(directory.path)).fetchone() == (count, count)
