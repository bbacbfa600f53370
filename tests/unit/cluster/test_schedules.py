"""The real code of ownership, journal and handover in a simulated cluster.

Whatever happens in whatever order: nothing is lost, nothing is recorded twice, no site is asked more often than it
may be. A seed that fails is told, and fails again.
"""

from __future__ import annotations

import pytest
from lycosa.cluster.ownership import Ownership

from tests.unit.cluster import crawl
from tests.unit.cluster.crawl import Scenario

#: Seeds of one test: a test for each would take longer than the schedules.
SEEDS = 25


def run(seed: int, workers: int, partitions: int, troubles: int, pages: int = 25) -> None:
    """Run one schedule."""
    scenario = Scenario(seed, workers, partitions, sites=12, pages=pages)
    scenario.trouble(troubles, within=40)
    try:
        scenario.run()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from None


@pytest.mark.parametrize(
    "first",
    [*range(0, 100, SEEDS), *(pytest.param(first, marks=pytest.mark.soak) for first in range(100, 10_000, SEEDS))],
)
def test_nothing_is_lost_whatever_happens(first: int) -> None:
    for seed in range(first, first + SEEDS):
        run(seed, 3 + seed % 6, 8 + seed % 3 * 8, seed % 17)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 50))])
def test_nothing_is_lost_among_a_hundred(seed: int) -> None:
    run(seed, 100, 128, 60, pages=10)


def fails(kind: str, seeds: int) -> bool:
    """Whether one of some schedules fails in which one thing happens again and again."""
    for seed in range(seeds):
        scenario = Scenario(seed, 4, 8, sites=12, pages=30)
        for _ in range(5):
            scenario.world.later(scenario.world.random.uniform(0, 30), getattr(scenario, kind))
        try:
            scenario.run()
        except AssertionError:
            return True
    return False


def test_the_fence_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fails("strike", 10)
    monkeypatch.setattr(crawl.ModelFetch, "set_fence", lambda self, at: setattr(self, "_fence", float("inf")))
    assert fails("strike", 10)


def test_the_wait_of_a_new_owner_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fails("silence_and_suspend", 20)
    loaded = Ownership.loaded
    monkeypatch.setattr(Ownership, "loaded", lambda self, partition, final, _: loaded(self, partition, final, True))
    assert fails("silence_and_suspend", 20)
