"""The real code of ownership, journal and handover in a simulated cluster.

Whatever happens in whatever order: nothing is lost, nothing is recorded twice, no site is asked more often than it
may be. A seed that fails is told, and fails again.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import weakref
from collections.abc import Callable

import pytest
from lycosa.cluster.member import Member
from lycosa.cluster.ownership import Ownership
from lycosa.cluster.release import Release, Released

from tests.unit.cluster.crawl import Scenario
from tests.unit.cluster.model_part import ModelPart
from tests.unit.cluster.model_stages import ModelFetch

#: Seeds of one test: a test for each would take longer than the schedules.
SEEDS = 25


def run(
    seed: int, workers: int, partitions: int, troubles: int, pages: int = 25, max_pages: int | None = None
) -> Scenario:
    """Run one schedule; returns how it ended."""
    scenario = Scenario(seed, workers, partitions, sites=12, pages=pages, max_pages=max_pages)
    scenario.trouble(troubles, within=40)
    try:
        scenario.run()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from None
    return scenario


def run_all(seeds: range) -> None:
    """Run schedules of 3 to 8 workers."""
    for seed in seeds:
        run(seed, 3 + seed % 6, 8 + seed % 3 * 8, seed % 17)


@pytest.mark.parametrize(
    "first",
    [*range(0, 100, SEEDS), *(pytest.param(first, marks=pytest.mark.soak) for first in range(100, 10_000, SEEDS))],
)
def test_nothing_is_lost_whatever_happens(first: int) -> None:
    run_all(range(first, first + SEEDS))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 50))])
def test_nothing_is_lost_among_a_hundred(seed: int) -> None:
    run(seed, 100, 128, 60, pages=10)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.soak) for first in range(SEEDS, 1_000, SEEDS))]
)
def test_a_job_has_as_many_pages_as_it_may_have(first: int) -> None:
    for seed in range(first, first + SEEDS):
        run(seed, 3 + seed % 6, 8 + seed % 3 * 8, seed % 17, max_pages=(50, 120, 290, 1_000)[seed % 4])


def test_who_is_suspended_at_the_end_may_have_lost_leases() -> None:
    # A worker is excluded, others fetch its pages again, and the job is over before it runs again and knows of that.
    assert run(801, 6, 8, 2, max_pages=120).excluded > 0


def test_a_schedule_leaves_nothing_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    # Ten thousand of them did not fit into the memory of the machine: threads that waited for ever kept their worlds.
    caplog.set_level(logging.CRITICAL, logger="lycosa")  # what a test has logged refers to it
    scenario = Scenario(3, 6, 8, sites=12, pages=25, max_pages=None)
    scenario.trouble(10, within=40)
    scenario.run()
    world = weakref.ref(scenario.world)
    del scenario
    gc.collect()
    assert world() is None


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
    monkeypatch.setattr(ModelFetch, "set_fence", lambda self, at: setattr(self, "_fence", float("inf")))
    assert fails("strike", 200)


def test_the_wait_of_a_new_owner_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fails("silence_and_suspend", 50)
    loaded = Ownership.loaded
    monkeypatch.setattr(Ownership, "loaded", lambda self, partition, final, _: loaded(self, partition, final, True))
    assert fails("silence_and_suspend", 50)


def test_what_an_error_leaves_half_recorded_has_to_be_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fails("fail", 40)
    monkeypatch.setattr(Member, "dropping", lambda self: contextlib.nullcontext())
    assert fails("fail", 40)


def release_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs do not stay behind pages."""
    begin = Release.__init__
    monkeypatch.setattr(Release, "__init__", lambda self, _, *rest: begin(self, 0.0, *rest))


def release_before_taking_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes pages back may still wait to be committed when they are released."""
    look = Member._newly_released

    def careless(self: Member) -> list[int]:
        taking, self.journal.taking = self.journal.taking, set()
        try:
            return look(self)
        finally:
            self.journal.taking = taking

    monkeypatch.setattr(Member, "_newly_released", careless)


def take_back_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new owner takes back what outputs have."""
    restored = ModelPart.restored
    monkeypatch.setattr(ModelPart, "restored", lambda self, is_given_back, _: restored(self, is_given_back, 0))


def forget_what_was_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs do not look for what an earlier owner has taken back last."""
    begin = Release.__init__

    def forgetful(self: Release, distance: float, before: Released, end: int, pages: int) -> None:
        begin(self, distance, before, end, pages)
        self.now = before

    monkeypatch.setattr(Release, "__init__", forgetful)


@pytest.mark.parametrize(
    "rule",
    [release_at_once, release_before_taking_back, take_back_what_is_released, forget_what_was_taken_back],
)
def test_each_rule_of_releases_is_needed(
    rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(monkeypatch)
    with pytest.raises(AssertionError, match="are not in the output once"):
        run_all(range(100))
