"""A frontier that offers nothing without a reason is stuck; one with a reason is not, however long it lasts."""

from __future__ import annotations

from typing import Any

import pytest
from lycosa.observe.offers import Offers
from lycosa.observe.stuck import Stuck

LONGEST = 150.0


class Frontier:
    """A frontier with 12 URLs that wait, and nothing else, but for what is told."""

    def __init__(self, **told: Any) -> None:
        self.numbers = dict.fromkeys(("done", "failed", "refused", "leased", "unresolved"), 0) | {"waiting": 12}
        self.numbers |= {name: told[name] for name in told if name in self.numbers}
        self.told = told

    def counts(self) -> dict[str, int]:
        return dict(self.numbers)

    def suspensions(self) -> list[dict[str, Any]]:
        return list(self.told.get("suspensions", []))

    def due(self) -> float | None:
        return self.told.get("due")

    def doubted_since(self) -> float | None:
        return self.told.get("doubted")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the test changes."""
    clock = [1_000.0]
    monkeypatch.setattr("lycosa.observe.offers.time.monotonic", lambda: clock[0])
    return clock


def looks(frontier: Frontier, clock: list[float], seconds: int, *, is_waited: bool = False) -> list[Stuck]:
    """What the last of so many looks has found, one each second."""
    looking, found = Offers(), list[Stuck]()
    for _ in range(seconds):
        found = looking.find_stuck(frontier, is_waited=is_waited, longest=LONGEST)
        clock[0] += 1
    return found


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"due": -3.0}, "12 URLs to fetch, something may be taken, and nothing is"),
        ({"unresolved": 3}, "12 URLs to fetch, and 3 hosts without an answer of the resolver"),
        ({}, "12 URLs to fetch, and none of them has a turn"),
    ],
)
def test_urls_wait_and_nothing_is_taken(clock: list[float], told: dict[str, int], text: str) -> None:
    assert looks(Frontier(**told), clock, 151) == []
    (found,) = looks(Frontier(**told), clock, 152)
    assert str(found) == f"frontier has not moved for 151 s: {text}"


@pytest.mark.parametrize(
    "told",
    [
        {"waiting": 0},
        {"leased": 1},
        {"due": 5.0},
        {"suspensions": [{"cause": "no-network", "since": 0.0}]},
        {"due": 0.0, "doubted": 5.0},
    ],
)
def test_a_reason_is_a_reason_however_long(clock: list[float], told: dict[str, Any]) -> None:
    assert looks(Frontier(**told), clock, 1_000) == []


def test_who_waits_for_something_else_does_not_take(clock: list[float]) -> None:
    assert looks(Frontier(due=0.0), clock, 1_000, is_waited=True) == []


def test_one_that_moves_now_and_then_is_not_stuck(clock: list[float]) -> None:
    looking, frontier = Offers(), Frontier(due=0.0)
    for second in range(1_000):
        if second % 140 == 0:
            frontier.numbers["failed"] += 1
        assert looking.find_stuck(frontier, is_waited=False, longest=LONGEST) == []
        clock[0] += 1
