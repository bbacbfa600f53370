"""A worker: the loop of ``lycosa.loop`` over partitions that Kafka assigns to it. Picks the implementations."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from lycosa import _core
from lycosa.assemble import shared_clocks
from lycosa.cluster.control import agree
from lycosa.cluster.frontier_part import Copier, FrontierPart
from lycosa.cluster.kafka import KafkaBroker
from lycosa.cluster.lane import CommittedFetch, LaneFrontier, LaneLog, MemberLane
from lycosa.cluster.member import Member
from lycosa.cluster.reading import Connection
from lycosa.cluster.storage import SharedSnapshots
from lycosa.cluster.topics import Topics, connect, make_topics
from lycosa.job import Job
from lycosa.loop import Control, run
from lycosa.memory import divided, shares
from lycosa.records import Outcomes, Requests
from lycosa.stages import Frontier, Log, Stages

#: Seconds after the beginning of a commit in which requests may be started. Commits are far more frequent; a longer
#: time would delay takeovers, a shorter one would stop the crawl where brokers are slow for a moment.
FENCE = 3.0

#: Seconds for which outcomes of partitions that are given back are waited for.
GRACE = 5.0

#: Seconds between two looks at the fence, and after it in which requests in flight may still end by themselves. In
#: all less than the least session time-out.
LOOK, LATE = 0.2, 1.0

#: Partitions that are loaded at once.
LOADS = 4

#: The part of a worker's memory that one partition may use: few of them are as large as that.
PARTITION = 16


class Divide:
    """How batches are divided by partition. See ``lycosa.cluster.lane.Divide``."""

    def __init__(self, partitions: _core.Partitions) -> None:
        """partitions: of the job."""
        self.split_requests, self.split_outcomes = partitions.split_requests, partitions.split_outcomes

    def join_requests(self, batches: list[Requests]) -> Requests:
        """Return requests as one batch."""
        return _core.join_requests(batches)

    def join_outcomes(self, batches: list[Outcomes]) -> Outcomes:
        """Return outcomes as one batch."""
        return _core.join_outcomes(batches)


def boottime() -> float:
    """Return the time of the clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def work(
    job: Job,
    name: str,
    settings: Connection,
    state: Path,
    control: Control,
) -> Iterator[Outcomes]:
    """Work on a job until ``control`` stops it; yield each batch of outcomes, which will be committed.

    name: of the job. settings: librdkafka's, of the connection. state: a directory that all workers share.
    """
    topics, cluster = Topics(name), job.cluster
    make_topics(connect(settings), topics, cluster.partitions, cluster.replicas)
    agree(job, topics, settings)
    clock, memory = _core.Clock(), shares(job)
    lane_job = divided(job, memory)
    names = _core.Names(lane_job, clock, is_shared=True)
    by = job.frontier.shard_by
    partitions = _core.Partitions(cluster.partitions, by)
    divide, shared = Divide(partitions), shared_clocks(job, clock, cluster.partitions)
    part_job = _part_job(lane_job)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-work-")))
        copier = Copier(SharedSnapshots(state))
        stack.callback(copier.close)
        loads = ThreadPoolExecutor(LOADS, "lycosa-load")
        stack.callback(loads.shutdown, cancel_futures=True)
        broker = KafkaBroker(settings, topics, cluster.session_timeout)
        stack.callback(broker.leave)

        def make(partition: int) -> FrontierPart:
            directory = Path(tempfile.mkdtemp(prefix=f"{partition}-", dir=scratch))
            return FrontierPart(partition, part_job, partitions, by, names, clock, shared, directory, copier)

        member = Member(
            broker,
            make,
            loads.submit,
            boottime,
            partitions=cluster.partitions,
            fence=FENCE,
            interval=cluster.commit_interval,
            snapshots=cluster.snapshot_interval,
        )
        inner = _core.Fetcher(lane_job, clock, memory.fetch, memory.batch)
        stack.callback(inner.cancel)
        parse = _core.Parser(lane_job, memory.batch, memory.decoding)
        frontier, fetch = LaneFrontier(member, divide), CommittedFetch(inner, member, divide, inner.set_fence)
        stages = Stages(cast(Frontier, frontier), fetch, parse, cast(Log, LaneLog(member, divide)))
        member.lane = MemberLane(member, frontier, fetch, stages, clock=boottime, grace=GRACE)

        stack.enter_context(_watched(member, inner))
        stopped_at = float("inf")

        def turn() -> None:
            nonlocal stopped_at
            member.look()
            if control.stopping:
                stopped_at = min(stopped_at, boottime())
                if boottime() > stopped_at + GRACE:
                    inner.cancel()

        yield from run(stages, control, turn)


@contextlib.contextmanager
def _watched(member: Member, fetch: _core.Fetcher) -> Iterator[None]:
    """End what is in flight soon after the fence was passed: others may ask the same sites then.

    On a thread of its own, since the lane may wait for brokers that do not answer.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(LOOK):
            if boottime() > member.ownership.fence() + LATE and fetch.in_flight() > 0:
                fetch.cancel()

    thread = threading.Thread(target=watch, name="lycosa-fence", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _part_job(job: Job) -> Job:
    """The job of one partition: its part of a lane's memory."""
    frontier = job.frontier
    parts = {
        name: max(getattr(frontier, name) // PARTITION, 1 << 20)
        for name in ("seen_memory", "queue_memory", "cookie_memory")
    }
    parts |= {
        name: max(given // PARTITION, 1_000)
        for name in ("max_hosts", "warm_hosts")
        if (given := getattr(frontier, name)) is not None
    }
    return job.model_copy(update={"frontier": frontier.model_copy(update=parts)})
