"""Lanes: however a crawl in several shards ends, all its threads end with it, and each error is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import lycosa
import pytest
from lycosa.errors import StorageFull
from lycosa.lanes import run_lanes
from lycosa.loop import Control
from lycosa.simnet import SimulatedInternet
from lycosa.stages import Stages
from lycosa.store.patient import PatientLog


class Scripted:
    """All stages of a lane in one object: it has nothing to do until it is told to fail or to end."""

    def __init__(self, take: Callable[[], None] = lambda: None) -> None:
        """take: called in each round."""
        self._take, self.rounds = take, 0

    def idle(self) -> bool:
        """Whether the lane has ended."""
        return False

    def take(self, count: int) -> list[Any]:
        """One round."""
        self.rounds += 1
        self._take()
        return []

    def free(self) -> int:
        """Slots."""
        return 1

    def wait(self) -> float:
        """Seconds."""
        return 0.001

    def in_flight(self) -> int:
        """Requests."""
        return 0

    def completed(self, count: int, within: float) -> list[Any]:
        """Nothing, after a moment."""
        time.sleep(within)
        return []

    def parse(self, responses: list[Any]) -> list[Any]:
        """Outcomes."""
        return responses

    judge = parse

    def append_leases(self, requests: list[Any]) -> None:
        """Record nothing."""

    submit = append_leases

    def cancel(self) -> None:
        """End nothing."""


def lane(take: Callable[[], None] = lambda: None) -> Stages:
    """A lane that does that in each round."""
    stage = cast(Any, Scripted(take))
    return Stages(frontier=stage, fetch=stage, parse=stage, log=stage)


def lanes_alive() -> list[str]:
    """Threads of lanes that have not ended."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("lycosa-lane-")]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No lane outlives its crawl."""
    yield
    assert lanes_alive() == []


def within(seconds: float, work: Callable[[], None]) -> bool:
    """Whether work ends within some seconds."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_lane_that_cannot_start_ends_those_that_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "lycosa-lane-2":
            raise RuntimeError("can't start new thread")
        usual(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    control = Control()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(run_lanes([lane(), lane(), lane()], control))
    control.abort()  # lanes that were forgotten end, so that they disturb no other test
    assert lanes_alive() == []


def test_the_first_error_is_raised_and_the_others_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    both = threading.Barrier(3)

    def later(error: Exception) -> Callable[[], None]:
        def fail() -> None:
            both.wait(10)
            time.sleep(0.2)
            raise error

        return fail

    def first() -> None:
        both.wait(10)
        raise ValueError("the first")

    made = [lane(later(StorageFull("the disk is full"))), lane(first), lane(later(StorageFull("the disk is full")))]
    with pytest.raises(ValueError, match="the first"):
        list(run_lanes(made, Control()))
    told = [record.getMessage() for record in caplog.records]
    assert told == ["another lane failed, too: StorageFull: the disk is full"]


def full(disk: str) -> None:
    """A write to a full disk."""
    raise StorageFull(f"{disk} is full")


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_crawl_that_is_left_while_its_disk_is_full_ends(
    shards: int, error: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatedInternet(hosts=10, pages=20, seed=3, speed=100) as net:
        crawl = lycosa.crawl(job=net.job_file(), frontier={"shards": shards})
        batches = crawl.batches()
        next(batches)
        for name in ("append", "append_leases", "sync"):
            wait = lambda log, *_: log._patience.insist("disk", lambda: full("disk"))  # noqa: E731
            monkeypatch.setattr(PatientLog, name, wait)
        time.sleep(0.3)  # the lanes wait for disk space now

        def leave() -> None:
            if error is None:
                batches.close()
                return
            with pytest.raises(error):
                batches.throw(error())

        try:
            assert within(10, leave), "it waits for disk space for ever"
        finally:
            crawl.abort()
            time.sleep(0.3)
