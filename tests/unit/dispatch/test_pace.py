"""How lanes of a download server share its slots: never more than there are, and each lane has its part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lycosa.dispatch.pace import Pace, Slots

#: A lane, and how many downloads it wants to have under way; they end as it says.
steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 50)), max_size=60)


@given(st.integers(1, 40), steps)
def test_no_more_is_under_way_than_there_are_slots(total: int, given_steps: list[tuple[int, int, int]]) -> None:
    slots = Slots(total)
    under_way = dict.fromkeys(range(4), 0)
    for lane, wanted, ended in given_steps:
        under_way[lane] += slots.take(lane, wanted)
        assert sum(under_way.values()) <= total
        under_way[lane] -= min(ended, under_way[lane])
        slots.has(lane, under_way[lane])


def test_a_lane_alone_may_have_all_and_gives_half_to_another() -> None:
    slots = Slots(100)
    assert slots.take("one", 500) == 100
    assert slots.take("two", 500) == 0
    under_way = {"one": 100, "two": 0}
    for _ in range(50):
        # One download of the first ends; each lane asks for as many as it can get.
        under_way["one"] -= 1
        slots.has("one", under_way["one"])
        for lane in ("one", "two"):
            under_way[lane] += slots.take(lane, 500)
    assert under_way == {"one": 50, "two": 50}
    slots.has("two", 0)
    assert slots.take("two", 0) == 0
    assert slots.take("one", 500) == 50, "the other one wants none any more"


def test_slots_of_a_lane_that_has_ended_are_free() -> None:
    slots = Slots(10)
    slots.take("one", 10)
    slots.leave("one")
    assert slots.take("two", 10) == 10


def test_starts_that_came_to_nothing_take_no_time() -> None:
    pace = Pace()
    pace.set(100.0, None)
    pace.started(1, 50.0)
    pace.not_started(1)
    assert pace.allowed(50.0) == 1
    pace.started(1, 50.0)
    assert pace.allowed(50.0) == 0
    assert abs(pace.wait(50.0) - 0.01) < 1e-9
