"""Divides the memory of a crawl (``memory`` of the job) into shares of its parts.

Shares add up to less than the whole: the rest is for what no share counts (buffers of connections, free memory
in the allocator). The interpreter and its libraries take about 100 MiB in addition.
"""

from __future__ import annotations

import functools
import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from lycosa.errors import SettingError
from lycosa.job import Frontier, Job

MIB = 1 << 20

#: Upper bound for a host with its queue, address and domain, measured with 300,000 of them.
HOST_BYTES = 640

#: One body may take this fraction of the memory, or of a lane's part of it: an eighth.
BODY = 8

#: A name in the cache, with its share of the index.
NAME_BYTES = 31

#: Lanes for each core, at most; the memory that each needs, and the names that its cache has at least.
MOST_LANES, LEAST_MEMORY, LEAST_NAMES = 4, 64 * MIB, 1_000

#: Limits of the whole crawl that its lanes divide among them, and how much of each a lane needs at least.
LIMITS = {
    ("frontier", "max_hosts"): 1,
    ("frontier", "warm_hosts"): 1,
    ("fetch", "slots"): 1,
    ("fetch", "idle_connections"): 0,
    ("parse", "threads"): 1,
    ("names", "capacity"): LEAST_NAMES,
    ("names", "in_flight"): 1,
    ("names", "ahead_names"): 1,
    ("politeness", "domain_hosts"): 1,
    # Each lane may send one request more than its rate allows, at its start.
    ("politeness", "requests_per_second"): 1,
    ("politeness", "bytes_per_second"): 1,
}

