"""Names ahead of their turn: every way of asking crawls the same, and what it costs is told."""

from __future__ import annotations

from typing import Any

import lycosa
import pytest
from lycosa.errors import SettingError
from lycosa.settings import NamesSettings
from lycosa.simnet import SimulatedInternet


@pytest.mark.parametrize("ahead", ["off", "lru-paper", "regions-paper", "links-paper", "ahead"])
def test_every_way_of_asking_for_names_crawls_all_pages(ahead: Any) -> None:
    with SimulatedInternet(hosts=40, pages=3, seed=3, speed=50) as net:
        # So few at once that names have to wait for each other.
        names: NamesSettings = {"ahead": ahead, "ahead_names": 4, "in_flight": 2}
        made = lycosa.crawl(job=net.job_file(), names=names)
        pages = sum(len(batch.last()) for batch in made.batches())
        ledger = net.report()
    frontier = made.report()["frontier"]
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    assert pages >= ledger["coverage"]["served"]
    assert frontier["unresolved"] == 0
    assert frontier["idle_for_names_us"] > 0, "the first page at least had to wait for its name"


def test_a_way_that_does_not_exist_is_told() -> None:
    with pytest.raises(SettingError, match=r"names\.ahead"):
        lycosa.crawl("http://example.com/", names={"ahead": "never"})  # type: ignore[typeddict-item]  # what type checkers see, too
