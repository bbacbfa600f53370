"""One number for the memory of a crawl: what it may be, where it comes from, how it is divided."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from lycosa.errors import SettingError
from lycosa.job import Job, make_job
from lycosa.memory import MIB, check_bodies, divided, lane_job, machine, shares, told


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [
        (1 << 30, 1 << 30),
        ("512 MiB", 512 * MIB),
        ("1.5GiB", 1536 * MIB),
        ("2 GB", 2 * 10**9),
        ("268435456", 256 * MIB),
    ],
)
def test_memory_is_a_number_or_text_with_a_unit(given: Any, bytes_: int) -> None:
    assert make_job({"memory": given}).memory == bytes_


@pytest.mark.parametrize("given", ["much", "64 MiB", 1 << 20, "1 MiBB", "-1 GiB"])
def test_a_memory_that_cannot_be_is_refused_by_its_name(given: Any) -> None:
    with pytest.raises(SettingError, match="memory"):
        make_job({"memory": given})


def test_a_body_that_would_not_fit_is_refused_and_the_defaults_shrink() -> None:
    with pytest.raises(SettingError, match=r"fetch\.max_body_bytes: .1000000000. .* at most 16,777,216"):
        check_bodies(Job(memory=128 * MIB, fetch={"max_body_bytes": 10**9}))
    small = Job(memory=128 * MIB)
    check_bodies(small)
    assert divided(small, shares(small)).parse.max_decoded_bytes == 16 * MIB
    check_bodies(Job(memory=16384 * MIB, parse={"max_decoded_bytes": 10**9}))


@pytest.mark.parametrize("total", [128 * MIB, 512 * MIB, 4096 * MIB, 1 << 40])
def test_the_shares_leave_something_for_what_no_share_counts(total: int) -> None:
    of = shares(Job(memory=total))
    _, *parts = astuple(of)
    assert of.total == total
    # Two batches live at once.
    assert sum(parts) + of.batch <= total * 0.9
    assert min(parts) > 0


def test_the_defaults_of_the_frontier_are_upper_bounds_and_what_is_set_counts() -> None:
    large = shares(Job(memory=1 << 40))
    assert (large.seen, large.queues, large.cookies) == (1024 * MIB, 256 * MIB, 64 * MIB)
    small = shares(make_job({"memory": "512 MiB", "frontier": {"queue_memory": 200 * MIB}}))
    assert (small.seen, small.queues, small.cookies) == (128 * MIB, 200 * MIB, 16 * MIB)
    job = divided(Job(), small)
    assert (job.frontier.seen_memory, job.frontier.queue_memory) == (128 * MIB, 200 * MIB)


def test_hosts_beyond_those_that_fit_are_on_disk() -> None:
    usual = shares(Job(memory=1024 * MIB))
    many = shares(make_job({"memory": "1 GiB", "frontier": {"max_hosts": 10_000_000}}))
    assert usual.hosts == usual.warm == 128 * MIB // 640
    assert (many.hosts, many.warm) == (10_000_000, usual.warm)
    assert divided(Job(), many).frontier.warm_hosts == many.warm


def lane(**settings: Any) -> Job:
    """The job of each lane, of a crawl in as many as any machine bears unless it says how many."""
    frontier = {"shards": 4, **settings.pop("frontier", {})}
    job = make_job({"memory": "1 GiB", "frontier": frontier, **settings})
    return lane_job(job, shares(job).of_lane(job.frontier.shards))


def test_the_largest_bodies_of_all_lanes_fit_into_memory_at_once() -> None:
    bodies = {"fetch": {"max_body_bytes": 32 * MIB}, "parse": {"max_decoded_bytes": 32 * MIB}}
    check_bodies(make_job({"memory": "1 GiB", "frontier": {"shards": 4}, **bodies}))
    with pytest.raises(SettingError, match=r"at most 33,554,432, an eighth of a shard's memory; or .* fewer shards"):
        check_bodies(make_job({"memory": "1 GiB", "frontier": {"shards": 4}, "fetch": {"max_body_bytes": 33 * MIB}}))
    small = lane(memory="256 MiB")
    assert (small.fetch.max_body_bytes, small.parse.max_decoded_bytes) == (8 * MIB, 8 * MIB)


def test_lanes_divide_the_cache_of_names_unless_it_is_in_a_file_that_all_use(tmp_path: Path) -> None:
    assert lane().names.capacity == 50_000
    assert lane(names={"cache_file": tmp_path / "names"}).names.capacity == 200_000


def test_hosts_of_a_domain_that_are_in_several_shards_are_divided_among_them() -> None:
    politeness = {"domain_hosts": 10}
    assert lane(politeness=politeness).politeness.domain_hosts == 10
    for by in ("host", "url"):
        assert lane(politeness=politeness, frontier={"shard_by": by}).politeness.domain_hosts == 2


def test_the_limits_of_all_lanes_add_up_to_those_of_the_crawl_or_less() -> None:
    part = lane(
        fetch={"slots": 18},
        parse={"threads": 7},
        names={"in_flight": 5, "ahead_names": 11},
        politeness={"requests_per_second": 10, "bytes_per_second": 1_000},
        frontier={"max_hosts": 10, "warm_hosts": 6},
    )
    assert (part.fetch.slots, part.parse.threads, part.names.in_flight, part.names.ahead_names) == (4, 1, 1, 2)
    assert (part.politeness.requests_per_second, part.politeness.bytes_per_second) == (2.5, 250)
    assert (part.frontier.max_hosts, part.frontier.warm_hosts) == (2, 1)


@pytest.mark.parametrize(
    ("section", "name", "value", "most"),
    [
        ("fetch", "slots", 3, "at most 3: each needs 1 of fetch.slots, which is 3; or raise fetch.slots"),
        ("parse", "threads", 1, "at most 1: each needs 1 of parse.threads, which is 1"),
        ("names", "in_flight", 2, "at most 2: each needs 1 of names.in_flight"),
        ("names", "ahead_names", 2, "at most 2: each needs 1 of names.ahead_names"),
        ("names", "capacity", 3_999, "at most 3: each needs 1,000 of names.capacity, which is 3,999"),
        ("frontier", "max_hosts", 3, "at most 3: each needs 1 of frontier.max_hosts"),
        ("frontier", "warm_hosts", 3, "at most 3: each needs 1 of frontier.warm_hosts"),
        ("politeness", "requests_per_second", 0.5, "at most 1: each needs 1 of politeness.requests_per_second"),
        ("politeness", "bytes_per_second", 3, "at most 3: each needs 1 of politeness.bytes_per_second"),
    ],
)
def test_more_shards_than_a_limit_has_parts_are_refused(section: str, name: str, value: float, most: str) -> None:
    with pytest.raises(SettingError, match=rf"frontier\.shards: '4' is not allowed; allowed: {most}"):
        lane(**{section: {name: value}})


def test_it_is_told_in_one_line() -> None:
    assert told(Job(memory=512 * MIB)) == "memory: 512 MiB"
    assert told(Job(memory=6 << 30)) == "memory: 6.0 GiB"
    assert told(Job()).endswith("GiB (half of this machine's)") or "MiB (half" in told(Job())


def files(root: Path, content: dict[str, str]) -> Path:
    """A machine's files."""
    for name, text in {"proc/meminfo": "MemFree: 1 kB\nMemTotal:       16777216 kB\n", **content}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_control_groups_it_is_the_machines(tmp_path: Path) -> None:
    assert machine(files(tmp_path, {})) == 16 << 30


