"""A log with real pages in it, without a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from lycosa import _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages
from lycosa.store.directory import JobDirectory

SITE = "http://93.184.216.34"


@dataclass(frozen=True)
class Recorded:
    """A job directory whose log has a start page and its links, in small segments."""

    directory: JobDirectory
    log: _core.Log
    urls: list[str]
    positions: list[int]  # after some of the batches


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A log of 61 pages."""
    return _record(tmp_path / "job", 60)


@pytest.fixture(scope="session")
def record() -> Callable[[Path, int], Recorded]:
    """How to make a log of some pages more than one."""
    return _record


def _record(path: Path, pages: int, segment_bytes: int = 1 << 20) -> Recorded:
    """Crawl a scripted site into a log."""
    directory = JobDirectory(path)
    html = [("Content-Type", "text/html; charset=utf-8")]
    links = b"".join(b"<a href=/%d>x</a>" % number for number in range(pages))

    def answer(url: str) -> Answer:
        if url.endswith("/robots.txt"):
            return (404, [], b"")
        path = url.removeprefix(SITE)
        return (200, html, links if path == "/" else f"<title>{path}</title>{'text ' * 40}".encode())

    politeness = {"host_interval": 0, "address_interval": 0, "host_concurrency": 4, "address_concurrency": 4}
    job = make_job({"seeds": [f"{SITE}/"], "politeness": politeness})
    log = _core.Log(directory.log, segment_bytes)
    stages = Stages(
        frontier=_core.Frontier(job, _core.Names(job)), fetch=ScriptedFetch(answer), parse=_core.Parser(job), log=log
    )
    log.append_seeds(list(job.seeds))
    stages.frontier.add(list(job.seeds))
    urls, positions = [], [log.end()]
    for batch in run(stages, Control()):
        urls += [page.url for page in batch.last()]
        positions.append(log.end())
    log.sync()
    return Recorded(directory, log, urls, positions)
