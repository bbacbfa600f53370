"""What does not move is named: once, again when it has lasted twice as long, and when it moves again."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field

import pytest
from lycosa.observe.stuck import Stuck, find_stuck
from lycosa.observe.turns import Turns
from lycosa.observe.watchdog import Watchdog


def turns_in(stage: str, seconds: float) -> Turns:
    """The turns of who has been in a stage for so long."""
    turns = Turns()
    turns(stage)
    turns.since = time.monotonic() - seconds
    return turns


@dataclass
class Output:
    """An output, from outside."""

    url: str
    turns: Turns


@dataclass
class Out:
    """A frontier with a request that is out."""

    found: tuple[str, float] | None = None
    asked: list[int] = field(default_factory=list)

    def oldest(self) -> tuple[str, float] | None:
        return self.found


def test_a_stage_that_does_not_return_is_stuck() -> None:
    lanes = [turns_in("parse", 31), turns_in("fetch", 2), turns_in("caller", 900)]
    found = find_stuck(lanes, [], Out(), after=30, longest=120)
    assert [one.what for one in found] == ["stage parse of lane 0"]
    assert str(found[0]) == "stage parse of lane 0 has not moved for 31 s: it has not returned"


def test_an_output_that_hangs_is_named_and_those_that_wait_for_it_are_not() -> None:
    outputs = [Output("a.parquet", turns_in("write", 40)), Output("b.jsonl", turns_in("queue", 40))]
    found = find_stuck([], outputs, Out(), after=30, longest=120)
    assert [(one.what, one.at) for one in found] == [("output a.parquet", "write has not returned")]


def test_a_request_is_stuck_beyond_its_time_out() -> None:
    assert not find_stuck([], [], Out(("http://a.example/x", 149)), after=30, longest=120)
    (found,) = find_stuck([], [], Out(("http://a.example/x", 151)), after=30, longest=120)
    assert (found.host, found.url) == ("a.example", "http://a.example/x")


def test_it_is_told_once_and_again_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="lycosa")
    found: list[Stuck] = []
    watchdog = Watchdog(lambda: found)
    for seconds in (30.0, 31.0, 59.0, 60.0, 61.0):
        found[:] = [Stuck("stage parse", "it has not returned", seconds)]
        watchdog.look()
        assert watchdog.stuck == found
    found.clear()
    watchdog.look()
    told = [record.getMessage() for record in caplog.records]
    text = "stage parse has not moved for {} s: it has not returned"
    assert told == [text.format(30), text.format(60), "stage parse moves again"]


def test_it_looks_on_whatever_happens(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.observe.watchdog.PERIOD", 0.01)
    looked, calls = threading.Event(), 0

    def look() -> list[Stuck]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError("gone")
        looked.set()
        return []

    watchdog = Watchdog(look)
    watchdog.start()
    assert looked.wait(10)
    watchdog.stop()
    assert "could not look" in caplog.text