def test_a_control_group_or_one_above_it_may_allow_less(tmp_path: Path) -> None:
    names = {"own": "sys/fs/cgroup/a/b/memory.max", "above": "sys/fs/cgroup/a/memory.max"}
    root = files(tmp_path, {"proc/self/cgroup": "0::/a/b\n", names["own"]: "max\n", names["above"]: str(1 << 30)})
    assert machine(root) == 1 << 30
    files(tmp_path, {names["own"]: str(512 * MIB)})
    assert machine(root) == 512 * MIB


def test_the_first_version_of_control_groups_is_understood_too(tmp_path: Path) -> None:
    group = {"proc/self/cgroup": "5:cpu,memory:/docker/x\n3:cpuset:/y\n"}
    # In a container the group's own path is not there.
    root = files(tmp_path, {**group, "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2 << 30)})
    assert machine(root) == 2 << 30
    assert machine(files(tmp_path, {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"})) == 16 << 30


def test_a_large_cache_of_names_leaves_less_for_the_others() -> None:
    usual, many = (shares(make_job({"memory": "512 MiB", "names": {"capacity": n}})) for n in (200_000, 8_000_000))
    assert many.names == 248_000_000
    assert many.fetch < usual.fetch
    assert sum(astuple(many)[1:]) + many.batch <= 512 * MIB
