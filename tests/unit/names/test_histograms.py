"""Times in buckets: what a share of them kept, and what was counted between two looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.names.histograms import BOUNDS, Histogram, quantile, series, since

counts = st.lists(st.integers(0, 1_000), min_size=len(BOUNDS) + 1, max_size=len(BOUNDS) + 1)


def test_bounds_rise_from_an_answer_out_of_memory_to_one_that_came_too_late() -> None:
    assert (BOUNDS[0], BOUNDS[-1]) == (1e-5, 10.0)
    assert sorted(set(BOUNDS)) == list(BOUNDS)


@pytest.mark.parametrize(
    ("share", "counted", "wanted"),
    [
        (0.5, [0, 0, 0], None),
        (0.5, [4, 0, 0], 0.5),
        (0.99, [100, 0, 0], 0.99),
        (0.5, [0, 2, 0], 1.5),
        (0.75, [2, 2, 0], 1.5),
        (0.99, [1, 1, 98], 2.0),
    ],
)
def test_inside_a_bucket_times_are_spread_evenly(share: float, counted: list[int], wanted: float | None) -> None:
    assert quantile(share, counted, (1.0, 2.0)) == (None if wanted is None else pytest.approx(wanted))


@given(counts)
def test_more_is_never_done_in_less_time(counted: list[int]) -> None:
    found = [quantile(share, counted) for share in (0.1, 0.5, 0.9, 0.99, 1.0)]
    if any(counted):
        times = [each for each in found if each is not None]
        assert len(times) == len(found)
        assert times == sorted(times)
        assert times[-1] <= BOUNDS[-1]
    else:
        assert found == [None] * 5


@given(counts, counts)
def test_what_was_counted_since_a_look_is_the_difference(before: list[int], new: list[int]) -> None:
    after = [then + now for then, now in zip(before, new, strict=True)]
    assert since(after, before) == new
    assert since(after, None) == after
    less = [0] * len(after)
    assert since(less, [*before[:-1], 1]) == less, "another process"


def test_prometheus_has_cumulated_counts_that_end_in_all() -> None:
    told = list(series(Histogram([1] * len(BOUNDS) + [2], 25.5)))
    assert list(told[0]) == ["bucket", "1e-05", 1]
    assert told[-3:] == [("bucket", "+Inf", len(BOUNDS) + 2), ("sum", None, 25.5), ("count", None, len(BOUNDS) + 2)]
