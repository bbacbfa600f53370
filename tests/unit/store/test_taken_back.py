"""Outcomes that are taken back: what outputs are shown of them, and how long they wait for what may be."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from lycosa import Request, Requests, _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import Job, make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages
from lycosa.store.directory import JobDirectory
from lycosa.store.snapshots import Snapshots

SITES = [f"http://93.{site}.1.1" for site in range(1, 4)]
PAGES = [f"{site}/{page}" for page in range(8) for site in SITES]


def answer(url: str) -> Answer:
    """A page that cannot be compressed."""
    if url.endswith("/robots.txt"):
        return (404, [], b"")
    return (200, [("Content-Type", "text/html")], random.Random(url).randbytes(60_000))  # noqa: S311


def open_job(directory: JobDirectory) -> tuple[Job, _core.Log, _core.Frontier, Snapshots]:
    """What a process opens."""
    politeness = {"host_interval": 0, "address_interval": 0}
    job = make_job({"seeds": PAGES, "politeness": politeness})
    log = _core.Log(directory.log, 1 << 30)
    made = _core.Frontier(job, _core.Names(job), directory.path, end=log.end())
    return job, log, made, Snapshots(made, log, place=str(directory.path), log_bytes=1 << 20, seconds=0)


def rows(reader: _core.LogReader) -> list[str]:
    """The URLs that an output is given."""
    found = []
    while len(read := reader.read(1_000, 1 << 20)) > 0:
        found += [json.loads(line)["url"] for line in read.lines(["url"]).splitlines()]
    return found


def crawl(log: _core.Log, job: Job, frontier: _core.Frontier) -> None:
    """Bring all pages into the log."""
    log.append_seeds(PAGES)
    frontier.add(PAGES)
    for _ in run(Stages(frontier, ScriptedFetch(answer), _core.Parser(job), log), Control()):
        pass
    log.sync()


def test_a_row_that_was_taken_back_is_in_no_output_whatever_snapshots_came_between(tmp_path: Path) -> None:
    directory = JobDirectory(tmp_path / "job")
    job, log, frontier, snapshots = open_job(directory)
    crawl(log, job, frontier)
    log.append(frontier.reopen(log.ended(Requests([Request(page) for page in PAGES[:3]]))))
    log.sync()
    snapshots.save_if_due()
    snapshots.wait()
    (saved,) = frontier.snapshots()
    assert saved == log.end(), "the next process reads nothing of the log"
    del log, frontier, snapshots
    _, log, _frontier, snapshots = open_job(directory)
    before = log.follow(None, with_body=False)
    assert snapshots.restore() == 0
    log.sync()
    for reader in (before, log.follow(None, with_body=False), log.follow(0, with_body=False)):
        assert sorted(rows(reader)) == sorted(PAGES[3:]), "whichever came first, follower or restoring"


def test_outputs_wait_longer_behind_an_answer_that_no_other_one_has_confirmed(tmp_path: Path) -> None:
    directory = JobDirectory(tmp_path / "job")
    job, log, frontier, _ = open_job(directory)
    log.keep_distance(0.2)
    crawl(log, job, frontier)
    log.doubt(frontier.doubted_since())
    ended = time.monotonic()
    reader = log.follow(with_body=False)
    shown = rows(reader)
    while time.monotonic() < ended + 0.6:
        time.sleep(0.05)
        shown += rows(reader)
    assert len(shown) < len(PAGES), "nobody was asked after the last one: a portal may have answered for it"
    while len(shown) < len(PAGES):
        assert time.monotonic() < ended + 10
        time.sleep(0.05)
        log.doubt(frontier.doubted_since())
        shown += rows(reader)
    assert sorted(shown) == sorted(PAGES)
