"""Whole crawls of the timed and the hostile world: they end, and the ledger finds no offence."""

from __future__ import annotations

import gzip
import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lycosa.errors import SettingError
from lycosa.simnet import SimulatedInternet


def crawl(net: SimulatedInternet, folder: Path, max_pages: int | None = None) -> dict[str, Any]:
    """Crawl an Internet with the command line; the ledger's report."""
    job = net.job() if max_pages is None else f"max_pages = {max_pages}\n{net.job()}"
    file = folder / "job.toml"
    file.write_text(job, encoding="utf-8")
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(file), "--dir", str(folder / "crawl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    # 3: it ended as it should, and some of these worlds' names do not exist.
    assert done.returncode == 3, done.stderr
    report = net.report()
    (folder / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    return report


def assert_polite(report: dict[str, Any]) -> None:
    """No offence against robots.txt, intervals or Retry-After."""
    assert report["robots"]["count"] == 0, report["robots"]
    assert report["rates"]["host"]["count"] == 0, report["rates"]["host"]
    assert report["rates"]["address"]["count"] == 0, report["rates"]["address"]
    assert report["pauses"]["count"] == 0, report["pauses"]


def test_a_crawl_of_the_internet_ends_politely(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=60, pages=5, seed=1, speed=100, profile="internet") as net:
        report = crawl(net, tmp_path)
    assert_polite(report)
    assert report["coverage"]["ratio"] > 0.97, report["coverage"]
    answers = report["totals"]["dns_by_answer"]
    assert {"address", "nxdomain", "silence"} <= set(answers)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_crawl_of_a_hostile_world_ends_politely(seed: int, tmp_path: Path) -> None:
    with SimulatedInternet(hosts=30, pages=5, seed=seed, speed=100, profile="hostile") as net:
        report = crawl(net, tmp_path, max_pages=600)
    assert_polite(report)
    assert report["totals"]["by_kind"]["trap"] > 0
    assert report["pauses"]["asked"] > 0


def test_a_model_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[dns.answers]\naddress = 0.5\nnxdomain = 0.5\n", encoding="utf-8")
    with SimulatedInternet(hosts=200, pages=2, profile=str(file)) as net:
        assert net.model()["world"]["answers"]["nxdomain"] == pytest.approx(0.5)
    file.write_text("[dns]\nloss = 2\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"dns\.loss: .2. is not allowed; allowed: 0 to 1"):
        SimulatedInternet(profile=str(file))
    file.write_text("[addresses]\npool = 3\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"hosts: .*200.*3 addresses"):
        SimulatedInternet(profile=str(file))


def test_the_model_tells_its_quantiles() -> None:
    with SimulatedInternet(hosts=1000, pages=2, profile="internet") as net:
        model = net.model()
    quantiles = dict(model["dns_latency_ms"]["percent"])
    assert 58 < quantiles[50] < 63
    assert quantiles[99.9] > 3000
    assert model["world"]["names_per_address"][0] == [1, 0.2]


def test_pythons_gzip_reads_the_pages() -> None:
    seen = 0
    with SimulatedInternet(hosts=30, pages=3) as net:
        for name, address in net.hosts.items():
            bodies = []
            for coding in ("gzip", "identity"):
                connection = http.client.HTTPConnection(address, net.http_port, timeout=10)
                connection.request("GET", "/", headers={"Host": name, "Accept-Encoding": coding})
                response = connection.getresponse()
                body = response.read()
                if response.headers["Content-Encoding"] == "gzip":
                    body = gzip.decompress(body)
                    seen += 1
                bodies.append(body)
                connection.close()
            assert bodies[0] == bodies[1]
    assert seen > 3
