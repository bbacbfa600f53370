"""A crawl that is killed with SIGKILL at random moments loses nothing, repeats little and stays polite."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet

from tests.crawl.killed import judge_killed

#: Requests that a killed crawl may have had in flight: its slots.
SLOTS = 8


def start(job: Path, folder: Path, shards: int) -> subprocess.Popen[bytes]:
    """Start a session of the crawl."""
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder / "job"), "--quiet"]
    command += ["-o", str(folder / "pages.jsonl"), "-o", str(folder / "pages.parquet")]
    # Snapshots as often as can be, and segments that go when two of them have passed.
    for setting in ("frontier.snapshot_bytes=1048576", "frontier.snapshot_interval=0", "store.segment_bytes=1048576"):
        command += ["--set", setting]
    command += ["--set", f"fetch.slots={SLOTS}", "--set", f"frontier.shards={shards}"]
    return subprocess.Popen(command)


def sessions(folder: Path) -> int:
    """How many sessions the crawl has recorded; each once its seeds are."""
    try:
        return int(json.loads((folder / "job" / "job.json").read_text())["totals"]["sessions"])
    except FileNotFoundError:
        return 0


def seconds_of_nothing() -> float:
    """How long this machine takes for the interpreter and the package alone."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "lycosa", "--version"], check=True, capture_output=True)
    return time.monotonic() - began


def seconds_until_recorded(process: subprocess.Popen[bytes], folder: Path, before: int) -> float:
    """Wait until a session has recorded itself, or has ended; how long that took."""
    began = time.monotonic()
    while process.poll() is None and sessions(folder) == before and time.monotonic() - began < 60:
        time.sleep(0.01)
    return time.monotonic() - began


@pytest.mark.timeout(900)  # what kills interrupt waits for politeness: two minutes on a machine with other work
@pytest.mark.parametrize(("kills", "shards"), [(12, 1), (8, 4), pytest.param(500, 1, marks=pytest.mark.soak)])
def test_nothing_is_lost_under_kill(kills: int, shards: int, tmp_path: Path) -> None:
    moments = random.Random(kills)  # noqa: S311
    # Of so many hosts some can be asked, although each whose answer was lost is left alone for a minute (7.5 s here).
    with SimulatedInternet(hosts=200, pages=10 + kills // 5, seed=kills, speed=8) as net:
        job, killed, recorded, start_up = net.job_file(), 0, 0, 2 * seconds_of_nothing()
        for kill in range(kills):
            before = sessions(tmp_path)
            process = start(job, tmp_path, shards)
            if kill < 2 or kill % 4 == 3:
                # While it starts, however long this machine takes; at first before any session has recorded itself.
                time.sleep(moments.uniform(start_up / 3, start_up))
            else:
                start_up = seconds_until_recorded(process, tmp_path, before)
                recorded += sessions(tmp_path) > before
                time.sleep(moments.uniform(0, 0.6))
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        # Pages that give nothing but errors (500) have an answer, too.
        assert start(job, tmp_path, shards).wait(timeout=900) == 0
        ledger = net.report()
    assert killed > kills / 2, "the crawl is long enough to be killed in"
    assert sessions(tmp_path) > recorded >= killed / 2, "a killed session counts, once its seeds are recorded"
    folders = [tmp_path / "job" / "snapshots", *(tmp_path / "job").glob("shards/*/snapshots")][-shards:]
    assert [len(list(folder.glob("*.snapshot"))) for folder in folders] == [2] * shards
    assert not (tmp_path / "job" / "log" / f"{0:020}.log").exists(), "what nobody needs any more is gone"
    rows = judge_killed(ledger, tmp_path / "pages.jsonl", killed * SLOTS)
    columns = pyarrow.parquet.read_table(tmp_path / "pages.parquet", columns=["url"])["url"].to_pylist()
    assert sorted(columns) == sorted(row["url"] for row in rows), "every output has the same records"
