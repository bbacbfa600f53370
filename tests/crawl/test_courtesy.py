"""Whole crawls of difficult worlds with restarts in between: the ledger finds no offence, no time is left lying."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import lycosa
import pytest
from lycosa.settings import PolitenessSettings
from lycosa.simnet import Ledger, SimulatedInternet


def crawl(net: SimulatedInternet, folder: Path, max_pages: int, seconds: float | None = None) -> int:
    """Crawl with the command line, killed after some seconds; its exit status."""
    file = folder / "job.toml"
    file.write_text(f"max_pages = {max_pages}\n{net.job()}", encoding="utf-8")
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(file), "--dir", str(folder / "crawl"), "--quiet"]
    command += ["--set", "frontier.snapshot_interval=1", "--set", "frontier.snapshot_bytes=1048576"]
    process = subprocess.Popen([*command, "-o", str(folder / "pages.jsonl")])
    try:
        return process.wait(timeout=seconds if seconds is not None else 3000)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def assert_polite(report: dict[str, Any]) -> None:
    """No offence against robots.txt, intervals or Retry-After."""
    assert report["robots"]["count"] == 0, report["robots"]
    assert report["rates"]["host"]["count"] == 0, report["rates"]["host"]
    assert report["rates"]["address"]["count"] == 0, report["rates"]["address"]
    assert report["pauses"]["count"] == 0, report["pauses"]


@pytest.mark.parametrize(
    ("profile", "hosts", "pages", "requests", "kills"),
    [
        ("internet", 200, 10, 1_200, 2),
        ("hostile", 1_000, 10, 12_000, 2),
        pytest.param("internet", 10_000, 40, 100_000, 20, marks=pytest.mark.soak),
        pytest.param("hostile", 5_000, 20, 100_000, 20, marks=pytest.mark.soak),
    ],
)
def test_no_offence_with_restarts_in_between(
    profile: str, hosts: int, pages: int, requests: int, kills: int, tmp_path: Path
) -> None:
    with SimulatedInternet(hosts=hosts, pages=pages, seed=4, speed=50, profile=profile) as net:
        killed = 0
        for attempt in range(kills):
            # From the interpreter's start into the crawl.
            if crawl(net, tmp_path, requests, 1.0 + attempt % 5 * 0.4) == -signal.SIGKILL:
                killed += 1
        # 3: it ended as it should, and some of these worlds' hosts are dead.
        assert crawl(net, tmp_path, requests) == 3
        report = net.report()
    (tmp_path / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    assert killed == kills, "the crawl is long enough to be killed in"
    assert report["totals"]["requests"] >= requests
    assert_polite(report)
    if profile == "hostile":
        assert report["pauses"]["asked"] > 10


def test_a_block_list_acts_within_a_second_on_a_running_crawl(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("# nobody yet\n", encoding="utf-8")
    with SimulatedInternet(hosts=30, pages=200, seed=2, speed=10, ledger=tmp_path / "ledger") as net:
        victims = sorted(net.hosts)[:20]
        made = lycosa.crawl(
            job=net.job_file(),
            directory=tmp_path / "crawl",
            politeness={"block_list": blocked, "address_domains": 1},
            max_pages=800,
        )
        changed, refused, fetched = 0.0, set(), defaultdict(list)
        for page in made:
            host = page.url.split("/")[2].split(":")[0]
            if page.error == "blocked":
                refused.add(host)
            else:
                fetched[host].append(time.monotonic())
            if not changed and made.report()["pages"] > 300:
                blocked.write_text("".join(f"={host}\n" for host in victims), encoding="utf-8")
                changed = time.monotonic()
    assert changed
    assert refused, "what waited is refused with a reason"
    assert refused <= set(victims)
    # What was under way then may end still.
    late = {host: times[-1] - changed for host, times in fetched.items() if host in victims}
    assert max(late.values()) < 1.0, late
    assert max(max(fetched[host]) for host in fetched if host not in victims) - changed > 2, "the others go on"


def test_an_address_of_many_domains_is_asked_as_often_as_they_have_a_right_to(tmp_path: Path) -> None:
    speed, model, seconds = 4.0, tmp_path / "model.toml", {}
    model.write_text("[addresses]\ngroups = [{ least = 8, most = 8, share = 1.0 }]\n", encoding="utf-8")
    for domains in (1, 4):
        file = tmp_path / f"ledger{domains}"
        with SimulatedInternet(hosts=16, pages=12, seed=2, speed=speed, profile=str(model), ledger=file) as net:
            politeness: PolitenessSettings = {
                "address_domains": domains,
                "response_multiple": 0,
                # So that the address's pause is what requests wait for: its hosts may be asked 32 times a second.
                "host_interval": 0.25,
                "max_crawl_delay": 0.25,
            }
            # What failed and comes again a minute later says nothing about rates.
            crawl_all = lycosa.crawl(job=net.job_file(), politeness=politeness, frontier={"patience": 0})
            assert len(list(crawl_all)) > 150
        times: dict[str, list[float]] = defaultdict(list)
        for entry in Ledger(file).timeline()["entries"]:
            times[entry["address"]].append(entry["at_s"])
        assert len(times) == 2
        pause = 0.25 / domains / speed
        for starts in times.values():
            # Over a stretch of time, since requests that are out together may overtake each other on their way.
            for first, last in zip(starts, starts[10:], strict=False):
                assert last - first >= (10 - domains + 1) * pause * 0.99
        # The first half: towards the end few hosts have anything left, and their own pace is what counts.
        seconds[domains] = max(starts[len(starts) // 2] - starts[0] for starts in times.values())
    assert seconds[4] < seconds[1] * 0.5, seconds


class Asked(NamedTuple):
    """What a host was asked for: how long its answers took, and the pause that it is due."""

    took: list[float]
    pause: float


def plain_schedule(hosts: dict[str, Asked], address_pause: float) -> float:
    """Seconds that the requests of one address take by the rates alone.

    Each begins as soon as it may, and of several hosts that may, that which has waited longest.
    """
    left = {host: list(asked.took) for host, asked in hosts.items()}
    ready, now = dict.fromkeys(left, 0.0), 0.0
    end = 0.0
    while left:
        able = [host for host in left if ready[host] <= now]
        if not able:
            now = min(ready[host] for host in left)
            continue
        host = min(able, key=lambda host: ready[host])
        end = now + left[host].pop(0)
        ready[host], now = end + hosts[host].pause, end + address_pause
        if not left[host]:
            del left[host]
    return end


def test_nothing_of_what_the_rates_allow_is_left_lying(tmp_path: Path) -> None:
    """All hosts' requests take as long as the slowest address must: 95 % at least of what the rates allow."""
    speed, ledger, model = 4.0, tmp_path / "ledger", tmp_path / "model.toml"
    # Answers that take their time; hosts alone, and hosts that share an address. Faults would change the rates.
    model.write_text(
        "[http.latency]\nmedian_ms = 100\nsigma = 0.5\n"
        "[addresses]\ngroups = [{ least = 1, most = 1, share = 0.5 }, { least = 6, most = 6, share = 0.5 }]\n",
        encoding="utf-8",
    )
    with SimulatedInternet(hosts=24, pages=15, seed=3, speed=speed, profile=str(model), ledger=ledger) as net:
        # First what there is, at no pace; then the same again by the rates, with nothing to be found first.
        none: PolitenessSettings = {"host_interval": 0, "address_interval": 0, "max_crawl_delay": 0}
        none |= {"response_multiple": 0}
        crawl_all = lycosa.crawl(job=net.job_file(), politeness={**none, "address_concurrency": 6})
        seeds = [page.url for page in crawl_all if page.status is not None]
        before = net.report()["totals"]["requests"]
        rates: PolitenessSettings = {"response_multiple": 0, "address_domains": 1, "max_crawl_delay": 1}
        pages = list(lycosa.crawl(*seeds, job=net.job_file(), max_depth=0, politeness=rates))
    assert len(pages) == len(seeds) > 200
    entries = Ledger(ledger).timeline()["entries"][before:]
    assert len(entries) > len(seeds)
    addresses: dict[str, dict[str, Asked]] = defaultdict(dict)
    for entry in entries:
        asked = addresses[entry["address"]].setdefault(entry["host"], Asked([], 1 / speed))
        asked.took.append(entry["took_s"])
    allowed = max(plain_schedule(hosts, 0.25 / speed) for hosts in addresses.values())
    took = entries[-1]["at_s"] + entries[-1]["took_s"] - entries[0]["at_s"]
    assert allowed >= 0.95 * took, f"{took:.2f} s, where {allowed:.2f} s would do"
    assert took >= 0.95 * allowed, f"faster than allowed: {took:.2f} s instead of {allowed:.2f} s"
