"""Whole crawls with each cache of names, judged by the simulated Internet's ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa.simnet import SimulatedInternet


def crawled(net: SimulatedInternet, **names: Any) -> dict[str, Any]:
    """Crawl everything; give the report, with pages counted by the class of their host's name."""
    crawl = lycosa.crawl(job=net.job_file(), names=names)
    classes: dict[str | None, int] = {}
    for page in crawl:
        classes[page.dns_class] = classes.get(page.dns_class, 0) + 1
    return {**crawl.report(), "classes": classes}


@pytest.mark.parametrize("design", ["compact", "async-lru", "regions", "optimiser"])
def test_with_each_design_everything_is_reached(design: str) -> None:
    with SimulatedInternet(hosts=100, pages=10, seed=4, speed=100) as net:
        report = crawled(net, cache=design)
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["requests"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    names, classes = report["names"], report["classes"]
    assert names["fast"] + names["slow"] >= 100
    assert classes["fast"] + classes.get("slow", 0) >= report["pages"]


def test_a_crawl_that_shares_its_cache_file_asks_fewer_questions(tmp_path: Path) -> None:
    shared = {"cache_file": tmp_path / "names", "capacity": 1_000}
    # A file lives in the machine's own time, and so does this crawl: no waits but those of the network.
    pace = {"host_interval": 0, "address_interval": 0, "response_multiple": 0}
    questions = []
    for _ in range(2):
        with SimulatedInternet(hosts=30, pages=3, seed=4, speed=1) as net:
            crawl = lycosa.crawl(job=net.job_file(), names=shared, politeness=pace)
            pages = sum(page.status == 200 for page in crawl)
            report, totals = crawl.report(), net.report()["totals"]
        assert pages >= 30
        assert totals["dns_questions"] == report["names"]["questions"]
        questions.append(totals["dns_questions"])
    assert questions[0] >= 30
    assert questions[1] == 0
    assert report["names"]["cache_hits"] >= 30
