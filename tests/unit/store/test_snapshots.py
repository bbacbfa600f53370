"""Snapshots: written by another process while the crawl goes on, and no crawl depends on one."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from lycosa import Request, Requests, _core
from lycosa.job import make_job
from lycosa.store.snapshots import Snapshots

URLS = 400_000


class Crawl:
    """A frontier with its log and snapshots, without fetches."""

    def __init__(self, folder: Path) -> None:
        """Open or reopen."""
        job = make_job({"seeds": [url(0)]})
        self.folder = folder
        self.log = _core.Log(folder / "log", 1 << 30, None, None, folder / "failed")
        self.frontier = _core.Frontier(job, _core.Names(job), folder, end=self.log.end())
        self.snapshots = Snapshots(self.frontier, self.log, place=str(folder), log_bytes=1, seconds=0)

    def accept(self, numbers: range) -> None:
        """Record and accept URLs."""
        requests = Requests([Request(url(number)) for number in numbers])
        self.log.append_requests(requests)
        self.frontier.add_requests(requests)

    def waiting(self) -> int:
        """URLs that wait."""
        return self.frontier.counts()["waiting"]


def url(number: int) -> str:
    """A URL of one of a thousand hosts."""
    return f"http://h{number % 1000}.example/page/{number}"


def children() -> list[int]:
    """Processes that this one has forked."""
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


def has_lock(pid: int) -> bool:
    """Whether a process has the lock of a log open."""
    with contextlib.suppress(OSError):
        return any(os.readlink(one).endswith("/log/lock") for one in Path(f"/proc/{pid}/fd").iterdir())
    return False


def writer_of(crawl: Crawl) -> int:
    """Begin a snapshot; return the process that writes it."""
    before = set(children())
    crawl.snapshots.save_if_due()
    (writer,) = set(children()) - before
    return writer


def test_what_happens_while_a_snapshot_is_written_is_not_in_it_and_not_lost(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.accept(range(URLS))
    crawl.snapshots.save_if_due()
    assert crawl.snapshots.is_writing
    crawl.accept(range(URLS, URLS + 10))
    assert crawl.frontier.snapshots() == [], "it has no name yet"
    crawl.snapshots.wait()
    (position,) = crawl.frontier.snapshots()
    assert position < crawl.log.end()
    del crawl
    again = Crawl(tmp_path)
    assert again.snapshots.restore() == 10, "records after the snapshot"
    assert again.waiting() == URLS + 10


def test_a_snapshot_whose_process_is_killed_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawl = Crawl(tmp_path)
    crawl.accept(range(URLS))
    # As where the system is short of memory.
    os.kill(writer_of(crawl), signal.SIGKILL)
    with caplog.at_level(logging.WARNING, "lycosa"):
        crawl.snapshots.wait()
    assert "killed" in caplog.text
    assert crawl.frontier.snapshots() == [] == list((tmp_path / "snapshots").iterdir())
    crawl.snapshots.save_if_due()
    crawl.snapshots.wait()
    assert len(crawl.frontier.snapshots()) == 1, "the next one is made"


def test_a_crawl_goes_on_where_no_snapshot_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawl = Crawl(tmp_path)
    crawl.accept(range(1_000))
    shutil.rmtree(tmp_path / "snapshots")
    with caplog.at_level(logging.WARNING, "lycosa"):
        crawl.snapshots.save_if_due()
        crawl.snapshots.wait()
    assert "no snapshot was written" in caplog.text
    assert not crawl.snapshots.is_writing


def test_another_process_opens_the_log_although_the_writer_of_a_snapshot_lives(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.accept(range(URLS))
    writer = writer_of(crawl)
    # Stopped before it has closed its copies, it would keep the lock for as long as it is stopped.
    until = time.monotonic() + 5
    while has_lock(writer) and time.monotonic() < until:
        time.sleep(0.001)
    os.kill(writer, signal.SIGSTOP)
    try:
        crawl.log.sync()
        del crawl.snapshots, crawl.log
        # The lock is the open file's, of which the writer would have a copy.
        log = _core.Log(tmp_path / "log", 1 << 30)
        assert log.end() > 0
    finally:
        os.kill(writer, signal.SIGCONT)
    began = time.monotonic()
    del crawl
    while writer in children():
        assert time.monotonic() - began < 10, "it ends with its frontier"
        time.sleep(0.01)
