"""``lycosa crawl`` on bad input: one line, exit status 2, no traceback, nothing written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lycosa.simnet import SimulatedInternet


def lycosa(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "lycosa", "crawl", *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ["seeds", "at least one URL"]),
        (["example.com"], ["seed", "example.com", "absolute URL"]),
        (["ftp://example.com/"], ["ftp://example.com/", "http://"]),
        (["http://example.com/", "--max-pages", "0"], ["max_pages", "'0'", "greater than or equal to 1"]),
        (["http://example.com/", "--max-pages", "many"], ["--max-pages", "many"]),
        (["http://example.com/", "--scope", "site"], ["scope", "site", "'host'"]),
        (["http://example.com/", "--resolver", "x"], ["names.resolvers", "'x'"]),
        (["http://example.com/", "--set", "politness.retries=1"], ["politness", "did you mean politeness?"]),
        (["http://example.com/", "--set", "politeness"], ["--set", "KEY=VALUE"]),
        (["http://example.com/", "-o", "pages.csv"], ["pages.csv", ".parquet"]),
        (["http://example.com/", "-o", "missing/pages.jsonl"], ["missing/pages.jsonl", "directory that exists"]),
        (["http://example.com/", "--job", "missing.toml"], ["missing.toml"]),
        (["http://example.com/", "--report", "missing/report.json"], ["missing/report.json"]),
        (["http://example.com/", "--frsh"], ["--frsh"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], told: list[str], tmp_path: Path) -> None:
    result = lycosa(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stdout == ""
    for part in told:
        assert part in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_reports(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=5, speed=200) as net:
        job = str(net.job_file())
        result = lycosa("--job", job, "--dir", "d", "-o", "pages.jsonl", "--report", "-", "--quiet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    report = json.loads(result.stdout)
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert sum(row["status"] is not None for row in rows) == report["pages"] + report["redirects"]
    assert report["outputs"] == ["pages.jsonl"]


def start(net: SimulatedInternet, cwd: Path) -> subprocess.Popen[str]:
    """A crawl that would take minutes, once it has begun to write."""
    arguments = ["--job", str(net.job_file()), "--dir", "d", "-o", "pages.jsonl", "--report", "report.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa", "crawl", *arguments, "--speed", "2"],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    output = cwd / "pages.jsonl"
    deadline = time.monotonic() + 30
    while not (output.exists() and output.stat().st_size > 0):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_ctrl_c_flushes_reports_and_exits_130(signals: list[signal.Signals], tmp_path: Path) -> None:
    with SimulatedInternet(hosts=20, pages=30, speed=2) as net:
        process = start(net, tmp_path)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.1)
        _, errors = process.communicate(timeout=15)
    assert process.returncode == 130, errors
    assert "finishing what is in flight" in errors
    report = json.loads((tmp_path / "report.json").read_text())
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len(rows) == report["pages"] + report["redirects"] + sum(report["failures"].values())
    assert report["frontier"]["waiting"] > 0
