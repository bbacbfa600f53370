"""A crawl that is killed with SIGKILL at random moments loses nothing, repeats little and stays polite."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet

#: Requests that a killed crawl may have had in flight: its slots.
SLOTS = 8


def crawl(job: Path, folder: Path, seconds: float | None) -> int:
    """Run a crawl, killed after some seconds; its exit status."""
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder / "job"), "--quiet"]
    command += ["-o", str(folder / "pages.jsonl"), "-o", str(folder / "pages.parquet")]
    # Snapshots as often as can be, and segments that go when two of them have passed.
    for setting in ("frontier.snapshot_bytes=1048576", "frontier.snapshot_interval=0", "store.segment_bytes=1048576"):
        command += ["--set", setting]
    command += ["--set", f"fetch.slots={SLOTS}"]
    process = subprocess.Popen(command)
    try:
        return process.wait(timeout=seconds if seconds is not None else 900)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@pytest.mark.parametrize("kills", [20, pytest.param(500, marks=pytest.mark.soak)])
def test_nothing_is_lost_under_kill(kills: int, tmp_path: Path) -> None:
    moments = random.Random(kills)  # noqa: S311
    # Of so many hosts some can be asked, although each whose answer was lost is left alone for a minute (7.5 s here).
    with SimulatedInternet(hosts=200, pages=10 + kills // 5, seed=kills, speed=8) as net:
        job, killed = net.job_file(), 0
        for _ in range(kills):
            # From the interpreter's start into the crawl.
            if crawl(job, tmp_path, moments.uniform(0.1, 0.9)) == -signal.SIGKILL:
                killed += 1
        # Pages that give nothing but errors (500) have an answer, too.
        assert crawl(job, tmp_path, None) == 0
        ledger = net.report()
    assert killed > kills / 2, "the crawl is long enough to be killed in"
    report = json.loads((tmp_path / "job" / "job.json").read_text())
    assert report["totals"]["sessions"] >= killed / 2, "a session that was killed counts, once its seeds are recorded"
    assert len(list((tmp_path / "job" / "snapshots").glob("*.snapshot"))) == 2
    assert not (tmp_path / "job" / "log" / f"{0:020}.log").exists(), "what nobody needs any more is gone"
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["requests"] <= killed * SLOTS
    assert ledger["robots"]["disallowed"] == ledger["robots"]["before_robots"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows), "each record once"
    columns = pyarrow.parquet.read_table(tmp_path / "pages.parquet", columns=["url"])["url"].to_pylist()
    assert sorted(columns) == sorted(row["url"] for row in rows), "every output has the same records"
    assert sum(row["status"] == 200 for row in rows) == ledger["coverage"]["served"]
