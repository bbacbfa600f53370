"""Partitions of one worker: what they share."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from lycosa import _core
from lycosa.assemble import shared_clocks
from lycosa.cluster.frontier_part import Copier, FrontierPart, caps_of, in_pieces
from lycosa.cluster.storage import SharedSnapshots
from lycosa.job import make_job
from lycosa.records import Request, Requests

from tests.unit.cluster.telling import pass_on


@pytest.mark.parametrize("part", [1.0, 0.25])
def test_partitions_of_a_worker_share_its_part_of_the_caps_over_all_sites(tmp_path: Path, part: float) -> None:
    politeness = {"requests_per_second": 200, "host_interval": 0, "address_interval": 0, "robots": False}
    given = {"user_agent": "test/1.0 (me@example.org)", "allow_addresses": ["127.0.0.0/8"], "scope": "any"}
    job = make_job({**given, "politeness": {**politeness, "share_clocks": False}})
    clock = _core.Clock()
    names, partitions = _core.Names(job, clock), _core.Partitions(8, "host")
    shared = shared_clocks(job, clock, 8, caps=caps_of(job, 1.0))
    assert shared is not None
    copier = Copier(SharedSnapshots(tmp_path / "state"), lambda partition, position: None)
    parts = {}
    for partition in range(8):
        parts[partition] = FrontierPart(
            partition, job, partitions, "host", names, clock, shared, tmp_path / str(partition), copier, None
        )
        parts[partition].load(0)
        parts[partition].restored(True, 0)
    # Each host gets one request: none of them is answered.
    urls = [Request(f"http://127.0.{host // 250}.{host % 250}/") for host in range(1_000)]
    for partition, some in partitions.split_requests(Requests(urls)).items():
        parts[partition].accept(some.encode())
    for one in parts.values():
        one.share(part)
    taken, began = 0, clock.now()
    while clock.now() < began + 0.5:
        pass_on(parts)
        for one in parts.values():
            taken += len(one.take(100))
        time.sleep(0.01)
    seconds = clock.now() - began
    for one in parts.values():
        one.close()
    copier.close()
    # What a tenth of a second would have taken may be caught up at once.
    assert 200 * part * 0.3 <= taken <= 200 * part * (seconds + 0.1) + 1, (taken, seconds)


def test_messages_are_no_larger_than_topics_accept() -> None:
    requests = Requests([Request(f"http://a.test/{'x' * 1_000}{number}") for number in range(100)])
    pieces = in_pieces(requests, Requests.encode, 20_000)
    assert all(len(piece) <= 20_000 for piece in pieces)
    assert len(pieces) < 20
    urls = [request.url for piece in pieces for request in Requests.decode(piece)]
    assert urls == [request.url for request in requests]
    assert len(in_pieces(requests, Requests.encode, 10)) == 100, "a record is not divided"
