"""Followers: which position others are told, and what a sink may die of."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lycosa
import pytest
from lycosa import Outcomes
from lycosa.errors import StorageError
from lycosa.fetch import ScriptedFetch
from lycosa.sink import Sink
from lycosa.store.follow import Follower
from lycosa.store.patient import Patience
from lycosa.store.turn import Turn

if TYPE_CHECKING:
    from .conftest import Recorded

MIB = 1 << 20


class TransactionSink(Sink):
    """Keeps rows and position in one transaction, which is not at its end before it is told."""

    commit_seconds = 1e9
    commit_bytes = 1 << 40
    rows = 10

    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite://{path}")
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute("CREATE TABLE pages (url)")
        self.database.execute("CREATE TABLE kept (position)")
        self.written, self.go_on = threading.Event(), threading.Event()
        self.asked: set[str] = set()

    def write(self, outcomes: Outcomes, position: int) -> None:
        self.database.executemany("INSERT INTO pages VALUES (?)", [(outcome.url,) for outcome in outcomes])
        self.database.execute("DELETE FROM kept")
        self.database.execute("INSERT INTO kept VALUES (?)", (position,))
        self.written.set()
        self.go_on.wait(10)

    def commit(self, position: int) -> None:
        self.database.commit()

    def committed(self) -> int | None:
        self.asked.add(threading.current_thread().name)
        found = self.database.execute("SELECT position FROM kept").fetchone()
        return None if found is None else int(found[0])


def follower(recorded: Recorded, sink: Sink) -> Follower:
    """A follower that is not full and not started."""
    return Follower(recorded.log, sink, Patience(lambda: False), MIB, MIB, Turn())


def test_others_are_told_what_was_committed_and_never_ask_the_sink(recorded: Recorded, tmp_path: Path) -> None:
    sink = TransactionSink(tmp_path / "pages.db")
    following = follower(recorded, sink)
    sink.asked.clear()
    following.start()
    assert sink.written.wait(10)
    assert following.position() == 0, "nothing is on the disk"
    sink.go_on.set()
    following.close()
    following.check()
    assert following.position() == recorded.log.end()
    assert sink.asked == {"lycosa-sink"}


def test_what_a_sink_has_beyond_the_logs_end_counts_for_nothing(recorded: Recorded, tmp_path: Path) -> None:
    sink = TransactionSink(tmp_path / "pages.db")
    sink.database.execute("INSERT INTO kept VALUES (?)", (recorded.log.end() + 1_000,))
    assert follower(recorded, sink).position() == recorded.log.end()


class PanicError(BaseException):
    """What a Rust library raises when it panics is no Exception."""


def dying(method: str, error: BaseException) -> Sink:
    """A sink that dies in one of its methods."""

    def die(*_: Any) -> None:
        raise error

    sink: Sink = type("Dying", (Sink,), {"write": lambda *_: None, method: die})("mine:pages")
    return sink


@pytest.mark.parametrize("method", ["open", "write", "commit", "close"])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(0), "mine:pages: SystemExit: 0"),
        (PanicError("index out of bounds"), "mine:pages: PanicError: index out of bounds"),
        (ValueError(), "mine:pages: ValueError"),
        (KeyError("url"), "mine:pages: KeyError: 'url'"),
    ],
)
def test_whatever_a_sink_dies_of_is_its_failure(method: str, error: BaseException, told: str) -> None:
    site = "http://93.184.216.34/"
    crawl = lycosa.crawl(
        site,
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "robots": False},
        output=dying(method, error),
        stages=lambda stages: replace(stages, fetch=ScriptedFetch(lambda url: (200, [], b"page"))),
    )
    with pytest.raises(StorageError, match=f"^{told}$"):
        for _ in crawl:
            pass
    assert method == "open" or crawl.report()["end"]["status"] != 0
