"""Admission: both policies beside plain models of what they promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from lycosa.dispatch.admission import Load, Rival, admit_by_minute, choose_server, due_by_rate

LOADS = st.lists(
    st.builds(
        Load,
        speed=st.integers(0, 1_000).map(float),
        free=st.integers(0, 10_000),
        granted=st.integers(0, 10_000),
    ),
    max_size=8,
)


def test_the_published_rule_on_the_papers_terms() -> None:
    idle, busy = Load(speed=10, free=100, granted=0), Load(speed=10, free=0, granted=300)
    # Second 30 of a minute, 100 URLs/s: 3,000 URLs may have been granted by now.
    assert (
        admit_by_minute(400, 30, 100, 2_600, [busy, idle]) == "no-capacity"
    )  # u of the idle one is 400, not above t
    assert admit_by_minute(399, 30, 100, 2_600, [busy, idle]) == 1
    assert admit_by_minute(401, 30, 100, 2_600, [busy, idle]) == "over-quota"
    assert admit_by_minute(399, 30, 100, 2_600, []) == "no-server"


def test_in_the_first_second_of_a_minute_the_published_rule_refuses_everything() -> None:
    assert admit_by_minute(1, 0, 1_000, 0, [Load(1_000, 1_000, 0)]) == "over-quota"


@given(
    t=st.integers(1, 5_000), s=st.integers(0, 59), m=st.integers(1, 1_000), n=st.integers(0, 60_000), servers=LOADS
)
def test_the_published_rule_is_its_three_sentences(t: int, s: int, m: int, n: int, servers: list[Load]) -> None:
    found = admit_by_minute(t, s, m, n, servers)
    idleness = [load.speed * s + load.free - load.granted for load in servers]
    if t + n > s * m:
        assert found == "over-quota"
    elif not servers:
        assert found == "no-server"
    elif max(idleness) <= t:
        assert found == "no-capacity"
    else:
        assert isinstance(found, int)
        assert idleness[found] == max(idleness) > t


def exact_bucket(arrivals: Sequence[tuple[Fraction, int]], m: int, burst: int) -> list[bool]:
    """The plain model: a bucket of ``burst`` tokens that fills at m a second, in exact numbers."""
    level, at, granted = Fraction(burst), Fraction(0), []
    for now, t in arrivals:
        level, at = min(level + (now - at) * m, Fraction(burst)), now
        granted.append(t <= level)
        if granted[-1]:
            level -= t
    return granted


@given(
    gaps=st.lists(st.tuples(st.integers(0, 4_000), st.integers(1, 200)), min_size=1, max_size=60),
    m=st.sampled_from([1, 7, 100, 1_000]),
    burst=st.sampled_from([200, 500]),
)
def test_the_smooth_policy_is_a_token_bucket(gaps: list[tuple[int, int]], m: int, burst: int) -> None:
    """Times are multiples of 1/1024 s, so that only divisions by m are rounded; ties are left to either."""
    arrivals, now = [], Fraction(0)
    for gap, t in gaps:
        now += Fraction(gap, 1_024)
        arrivals.append((now, t))
    due, found = 0.0, []
    for at, t in arrivals:
        later, wait = due_by_rate(t, m, burst, due, float(at))
        is_granted = wait <= 1e-9
        found.append(is_granted)
        if is_granted:
            due = later
        else:
            # After the wait that is told, it is granted; a little before, it is not.
            assert due_by_rate(t, m, burst, due, float(at) + wait + 1e-6)[1] == 0
            assert due_by_rate(t, m, burst, due, float(at) + wait - 1e-4)[1] > 0
    assert found == exact_bucket(arrivals, m, burst)


@given(
    t=st.integers(1, 5_000),
    servers=LOADS,
    rivals=st.lists(
        st.builds(Rival, st.integers(-4, 4), st.integers(0, 9).map(float), st.integers(1, 3_000)), max_size=5
    ),
    priority=st.integers(-4, 4),
    tag=st.integers(0, 9).map(float),
)
def test_room_is_kept_for_those_who_come_first(
    t: int, servers: list[Load], rivals: list[Rival], priority: int, tag: float
) -> None:
    found = choose_server(t, servers, rivals, priority, tag)
    rooms = [load.free - load.granted for load in servers]
    first = [one for one in rivals if one.priority > priority or (one.priority == priority and one.tag < tag)]
    needed = t + sum(one.asked for one in first)
    if not servers:
        assert found == "no-server"
    elif max(rooms) >= needed:
        assert isinstance(found, int)
        assert rooms[found] == max(rooms)
    else:
        assert found == "no-capacity"


def test_waits_are_as_long_as_they_have_to_be() -> None:
    due, wait = due_by_rate(100, 50, 100, 0.0, 10.0)
    assert (due, wait) == (12.0, 0.0)
    _, wait = due_by_rate(50, 50, 100, due, 10.0)
    assert math.isclose(wait, 1.0)