#: Settings of the frontier, and the share that each of them is.
PARTS = {
    "seen_memory": "seen",
    "queue_memory": "queues",
    "cookie_memory": "cookies",
    "max_hosts": "hosts",
    "warm_hosts": "warm",
}


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes for each part of a crawl."""

    total: int
    seen: int  # known URLs; the rest is on disk
    queues: int  # waiting URLs; the rest is on disk
    cookies: int
    fetch: int  # responses, from a body's first byte until they are parsed; at the bound reading pauses
    batch: (
        int  # parsed pages that are not yet in the log; two batches exist at once: one is logged, the next is parsed
    )
    decoding: int  # bodies that are decoded at the same time
    outputs: int  # rows that outputs read from the log, decoded
    names: int  # the cache of names, by its capacity
    hosts: int  # hosts with a queue, not bytes
    warm: int  # those of them in memory that URLs wait for; the rest is on disk

    def of_lane(self, lanes: int) -> Shares:
        """Return the shares of each of several lanes."""
        return Shares(*(share // lanes for share in astuple(self)))


def shares(job: Job) -> Shares:
    """Divide the memory of a job.

    The frontier gets most, since what does not fit there costs disk reads; the other stages need enough to keep
    all slots busy. A frontier setting that differs from its default overrides its share.
    """
    total = job.memory if job.memory is not None else _own() // 2
    names = job.names.capacity * NAME_BYTES
    # Names that take more than a sixteenth reduce the other shares.
    left = max(total - max(names - total // 16, 0), total // 4)

    fitting = left // 8 // HOST_BYTES

    def of_frontier(name: str, share: int) -> int:
        """Return the job's setting; if it is the default, at most the share."""
        default, given = Frontier.model_fields[name].default, getattr(job.frontier, name)
        chosen: int = min(default, share) if given == default else given
        return chosen

    return Shares(
        total=total,
        seen=of_frontier("seen_memory", left // 4),
        queues=of_frontier("queue_memory", left // 8),
        cookies=of_frontier("cookie_memory", left // 32),
        fetch=min(left // 8, 1024 * MIB),
        batch=min(left // 16, 128 * MIB),
        decoding=min(left // 8, 512 * MIB),
        outputs=min(left // 16, 128 * MIB),
        names=names,
        hosts=job.frontier.max_hosts or fitting,
        warm=job.frontier.warm_hosts or fitting,
    )


def check_bodies(job: Job) -> None:
    """Raise SettingError if one body would not fit: with its decoded forms it takes several times its size."""
    lanes = job.frontier.shards
    most = shares(job).of_lane(lanes).total // BODY
    whose = "memory; or a larger memory" if lanes == 1 else "a shard's memory; or a larger memory, or fewer shards"
    for section, name in ((job.fetch, "max_body_bytes"), (job.parse, "max_decoded_bytes")):
        given, default = getattr(section, name), type(section).model_fields[name].default
        if given > max(most, default):
            allowed = f"at most {most:,}, an eighth of {whose}"
            raise SettingError(f"{type(section).__name__.lower()}.{name}", given, allowed)


def divided(job: Job, of: Shares) -> Job:
    """Return the job with the shares of its frontier, and with body limits that fit."""
    most = of.total // BODY
    new = {
        "frontier": {name: getattr(of, share) for name, share in PARTS.items()},
        "fetch": {"max_body_bytes": min(job.fetch.max_body_bytes, most)},
        "parse": {"max_decoded_bytes": min(job.parse.max_decoded_bytes, most)},
    }
    return _changed(job, new)


def lane_job(job: Job, of: Shares) -> Job:
    """Return the job of each of several lanes, which have these shares. Their limits add up to the job's or less.

    Raises SettingError where the parts would be too small, or the machine has too few cores.
    """
    lanes, cores, memory = job.frontier.shards, os.cpu_count() or 1, shares(job).total
    if lanes > (most := MOST_LANES * cores):
        raise SettingError("frontier.shards", lanes, f"at most {most}: {MOST_LANES} for each of {cores} cores")
    if of.total < LEAST_MEMORY:
        allowed = f"at most {memory // LEAST_MEMORY}: each needs {LEAST_MEMORY // MIB} MiB of {memory // MIB} MiB"
        raise SettingError("frontier.shards", lanes, allowed)
    limits = {(section, name): getattr(getattr(job, section), name) for section, name in LIMITS}
    limits["parse", "threads"] = job.parse.threads or max(cores, lanes)
    if job.names.cache_file is not None:
        del limits["names", "capacity"]  # all lanes use the file's
    if job.frontier.shard_by == "domain":
        del limits["politeness", "domain_hosts"]  # all hosts of a domain are in one shard
    parts: dict[str, dict[str, Any]] = {}
    for (section, name), limit in limits.items():
        if limit is None:
            continue
        if limit < lanes * (least := LIMITS[section, name]):
            most = max(1, int(limit // least))
            each = f"each needs {least:,} of {section}.{name}, which is {limit:,}"
            allowed = f"at most {most}: {each}; or raise {section}.{name}"
            raise SettingError("frontier.shards", lanes, allowed)
        parts.setdefault(section, {})[name] = limit // lanes if isinstance(limit, int) else limit / lanes
    return _changed(divided(job, of), parts)


def _changed(job: Job, new: dict[str, dict[str, Any]]) -> Job:
    """The job with other values of some settings, by component and name."""
    return job.model_copy(update={name: getattr(job, name).model_copy(update=values) for name, values in new.items()})


def told(job: Job) -> str:
    """Describe the memory in one line."""
    total = shares(job).total
    size = f"{total / (1024 * MIB):.1f} GiB" if total >= 1024 * MIB else f"{total // MIB} MiB"
    return f"memory: {size}" + (" (half of this machine's)" if job.memory is None else "")


def machine(root: Path = Path("/")) -> int:
    """Return the memory in bytes that this process may use: the machine's, or its control group's if that is less.

    root: parent of ``proc`` and ``sys``.
    """
    limits = [_physical(root), *_group_limits(root)]
    return max(min(limits), 256 * MIB)


@functools.cache
def _own() -> int:
    """Return the memory that this process may use, as it was when it was first needed."""
    return machine()


def _physical(root: Path) -> int:
    """Return the machine's memory in bytes."""
    for line in (root / "proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) * 1024
    return 1 << 62


def _group_limits(root: Path) -> list[int]:
    """Return the limits of this process's control groups and their ancestors, of both cgroup versions."""
    limits = []
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's and not exist: then the root is the container's own group.
        group = folder / path.strip("/")
        for place in [group, *group.parents]:
            if place.is_relative_to(folder):
                limits += _limit(place / name)
    return limits


def _limit(file: Path) -> list[int]:
    """Return the limit in a file, if it has one."""
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() else []
