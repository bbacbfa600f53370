"""Jobs of a cluster that crawl the same sites, and one whose requests go through proxies. The ledger judges."""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path

import pytest
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import Topics
from lycosa.job import make_job, read_job
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka
from tests.cluster.workers import SLOTS, Workers, settings_of, wait_until_complete
from tests.crawl.scripted_proxies import ScriptedProxies
from tests.dispatch.service import Service

QUOTAS = """
[services.crawl]
rate = 5000
"""

#: Pages of each host.
PAGES = 8


@pytest.mark.timeout(200)
def test_jobs_that_have_the_same_master_share_the_clocks_of_sites(kafka: Kafka, tmp_path: Path) -> None:
    names = ("first", "second")
    with (
        contextlib.ExitStack() as stack,
        SimulatedInternet(hosts=60, pages=PAGES, seed=3, speed=20) as net,
        Service(tmp_path, net, QUOTAS, servers=2) as service,
    ):
        job = tmp_path / "job.toml"
        job.write_text(net.job() + settings_of(kafka, 2.0))
        groups = []
        for name in names:
            folder = tmp_path / name
            folder.mkdir()
            submit(make_job(read_job(job) | {"fetch": {"master": service.url}}), name, kafka.connection)
            # As if each of their workers were on a machine of its own.
            apart = f"politeness.clock_file={folder / 'clocks'}"
            more = ("--set", f"fetch.master={service.url}", "--set", apart)
            groups.append(Workers(kafka, job, name, folder, with_outputs=False, more=more))
            stack.callback(groups[-1].close)
            groups[-1].start()
            groups[-1].start()
        time.sleep(6)
        for how in (signal.SIGKILL, signal.SIGTERM):
            groups[0].end(groups[0].all[0], how)
            groups[0].start()
        for name, group in zip(names, groups, strict=True):
            wait_until_complete(Topics(name), kafka, group)
            for worker in list(group.all):
                assert group.end(worker, signal.SIGTERM) == 0
        report = net.report()
    assert report["coverage"]["ratio"] == 1.0, report["coverage"]
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0, report["rates"]
    assert report["robots"]["count"] == report["pauses"]["count"] == 0
    # Each page is fetched by both jobs, and what the worker that was killed had in flight once more.
    assert report["repeats"]["after_answer"] <= report["coverage"]["served"] + SLOTS, report["repeats"]


@pytest.mark.timeout(200)
def test_a_worker_sends_through_the_proxies_of_its_job(kafka: Kafka, tmp_path: Path) -> None:
    with (
        contextlib.ExitStack() as stack,
        SimulatedInternet(hosts=30, pages=PAGES, seed=3, speed=50) as net,
        ScriptedProxies(3, net.hosts) as proxies,
    ):
        lines = tmp_path / "proxies.txt"
        lines.write_text("".join(f"{proxy.line}\n" for proxy in proxies.all))
        job = tmp_path / "job.toml"
        given = f'\n[proxies]\nfile = "{lines}"\ncheck = []\nallow_addresses = ["127.0.0.0/8"]\n'
        job.write_text(net.job() + given + settings_of(kafka, 2.0))
        submit(make_job(read_job(job)), "proxied", kafka.connection)
        group = Workers(kafka, job, "proxied", tmp_path)
        stack.callback(group.close)
        group.start()
        wait_until_complete(Topics("proxied"), kafka, group)
        assert group.end(group.all[0], signal.SIGTERM) == 0
        report = net.report()
    assert report["coverage"]["ratio"] == 1.0, report["coverage"]
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0, report["rates"]
    # No request went past them.
    assert report["totals"]["requests"] <= sum(len(proxy.passed) for proxy in proxies.all)
    for rows in group.rows():
        assert len(rows) == report["coverage"]["served"]
        assert set(rows.values()) == {1}
