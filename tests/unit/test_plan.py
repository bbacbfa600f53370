"""The plan of large crawls: it is what the measured figures give, and the page has it."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import plan
from benchmarks.report import BenchmarkError

COSTS = plan.Costs(
    links=200e-6,
    pages=300e-6,
    broker=10e-6,
    broker_pages=50e-6,
    links_bytes=2_000,
    pages_bytes=15_000,
    large=600e-6,
    url=15.0,
    url_on_disk=3.0,
    name=24.0,
    host=70.0,
)


def test_a_core_does_what_its_time_allows() -> None:
    first = plan.sizing(COSTS).splitlines()[2]
    assert "| 200 µs | 5,000 | 10 µs | 2.0 KB |" in first
    # 230 µs a page with three copies: 230 s a million, 60 % of a core used.
    assert first.endswith(f"${230 / 0.6 / 3600 * plan.PRICE:.2f} |")


def test_the_network_is_a_limit_too() -> None:
    assert "| network |" in plan.machines(COSTS).splitlines()[2]
    slow = dataclasses.replace(COSTS, pages=2e-3)
    assert "| cores |" in plan.machines(slow).splitlines()[2]


def test_the_page_has_what_was_measured() -> None:
    page = plan.PAGE.read_text()
    assert plan.filled(page, plan.read()) == page, "run `python -m benchmarks plan --write`"


def test_a_page_without_marks_is_told() -> None:
    with pytest.raises(BenchmarkError, match="has no marks <!-- plan: sizing -->"):
        plan.filled("", COSTS)
