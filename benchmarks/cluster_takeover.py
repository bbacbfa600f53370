"""How long partitions of a large frontier stand still when they move: to a worker that comes, from one that dies."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import nginx
from benchmarks.cluster_workers import Cluster, metric
from benchmarks.harness import Cores, Options, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: URLs that are known, all of which wait; at how many addresses; in one record.
URLS, QUICK_URLS, ADDRESSES, PIECE = 10_000_000, 500_000, 250, 1_000

#: Partitions; seconds after which a silent worker's are others'; seconds between two snapshots of a partition.
PARTITIONS, SESSION, SNAPSHOTS = 64, 6.0, 30.0

#: Seconds for which the cluster is waited for, at most.
WITHIN = 900.0

#: Bounds, in s: from an assignment to the first request; from a kill to it.
TAKEOVER, AFTER_KILL = 5.0, SESSION + 10.0

_JOB = f"""\
allow_addresses = ["127.0.0.0/8"]
user_agent = "lycosa-benchmark/0.1 (+http://localhost/)"

[politeness]
host_interval = 1
address_interval = 1

[cluster]
partitions = {PARTITIONS}
replicas = 1
session_timeout = {SESSION}
snapshot_interval = {SNAPSHOTS}
pages = false
"""


#: What the sites answer: if all said the same, workers would suspect a captive portal, and record nothing meanwhile.
_ANSWERS = 'location / { return 404 "$server_addr$request_uri"; }'


def takeovers(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Fill a cluster of one worker; add another one; kill the first one."""
    from tests.cluster.kafka import Kafka

    count, own = QUICK_URLS if options.quick else URLS, folder / "takeover"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    site = own / "site"
    site.mkdir()
    with (
        nginx.serving(site, own / "nginx", cores.server, lines=_ANSWERS, addresses=ADDRESSES) as root,
        Kafka() as kafka,
        Cluster(kafka, "takeover", _JOB, PARTITIONS, cores, own) as cluster,
    ):
        first = cluster.add(512)
        cluster.wait_until_shared()
        filled = _fill(cluster, urlsplit(root).port or 0, count)
        _wait_for_snapshots(cluster, filled)
        second = cluster.add(512)
        cluster.wait_until_shared(WITHIN)
        came = _takeover(second)
        progress(f"a worker that comes: {came[0]:.1f} s in the mean, {came[1]:.1f} s at most")
        cluster.workers.remove(first)
        first.kill()
        killed = time.monotonic()
        cluster.wait_until_shared(WITHIN)
        after_kill = time.monotonic() - killed
        progress(f"a worker that is killed: {after_kill:.1f} s until all its partitions work again")
    report.figures += [
        Figure.of(f"{count:,} URLs, a worker comes: from assignment to the first take, mean", "s", [came[0]]),
        Figure.of(f"{count:,} URLs, a worker comes: from assignment to the first take, longest", "s", [came[1]]),
        Figure.of(f"{count:,} URLs, kill -9: until all partitions work again", "s", [after_kill]),
    ]
    report.claims += [
        Claim.at_most("cluster-takeover", "from assignment to the first take, longest", came[1], "s", TAKEOVER),
        Claim.at_most("cluster-kill", "from kill -9 to the first take, longest", after_kill, "s", AFTER_KILL),
    ]
    report.notes.append(
        f"takeovers: {count:,} URLs at {ADDRESSES} addresses in {PARTITIONS} partitions, of which half move to the "
        f"worker that comes and all to the one that stays; session time-out {SESSION:g} s; all on this machine"
    )


def _takeover(worker: Any) -> tuple[float, float]:
    """The mean and the longest time from the assignment of a partition to the time it is owned, in s."""
    taken = metric(worker, "lycosa_worker_takeovers_total")
    total = metric(worker, "lycosa_worker_takeover_seconds_total")
    return total / max(taken, 1.0), metric(worker, "lycosa_worker_longest_takeover_seconds")


def _fill(cluster: Cluster, port: int, count: int) -> set[int]:
    """Give the workers URLs, and wait until all are known; returns the partitions that have some."""
    from confluent_kafka import Producer
    from lycosa import _core
    from lycosa.cluster.topics import Topics
    from lycosa.records import Request, Requests

    topics, partitions = Topics(cluster.name), _core.Partitions(PARTITIONS, "domain")
    producer = Producer({**cluster.connection, "enable.idempotence": True, "linger.ms": 50})
    progress(f"{count:,} URLs are given to the workers")
    of_each, filled = count // ADDRESSES, set[int]()
    for address in range(1, ADDRESSES + 1):
        root = f"http://127.0.0.{address}:{port}"
        for at in range(0, of_each, PIECE):
            piece = Requests([Request(f"{root}/{page}") for page in range(at, min(at + PIECE, of_each))])
            for partition, some in partitions.split_requests(piece).items():
                producer.produce(topics.links, some.encode(), partition=partition)
                filled.add(partition)
        producer.poll(0)
        producer.flush(60)
    until, known = time.monotonic() + WITHIN, 0
    while known < of_each * ADDRESSES:
        if time.monotonic() > until:
            raise BenchmarkError(f"{known:,} of {count:,} URLs are known after {WITHIN:g} s")
        time.sleep(1)
        known = cluster.status()["counts"]["known"]
    progress(f"{known:,} URLs are known")
    return filled


def _wait_for_snapshots(cluster: Cluster, filled: set[int]) -> None:
    """Wait until each partition with URLs has a snapshot of now or later. Others have nothing new to save."""
    began, until = time.time(), time.monotonic() + WITHIN
    while time.monotonic() < until:
        if all(_newest_snapshot(cluster, partition) > began for partition in filled):
            return
        time.sleep(0.5)
    raise BenchmarkError(f"no new snapshots of all partitions after {WITHIN:g} s")


def _newest_snapshot(cluster: Cluster, partition: int) -> float:
    """When the newest snapshot of a partition was written; 0: it has none."""
    folder = cluster.state / str(partition)
    times = (one.stat().st_mtime for one in folder.iterdir()) if folder.is_dir() else iter(())
    return max(times, default=0.0)
