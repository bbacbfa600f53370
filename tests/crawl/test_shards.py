"""A crawl in several shards, and several crawls at once, are as polite and as complete as one alone."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa.errors import SettingError
from lycosa.fetch import ScriptedFetch
from lycosa.simnet import SimulatedInternet


def crawled(net: SimulatedInternet, **settings: Any) -> list[lycosa.Outcome]:
    """All outcomes of a crawl of the simulated Internet."""
    return list(lycosa.crawl(job=net.job_file(), **settings))


def recorded(directory: Path) -> int:
    """Bytes in the log of a job directory."""
    return sum(path.stat().st_size for path in directory.glob("log/*.log"))


@pytest.mark.parametrize("by", ["domain", "host", "url"])
def test_a_crawl_in_four_shards_has_every_page_once_and_hurts_nobody(by: str) -> None:
    with SimulatedInternet(hosts=60, pages=12, speed=100) as net:
        outcomes = crawled(net, frontier={"shards": 4, "shard_by": by}, fetch={"slots": 16})
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["after_answer"] == 0
    assert ledger["robots"]["disallowed"] == ledger["robots"]["before_robots"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    assert len({outcome.url for outcome in outcomes}) == len(outcomes)
    assert sum(outcome.status == 200 for outcome in outcomes) == ledger["coverage"]["served"]


def test_shards_share_the_number_of_pages_exactly_and_go_on_where_they_ended(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=40, pages=10, speed=100) as net:
        pages: set[str] = set()
        for max_pages in (37, 90, None):
            crawl = lycosa.crawl(job=net.job_file(), directory=tmp_path, max_pages=max_pages, frontier={"shards": 3})
            found = [outcome.url for outcome in crawl if not outcome.error and not 300 <= (outcome.status or 0) < 400]
            assert not pages & set(found)
            pages |= set(found)
            assert max_pages is None or len(pages) == max_pages
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["after_answer"] == 0


def test_the_number_of_shards_of_a_crawl_cannot_change(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=3, speed=100) as net:
        for _ in lycosa.crawl(job=net.job_file(), directory=tmp_path, frontier={"shards": 2}):
            pass
        with pytest.raises(SettingError, match=r"frontier\.shards: '3' .*2 as recorded"):
            lycosa.crawl(job=net.job_file(), directory=tmp_path, frontier={"shards": 3})


def test_more_shards_than_the_machine_bears_are_refused_with_what_it_has() -> None:
    with SimulatedInternet(hosts=2, pages=2, speed=100) as net:
        with pytest.raises(SettingError, match=r"frontier\.shards: '1024' .*for each of \d+ cores"):
            crawled(net, frontier={"shards": 1024})
        with pytest.raises(SettingError, match=r"frontier\.shards: '4' .*needs 64 MiB of 128 MiB"):
            crawled(net, frontier={"shards": 4}, memory="128 MiB")


def test_more_shards_than_slots_are_refused_with_what_to_do() -> None:
    with (
        SimulatedInternet(hosts=2, pages=2, speed=100) as net,
        pytest.raises(SettingError, match=r"frontier\.shards: '3' .*at most 2: .* fetch\.slots, which is 2"),
    ):
        crawled(net, frontier={"shards": 3}, fetch={"slots": 2})


def test_shards_use_the_file_of_names_that_a_crawl_in_one_has_made(tmp_path: Path) -> None:
    names: Any = {"cache_file": tmp_path / "names", "capacity": 10_000}
    pace: Any = {"host_interval": 0.05, "address_interval": 0.05, "response_multiple": 0}
    questions = []
    for shards in (1, 2):
        with SimulatedInternet(hosts=20, pages=2, seed=4) as net:
            crawl = lycosa.crawl(job=net.job_file(), names=names, politeness=pace, frontier={"shards": shards})
            assert sum(outcome.status == 200 for outcome in crawl) >= 20
            questions.append(crawl.report()["names"]["questions"])
    assert questions[0] >= 20
    assert questions[1] == 0


def test_one_fetch_for_all_lanes_is_refused() -> None:
    fetch = ScriptedFetch(lambda url: (200, [], b""))
    with SimulatedInternet(hosts=2, pages=2, speed=100) as net, pytest.raises(SettingError, match="one fetch"):
        crawled(net, frontier={"shards": 2}, stages=lambda stages: dataclasses.replace(stages, fetch=fetch))


@pytest.mark.parametrize("shared", [True, False])
def test_two_crawls_at_once_do_not_double_the_rate_of_a_site(shared: bool, tmp_path: Path) -> None:
    with SimulatedInternet(hosts=20, pages=10, speed=50) as net:
        command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(net.job_file()), "--quiet"]
        if shared:
            command += ["--set", f"politeness.clock_file={tmp_path / 'clocks'}"]
        crawls = [subprocess.Popen([*command, "--dir", str(tmp_path / str(number))]) for number in range(2)]
        assert [crawl.wait(timeout=100) for crawl in crawls] == [0, 0]
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    too_fast = ledger["rates"]["host"]["count"] + ledger["rates"]["address"]["count"]
    assert too_fast == 0 if shared else too_fast > 20, "without a shared clock the two hurt sites"


def test_a_killed_crawl_leaves_no_clock_that_runs_for_ever(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=30, speed=20) as net:
        command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(net.job_file()), "--quiet"]
        command += ["--set", f"politeness.clock_file={tmp_path / 'clocks'}", "--dir"]
        killed = subprocess.Popen([*command, str(tmp_path / "1")])
        with pytest.raises(subprocess.TimeoutExpired):
            killed.wait(timeout=2)
        killed.kill()
        killed.wait()
        assert subprocess.run([*command, str(tmp_path / "2")], check=False, timeout=60).returncode == 0
        ledger = net.report()
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    assert ledger["coverage"]["ratio"] == 1.0


def test_a_faster_crawl_reports_the_slower_one_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SimulatedInternet(hosts=3, pages=60, speed=50) as net:
        clocks = f"politeness.clock_file={tmp_path / 'clocks'}"
        command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(net.job_file()), "--quiet", "--dir"]
        command += [str(tmp_path / "slow"), "--set", clocks, "--set", "politeness.host_interval=10"]
        slow = subprocess.Popen(command)
        until = time.monotonic() + 30
        while recorded(tmp_path / "slow") < 20_000 and time.monotonic() < until:
            time.sleep(0.05)
        crawled(net, politeness={"clock_file": tmp_path / "clocks"}, max_pages=10)
        slow.kill()
        slow.wait()
    messages = [record.getMessage() for record in caplog.records]
    assert len([text for text in messages if "another crawl on this machine" in text and "0.200 s" in text]) == 1
