"""Whole crawls of difficult worlds with restarts in between: the ledger finds no offence, and no time is left lying."""

from __future__ import annotations

import bisect
import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa.simnet import SimulatedInternet

#: Seconds of the job's own time, as in ``python/lycosa/job.py``.
HOST_INTERVAL, ADDRESS_INTERVAL, MULTIPLE, MAX_INTERVAL = 1.0, 0.25, 5.0, 60.0


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
        ("internet", 300, 10, 2_000, 3),
        ("hostile", 100, 10, 1_500, 3),
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
            if crawl(net, tmp_path, requests, 1.5 + attempt * 0.7) == -signal.SIGKILL:
                killed += 1
        assert crawl(net, tmp_path, requests) == 0
        report = net.report()
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
            max_pages=1_500,
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
    # A second, and what was under way then.
    late = {host: times[-1] - changed for host, times in fetched.items() if host in victims}
    assert max(late.values()) < 1.5, late
    assert max(max(fetched[host]) for host in fetched if host not in victims) - changed > 2, "the others go on"
