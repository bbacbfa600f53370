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
    # The network has 27 KB and three copies of 2 KB of each page: 22,727 pages a second by 60 % of it.
    assert first.endswith(f"${1e6 / 22_727.27 / 3600 * 16 * plan.PRICE:.2f} |")
    slow = plan.sizing(dataclasses.replace(COSTS, links=970e-6)).splitlines()[2]
    # 1 ms a page with three copies: 9,600 pages a second by 60 % of 16 cores.
    assert slow.endswith(f"${1e6 / 9_600 / 3600 * 16 * plan.PRICE:.2f} |")


def test_the_network_is_a_limit_too() -> None:
    assert "| network |" in plan.machines(COSTS).splitlines()[2]
    slow = dataclasses.replace(COSTS, pages=2e-3)
    assert "| cores |" in plan.machines(slow).splitlines()[2]


def test_all_tables_say_the_same_of_a_page() -> None:
    def cells(line: str) -> list[str]:
        return [cell.strip() for cell in line.strip("|").split("|")]

    sized = cells(plan.sizing(COSTS).splitlines()[4])
    machine = cells(plan.machines(COSTS).splitlines()[3])
    beside = cells(plan.published(COSTS).splitlines()[-1])
    assert machine[2] == "network", "which sets the price, whatever the cores could do"
    assert (beside[1], beside[2]) == (machine[1], sized[-1])
    assert round(float(machine[6].strip("$").replace(",", "")) / 1e4, 2) == float(sized[-1].strip("$"))


def test_what_does_not_fit_is_told() -> None:
    one, ten = (plan.machines(COSTS).splitlines()[line].split("|")[-4:-1] for line in (2, 4))
    assert [cell.strip() for cell in one] == ["150.0 GB: too much", "30.0 GB", "300.0 GB: too much"]
    assert [cell.strip() for cell in ten] == ["15.0 GB", "3.0 GB", "30.0 GB"]


def test_the_page_has_what_was_measured() -> None:
    page = plan.PAGE.read_text()
    assert plan.filled(page, plan.read()) == page, "run `python -m benchmarks plan --write`"


def test_a_page_without_marks_is_told() -> None:
    with pytest.raises(BenchmarkError, match="has no marks <!-- plan: sizing -->"):
        plan.filled("", COSTS)
