"""Stages on workers of their own: parsers are killed, and writers; nothing is lost, nothing is there twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import Topics
from lycosa.job import make_job, read_job
from lycosa.simnet import SimulatedInternet

from benchmarks.ports import free_port
from tests.cluster.kafka import Kafka
from tests.cluster.workers import WHOLE, Workers, settings_of, wait_until_complete


class Stage:
    """Workers with one stage alone."""

    def __init__(self, kafka: Kafka, job: Path, name: str, *more: str) -> None:
        self._command = [sys.executable, "-m", "lycosa", "work", "--job", str(job), "--name", name]
        self._command += ["--kafka", kafka.servers, *more]
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self, *more: str) -> None:
        """Start one more."""
        self.all.append(subprocess.Popen([*self._command, *more]))

    def kill(self) -> None:
        """Kill the oldest."""
        self.all[0].kill()
        self.all.pop(0).wait()

    def stop(self) -> None:
        """End all by SIGTERM."""
        for one in self.all:
            one.send_signal(signal.SIGTERM)
        assert [one.wait(60) for one in self.all] == [0] * len(self.all)

    def close(self) -> None:
        """Kill all that still run."""
        for one in self.all:
            one.kill()
            one.wait()


@contextmanager
def ended(*groups: Stage | Workers) -> Iterator[None]:
    """Have all workers end with the block."""
    try:
        yield
    finally:
        for group in groups:
            group.close()


def parsed(port: int) -> float:
    """Responses that a parser has parsed; 0 before it tells."""
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
        return float(next(line.split()[-1] for line in lines if line.startswith("lycosa_parser_responses_total ")))
    return 0.0


def is_ready(port: int) -> bool:
    """Whether a worker has partitions."""
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
        return True
    return False


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.timeout(300)
def test_stages_apart_lose_nothing_whichever_of_them_dies(kafka: Kafka, tmp_path: Path) -> None:
    topics = Topics("stages")
    port = free_port()
    with SimulatedInternet(hosts=200, pages=4, seed=3, speed=40) as net:
        job = tmp_path / "job.toml"
        job.write_text(net.job() + settings_of(kafka, WHOLE))
        submit(make_job(read_job(job)), "stages", kafka.connection)
        lanes = Workers(kafka, job, "stages", tmp_path, with_outputs=False, more=["--stages", "frontier,fetch"])
        outputs = [tmp_path / "pages.jsonl", tmp_path / "pages"]
        lanes.outputs = []
        parsers = Stage(kafka, job, "stages", "--stages", "parse")
        state = ["--state", str(tmp_path / "state"), *(f"--output={output}/" for output in outputs)]
        writers = Stage(kafka, job, "stages", "--stages", "store", *state)
        with ended(lanes, parsers, writers):
            for stage in (parsers, writers):
                stage.start()
                stage.start()
            parsers.start("--http", f"127.0.0.1:{port}")
            # Lanes whose first copies nobody reads would parse for themselves for longer than this crawl takes.
            wait_until(lambda: is_ready(port), 60)
            lanes.start()
            lanes.start()
            # More than the copies by which lanes see whether somebody answers.
            wait_until(lambda: parsed(port) > 50, 60)
            for _ in range(2):
                time.sleep(3)
                parsers.kill()
                parsers.start()
                writers.kill()
                writers.start()
            time.sleep(2)
            lanes.end(lanes.all[0], signal.SIGKILL)
            lanes.start()
            wait_until_complete(topics, kafka, lanes)
            for worker in list(lanes.all):
                assert lanes.end(worker, signal.SIGTERM) == 0
            parsers.stop()
            writers.stop()
            lanes.outputs = outputs
            rows = lanes.rows()
        report = net.report()
    assert report["coverage"]["ratio"] == 1.0, report["coverage"]
    assert report["rates"]["host"]["count"] == report["robots"]["count"] == 0
    for found in rows:
        assert found.total() == len(found) == report["coverage"]["served"]


def test_a_crawl_whose_parsers_are_missing_goes_on(kafka: Kafka, tmp_path: Path) -> None:
    with SimulatedInternet(hosts=50, pages=2, seed=3, speed=60) as net:
        job = tmp_path / "job.toml"
        job.write_text(net.job() + settings_of(kafka, WHOLE))
        submit(make_job(read_job(job)), "alone", kafka.connection)
        lanes = Workers(kafka, job, "alone", tmp_path, with_outputs=False, more=["--stages", "frontier,fetch"])
        with ended(lanes):
            lanes.start()
            deadline = time.monotonic() + 60
            # Copies are sent, to see whether somebody answers; nothing waits for them.
            while net.report()["coverage"]["ratio"] < 0.8:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert lanes.end(lanes.all[0], signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            ["--stages", "fetch"],
            "--stages: 'fetch' is not allowed; allowed: frontier,fetch",
        ),
        (["--stages", "parse,store"], "--stages: 'parse,store' is not allowed"),
        (["--stages", "store"], "--stages: 'store' is not allowed; allowed: store with at least one --output"),
        (["--stages", "parse", "-o", "x/"], "--output: 'x/' is not allowed; allowed: none without the stage store"),
        (["--stages", "frontier,fetch"], "--state is missing: a directory that exists"),
    ],
)
def test_stages_that_cannot_be_are_told(tmp_path: Path, given: list[str], told: str) -> None:
    job = tmp_path / "job.toml"
    job.write_text('user_agent = "test/1.0 (me@example.org)"\n')
    command = ["work", "--job", str(job), "--name", "x", "--kafka", "127.0.0.1:1", *given]
    done = subprocess.run([sys.executable, "-m", "lycosa", *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
