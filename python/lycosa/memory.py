"""One number for the memory of a crawl, and the shares of it: the one place that divides it.

Shares add up to less than the whole: the rest is what no share counts (buffers of connections, what
the allocator keeps). The interpreter with its libraries comes on top: about 100 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lycosa.errors import SettingError
from lycosa.job import Frontier, Job

MIB = 1 << 20

#: A host with its queue, its address and its domain: measured with 300,000 of them, less than this.
HOST_BYTES = 640

#: The part of the memory that one body may have.
BODY = 8

#: A name in the cache, with what its index needs.
NAME_BYTES = 31


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes for each part of a crawl."""

    total: int
    seen: int  # known URLs; beyond it they go to disk
    queues: int  # waiting URLs; beyond it they go to disk
    cookies: int
    fetch: int  # responses, from a body's first byte until they are parsed; beyond it bodies are not read on
    batch: (
        int  # pages parsed and not yet in the log; two batches live at once, since one is left while the next comes
    )
    decoding: int  # bodies that parse decodes at the same time
    outputs: int  # rows that outputs read from the log, decoded
    names: int  # the cache of names, by its capacity
    hosts: int  # hosts with a queue, not bytes


def shares(job: Job) -> Shares:
    """Divide the memory of a job.

    The frontier has most, since what does not fit there costs disk reads; what passes through needs what keeps
    all slots busy. Where the frontier's own settings name another value than their default, that value counts.
    """
    total = job.memory if job.memory is not None else machine() // 2
    names = job.names.capacity * NAME_BYTES
    # What names take beyond what every crawl's take is not there for the others.
    left = max(total - max(names - total // 16, 0), total // 4)

    def of_frontier(name: str, share: int) -> int:
        """What the job says; its default is an upper bound."""
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
        hosts=job.frontier.max_hosts or left // 8 // HOST_BYTES,
    )


def check_bodies(job: Job) -> None:
    """Raise SettingError where one body would not fit: in all its forms it takes several times its size."""
    most = shares(job).total // BODY
    for room, name in ((job.fetch, "max_body_bytes"), (job.parse, "max_decoded_bytes")):
        given, default = getattr(room, name), type(room).model_fields[name].default
        if given > max(most, default):
            allowed = f"at most {most:,}, an eighth of memory; or a larger memory"
            raise SettingError(f"{type(room).__name__.lower()}.{name}", given, allowed)


def divided(job: Job, of: Shares) -> Job:
    """The job with the shares of its frontier, and with bodies that fit."""
    most = of.total // BODY
    fetch = {"max_body_bytes": min(job.fetch.max_body_bytes, most)}
    parse = {"max_decoded_bytes": min(job.parse.max_decoded_bytes, most)}
    frontier = {
        "seen_memory": of.seen,
        "queue_memory": of.queues,
        "cookie_memory": of.cookies,
        "max_hosts": of.hosts,
    }
    rooms = {"frontier": (job.frontier, frontier), "fetch": (job.fetch, fetch), "parse": (job.parse, parse)}
    return job.model_copy(update={name: room.model_copy(update=new) for name, (room, new) in rooms.items()})


def told(job: Job) -> str:
    """The memory in one line, for people."""
    total = shares(job).total
    size = f"{total / (1024 * MIB):.1f} GiB" if total >= 1024 * MIB else f"{total // MIB} MiB"
    return f"memory: {size}" + (" (half of this machine's)" if job.memory is None else "")


def machine(root: Path = Path("/")) -> int:
    """Bytes of memory that this process may use: the machine's, or those of its control group where they are fewer.

    root: where ``proc`` and ``sys`` are.
    """
    limits = [_physical(root), *_group_limits(root)]
    return max(min(limits), 256 * MIB)


def _physical(root: Path) -> int:
    """The machine's memory."""
    for line in (root / "proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) * 1024
    return 1 << 62


def _group_limits(root: Path) -> list[int]:
    """The limits of this process's control groups and of those above them, of both versions."""
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
        # In a container the group's path may be the host's, which is not there: then the top is the container's own.
        group = folder / path.strip("/")
        for place in [group, *group.parents]:
            if place.is_relative_to(folder):
                limits += _limit(place / name)
    return limits


def _limit(file: Path) -> list[int]:
    """The limit that a file says, if it says one."""
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() else []
