"""The real code of ownership, journal and handover in a simulated cluster: whatever happens in whatever order,
nothing is lost, nothing is recorded twice, no site is asked more often than it may be.

A seed that fails is run again by ``pytest tests/unit/cluster/test_schedules.py -k "[SEED]"``.
"""

from __future__ import annotations

import pytest

from tests.unit.cluster.crawl import Scenario


def crawl(seed: int, workers: int, partitions: int) -> None:
    scenario = Scenario(seed, workers, partitions)
    scenario.trouble(scenario.world.random.randint(0, 12), within=40)
    scenario.run()


@pytest.mark.parametrize("seed", range(100))
def test_nothing_is_lost_whatever_happens(seed: int) -> None:
    crawl(seed, 3 + seed % 6, 8)
