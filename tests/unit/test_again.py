"""``lycosa parse`` waits for outputs that do not answer, and for full disks: each page is in each output once."""

from __future__ import annotations

import errno
import gzip
import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lycosa.again import Run, Sources
from lycosa.errors import OutputAway, StorageError
from lycosa.job import make_job
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob
from lycosa.sources import sources_of
from lycosa.store import patient
from lycosa.store.outputs import sink_of

URLS = [f"http://a.example/{number}" for number in range(3_000)]


class Mine(Sink):
    """A custom sink that raises these errors, one at each call of the methods that have some left."""

    commit_seconds = 0.0

    def __init__(self, **errors: list[Exception | None]) -> None:
        super().__init__("mine://pages")
        self.errors, self.pending, self.pages, self.opened = errors, list[str](), list[str](), 0

    def open(self, first: int, end: int) -> int:
        self.pending.clear()
        self.opened += 1
        self._raise("open")
        return super().open(first, end)

    def write(self, outcomes: Outcomes, position: int) -> int | None:
        self.pending += [outcome.url for outcome in outcomes]
        self._raise("write")
        return None

    def commit(self, position: int) -> None:
        self._raise("commit")
        super().commit(position)
        self.pages += self.pending
        self.pending.clear()

    def _raise(self, method: str) -> None:
        """Raise the next error of a method; `None`: none this time."""
        if (errors := self.errors.get(method)) and (error := errors.pop(0)) is not None:
            raise error


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(patient, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(patient, "TRY", 0.01)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of all pages, with something in its middle that is no record."""
    path = tmp_path / "a.warc.gz"
    with path.open("wb") as file:
        for url in URLS:
            http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>x</title>" + b"x" * 2_000
            head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(http)}\r\n"
            head += "WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http;msgtype=response\r\n\r\n"
            file.write(gzip.compress(head.encode() + http + b"\r\n\r\n", 1))
            if url == URLS[1_000]:
                file.write(b"no record at all")
    return path


def run_of(archive: Path, folder: Path, *sinks: Sink) -> tuple[Run, Sources]:
    """A run that is ready."""
    job, sources = make_job({"seeds": ["http://a.example/"]}), Sources(sources_of(str(archive)))
    (folder / "parse").mkdir()
    for sink in sinks:
        sink.attach(SinkJob("job-1", folder / "parse", sink.url, ("url",)))
    return Run(job, sources, sinks, lambda _: None), sources


def urls_in(path: Path) -> list[str]:
    return [json.loads(line)["url"] for line in path.read_bytes().splitlines()]


AWAY = OutputAway("mine://pages: nobody listens")
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "errors",
    [
        {"write": [None, AWAY, AWAY, None, AWAY]},
        {"commit": [None, AWAY, None, AWAY]},
        {"commit": [None, AWAY], "open": [None, AWAY, AWAY]},
        {"write": [FULL, FULL, None, FULL]},
    ],
)
def test_an_output_that_comes_back_has_each_page_once_and_so_have_the_others(
    archive: Path, tmp_path: Path, errors: dict[str, list[Exception | None]]
) -> None:
    mine, other = Mine(**{name: list(some) for name, some in errors.items()}), sink_of(str(tmp_path / "b.jsonl"))
    run, sources = run_of(archive, tmp_path, mine, other)
    progress = run.parse()
    assert mine.errors == {name: [] for name in errors}, "each error has been"
    assert mine.pages == URLS
    assert urls_in(tmp_path / "b.jsonl") == URLS
    assert progress.pages == len(URLS), "what is parsed again counts once"
    assert len(sources.damages) == 1, "what is read again is told once"
    assert progress.positions == {sink.url: sources.end for sink in (mine, other)}


def test_it_is_told_once_while_it_lasts_and_when_it_is_over(
    archive: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, _ = run_of(archive, tmp_path, Mine(commit=[AWAY, AWAY, AWAY]))
    run.parse()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "mine://pages: nobody listens; it is tried again; Ctrl-C ends it, and the same command goes on",
        "output mine://pages answers again",
    ]


def test_each_output_that_is_away_is_told(archive: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mine, other = Mine(write=[None, AWAY]), Mine(write=[None, None, None, OutputAway("other://pages: gone")])
    other.url = "other://pages"
    run, _ = run_of(archive, tmp_path, mine, other)
    run.parse()
    assert mine.pages == other.pages == URLS
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text.partition(";")[0] for text in told] == [
        "mine://pages: nobody listens",
        "output mine://pages answers again",
        "other://pages: gone",
        "output other://pages answers again",
    ]


def test_an_output_that_is_complete_is_left_alone(archive: Path, tmp_path: Path) -> None:
    mine, other = Mine(), Mine(commit=[AWAY, AWAY])
    mine.commit_seconds = other.commit_seconds = 3_600.0
    other.url = "other://pages"
    run, _ = run_of(archive, tmp_path, mine, other)
    run.parse()
    assert mine.pages == other.pages == URLS
    assert mine.opened == 1


def test_a_full_disk_is_waited_for_from_the_beginning(archive: Path, tmp_path: Path) -> None:
    run, _ = run_of(archive, tmp_path, mine := Mine(open=[FULL, FULL]))
    run.parse()
    assert mine.pages == URLS


@pytest.mark.parametrize("error", [StorageError("mine://pages: refused"), PermissionError("no"), AWAY])
def test_what_does_not_pass_ends_it_and_what_is_away_from_the_beginning_too(
    archive: Path, tmp_path: Path, error: Exception
) -> None:
    if error is AWAY:
        with pytest.raises(OutputAway):
            run_of(archive, tmp_path, Mine(open=[error]))
    else:
        run, _ = run_of(archive, tmp_path, Mine(write=[error]))
        with pytest.raises(type(error)):
            run.parse()


def test_ctrl_c_ends_it_also_while_an_output_hangs(archive: Path, tmp_path: Path) -> None:
    """Its library may wait in C, where a signal does not reach Python."""
    script = f"""
import time
from lycosa import cli
from lycosa.store import outputs

class Hangs(outputs.Sink):
    def write(self, outcomes, position):
        print("hangs", flush=True)
        while True:  # as a library in C: what the signal raises goes to the main thread
            time.sleep(0.1)

outputs.sink_of = lambda url: Hangs("mine://pages")
raise SystemExit(cli.main(["parse", {str(archive)!r}, "-o", "mine://pages", "--dir", {str(tmp_path / "parse")!r}]))
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == "hangs\n"
        ran.send_signal(signal.SIGINT)
        _, told = ran.communicate(timeout=30)
    assert ran.returncode == 130, told
    assert "Traceback" not in told
