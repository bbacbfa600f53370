"""Whole crawls on the simulated Internet, judged by its ledger."""

from __future__ import annotations

import lycosa
import pytest
from lycosa.simnet import SimulatedInternet


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everything_reachable_is_fetched_once_and_no_site_is_hurt(seed: int) -> None:
    with SimulatedInternet(hosts=150, pages=15, seed=seed, speed=100) as net:
        batches = list(lycosa.crawl(job=net.job_file()).batches())
        ledger = net.report()
    outcomes = [page for batch in batches for page in batch.last()]
    pages = [page for page in outcomes if page.status == 200]
    assert ledger["coverage"]["ratio"] == 1.0
    # Where three unrelated domains redirect to one place at the same moment, a captive portal may have answered for
    # them: such an answer is asked for once more, and recorded as that.
    doubted = sum(page.error == "captive-portal" for batch in batches for page in batch)
    assert ledger["repeats"]["after_answer"] <= doubted <= 6
    tries = sum(page.status == 500 or page.error is not None for batch in batches for page in batch)
    given_up = sum(page.status == 500 or page.error is not None for page in outcomes)
    assert ledger["repeats"]["requests"] <= tries - given_up, "only what failed is tried again"
    most = max((one["requests"] for one in ledger["repeats"]["top"]), default=0)
    assert most <= 6, "as often as patience 300 says"
    assert ledger["robots"]["disallowed"] == ledger["robots"]["before_robots"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    assert len(pages) == ledger["coverage"]["served"]
    assert all(page.title and page.charset == "UTF-8" for page in pages)


def test_scope_host_stays_on_the_seeds_hosts() -> None:
    with SimulatedInternet(hosts=50, pages=10, speed=200) as net:
        pages = list(lycosa.crawl(*net.seeds[:1], job=net.job_file(), scope="host"))
        asked = net.report()["totals"]["hosts_asked"]
    assert asked <= 2, "the seed's host, and perhaps the one it redirects to"
    assert len(pages) > 3


def test_names_are_asked_for_once() -> None:
    with SimulatedInternet(hosts=100, pages=10, speed=200) as net:
        # At this speed a TTL of a minute runs out in 0.3 s.
        list(lycosa.crawl(job=net.job_file(), names={"min_ttl": 86_400}))
        totals = net.report()["totals"]
    assert totals["dns_questions"] == totals["dns_names"] == 100


def test_a_job_without_leave_touches_no_loopback_address() -> None:
    with SimulatedInternet(hosts=5, pages=3, speed=200) as net:
        pages = list(lycosa.crawl(job=net.job_file(), allow_addresses=[], user_agent="tests (tests@example.org)"))
        assert {page.error for page in pages} == {"address-refused"}
        assert net.report()["totals"]["requests"] == 0
