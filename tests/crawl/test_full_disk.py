"""A disk that fills up while a crawl goes on: it waits, says so, goes on by itself, and loses nothing."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from lycosa.simnet import SimulatedInternet
from warcio.archiveiterator import ArchiveIterator

SLOTS = 16

#: Runs in a mount namespace of its own, where a small disk stands at ``disk``. Arguments: folder, job file, where
#: the job directory is, the output, what ends the shortage (free, or a signal that ends the crawl).
INSIDE = """
import os, signal, subprocess, sys, time
from pathlib import Path

folder, job, directory, output, then = Path(sys.argv[1]), *sys.argv[2:]
disk, told = folder / "disk", folder / "told.txt"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", str(disk)], check=True)
command = [sys.executable, "-m", "lycosa", "crawl", "--job", job, "--dir", str(folder / directory)]
command += ["-o", str(folder / output), "--set", "fetch.slots=16", "--set", 'store.fields=["url", "status"]']
# Nothing is tried again by itself: each repeat is the disk's.
command += ["--set", "politeness.retries=0", "--set", "frontier.patience=0"]

def wait(what, until):
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline, what + ": " + told.read_text()
        time.sleep(0.02)

def fill():
    with (disk / "ballast").open("ab", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass

with told.open("w") as errors:
    crawl = subprocess.Popen(command, stderr=errors, stdout=subprocess.DEVNULL)
    log = folder / directory / "log"
    wait("begins", lambda: sum(path.stat().st_size for path in log.glob("*.log")) > 200_000)

    def is_full():
        fill()
        return "is full; free space and it continues" in told.read_text()

    wait("tells", is_full)
    time.sleep(1.5)
    assert crawl.poll() is None, told.read_text()
    if then == "free":
        (disk / "ballast").unlink()
        wait("goes on", lambda: "has space again" in told.read_text())
    else:
        crawl.send_signal(signal.SIGINT)
    status = crawl.wait(60)
    if then != "free":
        assert status == 1, (status, told.read_text())
        (disk / "ballast").unlink()
        with (folder / "again.txt").open("w") as again:
            status = subprocess.run(command, stderr=again, stdout=subprocess.DEVNULL).returncode
    subprocess.run(["cp", "-r", str(disk), str(folder / "after")], check=True)
raise SystemExit(status)
"""


def crawl(folder: Path, directory: str, output: str, then: str) -> tuple[dict[str, Any], str]:
    """A crawl whose disk fills up; the ledger's report, and what the crawl told."""
    (folder / "disk").mkdir()
    # As root a mount namespace is enough; others need a user namespace for it.
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    with SimulatedInternet(hosts=15, pages=40, seed=11, speed=10) as net:
        arguments = [str(folder), str(net.job_file()), directory, output, then]
        command = [*unshare, sys.executable, "-c", INSIDE, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=110)
        report = net.report()
    told = (folder / "told.txt").read_text()
    assert result.returncode == 0, result.stderr + told
    return report, told


def check(report: dict[str, Any], rows: list[tuple[str, int | None]], repeats: int) -> None:
    """Everything is fetched, no site is hurt, each record is in the output once."""
    assert report["coverage"]["ratio"] == 1.0
    assert report["repeats"]["requests"] <= repeats
    assert report["robots"]["disallowed"] == report["robots"]["before_robots"] == 0
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0
    assert len({url for url, _ in rows}) == len(rows)
    assert sum(status == 200 for _, status in rows) == report["coverage"]["served"]


def read(path: Path) -> list[tuple[str, int | None]]:
    """An output's rows."""
    if path.suffix == ".jsonl":
        return [(row["url"], row["status"]) for row in map(json.loads, path.read_text().splitlines())]
    if path.name.endswith(".csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return [(row["url"], int(row["status"]) if row["status"] else None) for row in csv.DictReader(file)]
    if path.name.endswith(".warc.gz"):
        with path.open("rb") as file:
            records = [record for record in ArchiveIterator(file) if record.rec_type == "response"]
        heads = [(record.rec_headers, record.http_headers) for record in records]
        return [(head.get_header("WARC-Target-URI"), int(http.get_statuscode())) for head, http in heads]
    if path.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT url, status FROM pages").fetchall()
    if path.suffix == ".duckdb":
        with duckdb.connect(path, read_only=True) as connection:
            return connection.execute("SELECT url, status FROM pages").fetchall()
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT url, status FROM '{path}'").fetchall()  # noqa: S608


@pytest.mark.parametrize(
    ("directory", "output"),
    [
        ("disk/job", "pages.jsonl"),
        ("disk/job", "disk/job/pages.parquet"),
        ("job", "disk/pages.jsonl"),
        ("job", "disk/pages.csv.gz"),
        ("job", "disk/pages.sqlite"),
        ("job", "disk/pages.duckdb"),
        ("job", "disk/pages.warc.gz"),
    ],
)
def test_a_crawl_waits_for_space_and_goes_on(directory: str, output: str, tmp_path: Path) -> None:
    report, told = crawl(tmp_path, directory, output, "free")
    check(report, read(tmp_path / output.replace("disk", "after", 1)), repeats=0)
    assert told.count("is full; free space and it continues; Ctrl-C ends it") <= 4, "told once per full disk"


def test_a_crawl_that_is_ended_while_the_disk_is_full_goes_on_later(tmp_path: Path) -> None:
    report, told = crawl(tmp_path, "disk/job", "disk/job/pages.jsonl", signal.SIGINT.name)
    check(report, read(tmp_path / "after" / "job" / "pages.jsonl"), repeats=SLOTS)
    assert "is fetched again next time" in told
    assert "Traceback" not in told
    assert "resuming the crawl in" in (tmp_path / "again.txt").read_text()
