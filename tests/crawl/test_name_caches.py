"""Whole crawls with each cache of names, judged by the simulated Internet's ledger."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Unpack

import lycosa
import pytest
from lycosa.settings import NamesSettings, PolitenessSettings
from lycosa.simnet import SimulatedInternet

#: A cache file lives in the machine's own time, and so do its crawls: no waits but those of the network.
PACE: PolitenessSettings = {
    "host_interval": 0, "address_interval": 0, "response_multiple": 0, "max_crawl_delay": 0, "retries": 0,
}  # fmt: skip

#: Runs in a mount namespace of its own, on a disk that has space for no cache of this capacity.
FULL = """
import subprocess, sys
from pathlib import Path

disk, job, pace = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(disk)], check=True)
(disk / "ballast").write_bytes(bytes(15 << 20))
command = [sys.executable, "-m", "lycosa", "crawl", "--job", job, "--dir", str(disk.parent / "job"), *pace]
command += ["--set", f"names.cache_file={disk / 'names'}"]
raise SystemExit(subprocess.run(command).returncode)
"""


def crawled(net: SimulatedInternet, **names: Unpack[NamesSettings]) -> dict[str, Any]:
    """Crawl everything; give the report, with pages counted by the class of their host's name."""
    crawl = lycosa.crawl(job=net.job_file(), names=names)
    classes: dict[str | None, int] = {}
    for page in crawl:
        classes[page.dns_class] = classes.get(page.dns_class, 0) + 1
    return {**crawl.report(), "classes": classes}


#: Each design by its defaults, and by what its publication says or leaves open.
DESIGNS: dict[str, NamesSettings] = {
    "compact": {"cache": "compact"},
    "compact as published": {"cache": "compact", "verify": "published", "negative": "clear-all", "min_ttl": 3_600},
    "async-lru": {"cache": "async-lru"},
    "async-lru as published": {"cache": "async-lru", "capacity": 50_000, "buckets": 21_911, "in_flight": 1_024},
    "async-lru of one chain": {"cache": "async-lru", "buckets": 1, "period": 60.0},
    "regions": {"cache": "regions"},
    "regions as published": {"cache": "regions", "levels": "dots", "slow": 0.05},
    "regions by recency": {"cache": "regions", "weight": "recency", "light": 1.0, "period": 60.0},
    "regions by time": {"cache": "regions", "weight": "time"},
    "regions by powers": {"cache": "regions", "weight": {"time": 0.5, "recency": 2.0}, "slow": 0.05},
    "optimiser": {"cache": "optimiser"},
    "optimiser that refreshes soon": {"cache": "optimiser", "period": 60.0},
}


@pytest.mark.parametrize("names", DESIGNS.values(), ids=list(DESIGNS))
def test_with_each_design_everything_is_reached(names: NamesSettings) -> None:
    with SimulatedInternet(hosts=100, pages=10, seed=4, speed=100) as net:
        report = crawled(net, **names)
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["after_answer"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    told, classes = report["names"], report["classes"]
    assert told["fast"] + told["slow"] >= 100
    assert classes["fast"] + classes.get("slow", 0) >= report["pages"]


def test_a_crawl_that_shares_its_cache_file_asks_fewer_questions(tmp_path: Path) -> None:
    shared: NamesSettings = {"cache_file": tmp_path / "names", "capacity": 1_000}
    questions = []
    for _ in range(2):
        with SimulatedInternet(hosts=20, pages=2, seed=4, speed=1) as net:
            crawl = lycosa.crawl(job=net.job_file(), names=shared, politeness=PACE)
            pages = sum(page.status == 200 for page in crawl)
            report, totals = crawl.report(), net.report()["totals"]
        assert pages >= 20
        assert totals["dns_questions"] == report["names"]["questions"]
        questions.append(totals["dns_questions"])
    assert questions[0] >= 20
    assert questions[1] == 0
    assert report["names"]["cache_hits"] >= 20


def test_on_a_full_disk_names_are_cached_in_memory_and_the_crawl_says_so(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    pace = [part for key, value in PACE.items() for part in ("--set", f"politeness.{key}={value}")]
    # As root a mount namespace is enough; others need a user namespace for it.
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    with SimulatedInternet(hosts=3, pages=2, seed=4, speed=1) as net:
        command = [*unshare, sys.executable, "-c", FULL, str(tmp_path / "disk"), str(net.job_file()), *pace]
        result = subprocess.run(command, capture_output=True, text=True, timeout=110)
        ratio = net.report()["coverage"]["ratio"]
    assert result.returncode == 0, result.stderr
    assert ratio == 1.0
    (line,) = [line for line in result.stderr.splitlines() if "names are cached in memory" in line]
    assert "names.cache_file: the cache needs" in line
    assert str(tmp_path / "disk") in line
