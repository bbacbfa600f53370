"""A job of one machine goes on in a cluster, and on one machine again: nothing is fetched twice, nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lycosa.cluster.topics import Topics
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka
from tests.cluster.workers import Workers, settings_of, wait_until_complete


def lycosa(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run([sys.executable, "-m", "lycosa", *command], capture_output=True, text=True, timeout=100)


def done(*command: str) -> str:
    """Run a command that succeeds; returns what it prints."""
    ended = lycosa(*command)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.timeout(240)
def test_a_job_moves_to_a_cluster_and_back(kafka: Kafka, tmp_path: Path) -> None:
    topics, state = Topics("moved"), tmp_path / "state"
    cluster = ["--name", "moved", "--kafka", kafka.servers, "--state", str(state)]
    with SimulatedInternet(hosts=200, pages=4, seed=3, speed=60) as net:
        job, alone = tmp_path / "job.toml", str(tmp_path / "alone")
        job.write_text(net.job() + "\n[store]\nretain = 'all'\n" + settings_of(kafka, 2.0))
        done("crawl", "--job", str(job), "--dir", alone, "-o", "none", "--max-pages", "150")
        before = net.report()["coverage"]["served"]
        assert before >= 150
        done("job", "export", alone, str(tmp_path / "moved.jsonl.gz"))

        group = Workers(kafka, job, "moved", tmp_path, with_outputs=False)
        assert "records; lycosa work" in done(
            "job", "import", str(tmp_path / "moved.jsonl.gz"), "--job", str(job), *cluster
        )
        again = lycosa("job", "import", str(tmp_path / "moved.jsonl.gz"), "--job", str(job), *cluster)
        assert (again.returncode, "a new job" in again.stderr) == (2, True), again.stderr
        try:
            for _ in range(2):
                group.start()
            wait_until_complete(topics, kafka, group)
            refused = lycosa("job", "export", *cluster, str(tmp_path / "early.jsonl"))
            assert "end them first" in refused.stderr
            for worker in list(group.all):
                assert group.end(worker, signal.SIGTERM) == 0
        finally:
            group.close()
        report = net.report()
        assert report["coverage"]["ratio"] == 1.0, report["coverage"]
        assert report["repeats"]["after_answer"] == 0, report["repeats"]
        assert report["rates"]["host"]["count"] == 0

        done("job", "export", *cluster, str(tmp_path / "back.jsonl"))
        pages = set()
        for line in (tmp_path / "back.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "page":
                response = record["record"]["response"]
                if response.get("result", {}).get("Ok", {}).get("status") == 200:
                    pages.add(response["request"]["url"])
        assert len(pages) == report["coverage"]["served"]
        done("job", "import", str(tmp_path / "back.jsonl"), str(tmp_path / "back"))
        done("crawl", "--job", str(job), "--dir", str(tmp_path / "back"), "-o", "none")
        assert net.report()["coverage"]["served"] == report["coverage"]["served"]
        assert net.report()["repeats"]["after_answer"] == 0


def test_an_import_that_was_cut_off_is_refused_by_workers_and_done_again(kafka: Kafka, tmp_path: Path) -> None:
    state = tmp_path / "state"
    cluster = ["--name", "cut", "--kafka", kafka.servers, "--state", str(state)]
    with SimulatedInternet(hosts=20, pages=2, seed=3, speed=60) as net:
        job, alone, file = tmp_path / "job.toml", str(tmp_path / "alone"), tmp_path / "cut.jsonl"
        job.write_text(net.job() + settings_of(kafka, 2.0))
        done("crawl", "--job", str(job), "--dir", alone, "-o", "none")
        done("job", "export", alone, str(file))
        whole = file.read_text()
        file.write_text(whole[: whole.rindex('{"kind":"end"')])
        group = Workers(kafka, job, "cut", tmp_path, with_outputs=False)
        refused = lycosa("job", "import", str(file), "--job", str(job), *cluster)
        assert refused.returncode == 1, refused.stderr
        assert "export it again" in refused.stderr
        worker = lycosa("work", "--job", str(job), *cluster)
        assert worker.returncode == 2
        assert "run lycosa job import again" in worker.stderr, worker.stderr
        file.write_text(whole)
        done("job", "import", str(file), "--job", str(job), *cluster)
        served = net.report()["coverage"]["served"]
        try:
            group.start()
            wait_until_complete(Topics("cut"), kafka, group)
        finally:
            group.close()
        assert net.report()["coverage"]["served"] == served
        refused = lycosa("job", "export", *cluster, str(tmp_path / "out.jsonl"))
        assert "store.retain = all" in refused.stderr, refused.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["export", "out.jsonl"], "DIR is missing: a job directory; or --name"),
        (["export", "dir", "out.jsonl", "--name", "x"], "DIR: 'dir' is not allowed; allowed: none with --name"),
        (["export", "out.jsonl", "--name", "x"], "--kafka is missing: brokers, with --name"),
        (
            ["export", "out.jsonl", "--name", "x", "--kafka", "y"],
            "--state is missing: the directory",
        ),
        (["import", "out.jsonl", "--name", "x", "--kafka", "y"], "FILE: 'out.jsonl' is not allowed"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, given: list[str], told: str) -> None:
    given = [str(tmp_path / text) if text.endswith(".jsonl") else text for text in given]
    ended = lycosa("job", *given)
    assert ended.returncode == 2
    assert told.replace("'out.jsonl'", repr(str(tmp_path / "out.jsonl"))) in ended.stderr, ended.stderr
