"""Crawls of worlds on HTTPS: good hosts are covered, bad certificates are recorded and never accepted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import lycosa
import pytest
from lycosa.simnet import SimulatedInternet


@pytest.mark.parametrize("seed", [1, 2])
def test_good_hosts_are_covered_and_bad_ones_recorded(seed: int) -> None:
    with SimulatedInternet(hosts=120, pages=10, seed=seed, speed=100, https=0.6, bad_certificates=0.25) as net:
        pages = list(lycosa.crawl(job=net.job_file()))
        ledger, certificates = net.report(), net.certificates
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["certificates"]["count"] == 0
    assert ledger["certificates"]["bad_hosts"] > 10
    assert ledger["repeats"]["after_answer"] == 0
    assert ledger["robots"]["count"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    spoken = {(page.url.partition(":")[0], page.source) for page in pages if page.status is not None}
    assert spoken == {("http", "http/1.1"), ("https", "h2")}
    bad = {name for name, kind in certificates.items() if kind != "good"}
    seen = set()
    for page in pages:
        host = urlsplit(page.url).hostname
        assert (page.error == "tls-certificate") == (host in bad), (page.url, page.error)
        seen |= {host} & bad
    assert len(seen) > 5


def test_a_job_may_keep_to_http1() -> None:
    with SimulatedInternet(hosts=10, pages=3, speed=200, https=1.0) as net:
        pages = list(lycosa.crawl(job=net.job_file(), fetch={"http2": False}))
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert {page.source for page in pages if page.status is not None} == {"http/1.1"}


def test_an_authority_that_is_not_trusted_is_a_bad_one() -> None:
    with SimulatedInternet(hosts=10, pages=3, speed=200, https=1.0) as net:
        job = net.job_file()
        job.write_text(job.read_text().replace("ca_file", "# ca_file"))
        pages = list(lycosa.crawl(job=job))
        ledger = net.report()
    assert {page.error for page in pages} == {"tls-certificate"}
    assert ledger["totals"]["requests"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="private namespaces need root")
def test_the_command_line_crawls_both_schemes_and_both_kinds_of_address(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    simnet = [sys.executable, "-m", "lycosa", "simnet", "--hosts", "40", "--pages", "5", "--speed", "200"]
    simnet += ["--https", "0.5", "--bad-certificates", "0.2", "--ipv6", "0.5", "--report", str(report), "--"]
    crawl = [sys.executable, "-m", "lycosa", "crawl", "--job", "{job}", "--dir", str(tmp_path / "crawl")]
    done = subprocess.run([*simnet, *crawl], capture_output=True, text=True, timeout=100)
    # 3: it finished, and bad certificates left URLs without an answer.
    assert done.returncode == 3, done.stderr
    ledger = json.loads(report.read_text())
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["certificates"]["count"] == ledger["robots"]["count"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
