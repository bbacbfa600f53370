"""Outputs that do not answer for a while: they are tried again, the crawl is told of it, and nothing is lost."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from lycosa.errors import OutputAway, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob
from lycosa.store import patient
from lycosa.store.follow import Follower
from lycosa.store.patient import Patience
from lycosa.store.turn import Turn

from .conftest import Recorded


class Away(Sink):
    """A custom sink that refuses as often as it is told to."""

    commit_seconds = 0.0

    def __init__(self, refusals: int) -> None:
        super().__init__("mine://pages")
        self.refusals, self.pending, self.rows_of = refusals, list[str](), list[str]()

    def open(self, first: int, end: int) -> int:
        self.pending.clear()
        return super().open(first, end)

    def write(self, outcomes: Outcomes, position: int) -> int | None:
        self.pending += [outcome.url for outcome in outcomes]
        return None

    def commit(self, position: int) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise OutputAway("mine://pages: nobody listens")
        super().commit(position)
        self.rows_of += self.pending
        self.pending.clear()


@pytest.fixture
def follow_to(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sink], Follower]:
    """How to follow a log, with short pauses."""
    monkeypatch.setattr(patient, "FIRST_PAUSE", 0.01)

    def make(sink: Sink) -> Follower:
        sink.attach(SinkJob("job-1", recorded.directory.sinks, "pages", ("url",)))
        return Follower(recorded.log, sink, Patience(lambda: False), 8 << 20, 1 << 20, Turn())

    return make


def test_an_output_that_comes_back_gets_each_row_once(
    recorded: Recorded, follow_to: Callable[[Sink], Follower], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="lycosa")
    sink = Away(refusals=3)
    follower = follow_to(sink)
    follower.start()
    until = time.monotonic() + 30
    while follower.position() < recorded.log.end():
        assert time.monotonic() < until
        time.sleep(0.01)
    follower.close()
    follower.check()
    assert sorted(sink.rows_of) == sorted(recorded.urls)
    told = [record.getMessage() for record in caplog.records]
    assert follower.reached == recorded.log.end()
    assert told == [
        "mine://pages: nobody listens; it is tried again, and its rows are in the log",
        "output mine://pages answers again",
    ]


def test_at_the_end_of_the_crawl_it_is_not_waited_for_without_end(
    recorded: Recorded, follow_to: Callable[[Sink], Follower]
) -> None:
    follower = follow_to(Away(refusals=1_000))
    follower.start()
    until = time.monotonic() + 30
    while follower.away is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert follower.reached == 0, "what was written without a commit is written again"
    follower.close()
    with pytest.raises(StorageError, match="are added next time"):
        follower.check()


def test_what_does_not_answer_at_the_start_keeps_the_crawl_from_starting(
    follow_to: Callable[[Sink], Follower],
) -> None:
    class Refuses(Away):
        def open(self, first: int, end: int) -> int:
            raise OutputAway("mine://pages: nobody listens")

    with pytest.raises(OutputAway):
        follow_to(Refuses(0))


def test_a_store_that_never_answers_does_not_stop_other_threads() -> None:
    """A library that holds Python's lock while it waits would stop the whole crawl; here the process is killed."""
    script = """
import os, socket, threading
from lycosa.store.outputs import sink_of

with socket.create_server(("127.0.0.1", 0)) as silent:
    os.environ["AWS_ENDPOINT_URL"] = "http://{}:{}".format(*silent.getsockname())
    for url in ("delta+s3://pages/table", f"s3://pages/objects/?endpoint={os.environ['AWS_ENDPOINT_URL']}"):
        threading.Thread(target=sink_of(url).exists, daemon=True).start()
        silent.accept()
        threading.Event().wait(1.0)
    print("moves", flush=True)
    os._exit(0)
"""
    credentials = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    environment = {**os.environ, **credentials, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=environment)
    assert ran.stdout == "moves\n", ran.stderr
