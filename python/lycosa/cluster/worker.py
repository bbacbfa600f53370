"""A worker: the loop of ``lycosa.loop`` over partitions that Kafka assigns to it. Picks the implementations."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from lycosa import _core
from lycosa.assemble import shared_clocks
from lycosa.cluster.control import jobs_at_work
from lycosa.cluster.frontier_part import Copier, FrontierPart, caps_of, part_job
from lycosa.cluster.kafka import KafkaBroker
from lycosa.cluster.lane import CommittedFetch, LaneFrontier, LaneLog, MemberLane
from lycosa.cluster.loading import Loader
from lycosa.cluster.member import Member
from lycosa.cluster.metrics import WorkerFigures, serve_metrics
from lycosa.cluster.ownership import State
from lycosa.cluster.pausing import Pausing
from lycosa.cluster.prepare import begin_outputs, claim_state, directories_of, prepare
from lycosa.cluster.reading import Connection
from lycosa.cluster.relay import RelayedParse
from lycosa.cluster.relay_topics import ParserChannel
from lycosa.cluster.sending import make_sending
from lycosa.cluster.storage import SharedSnapshots, remove_old_bodies
from lycosa.cluster.topics import STAGE_PARTITIONS, NoBroker, Topics, while_replaced
from lycosa.job import Job
from lycosa.loop import Control, run
from lycosa.memory import divided, shares
from lycosa.records import Outcomes, Requests
from lycosa.running import distance
from lycosa.stages import Fetch, Frontier, Log, Stages

logger = logging.getLogger("lycosa")

#: Seconds after the beginning of a commit in which requests may be started. Commits are far more frequent; a longer
#: time would delay takeovers, a shorter one would stop the crawl where brokers are slow for a moment.
FENCE = 3.0

#: Seconds from one turn of the loop to the next, at least: requests are sent with commits only, so that smaller
#: batches would cost more and gain nothing. Half of the usual interval of commits: what one sends has been answered
#: and recorded when the next one is due.
TURN = 0.05

#: Seconds for which outcomes of partitions that are given back are waited for.
GRACE = 5.0

#: Seconds between two looks at the fence, and after it in which requests in flight may still end by themselves. In
#: all less than the least session time-out.
LOOK, LATE = 0.2, 1.0

#: Partitions that are loaded at once.
LOADS = 4

#: Seconds between two looks for bodies that are not needed any more.
CLEAN = 3_600.0

#: Other jobs that are told, at most.
TOLD = 5

#: Bytes of pages after which a message is complete.
MESSAGE = 1 << 20


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
    outputs: Sequence[str] = (),
    http: str | None = None,
    *,
    parses: bool = True,
) -> Iterator[Outcomes]:
    """Work on a job until ``control`` stops it; yield each batch of outcomes, which will be committed.

    name: of the job. settings: librdkafka's, of the connection. state: a directory that all workers share. outputs:
    see ``OutputDirectory``; of all workers together. http: address and port of metrics and health checks. parses:
    whether responses are parsed here; otherwise by others (``stage_workers.parse_responses``), while some answer.
    """
    topics, cluster, worker = Topics(name), job.cluster, uuid.uuid4().hex[:8]
    directories = directories_of(outputs, job)
    claim_state(topics, settings, state, prepare(job, topics, settings, with_stages=not parses))
    if job.fetch.master is None:
        _tell_others(name, settings)
    clock, memory = _core.Clock(), shares(job)
    lane_job = divided(job, memory)
    names = _core.Names(lane_job, clock, is_shared=True)
    by = job.frontier.shard_by
    partitions = _core.Partitions(cluster.partitions, by)
    divide = Divide(partitions)
    shared = shared_clocks(job, clock, cluster.partitions, shares_pages=False, caps=caps_of(job, 1.0))
    assert shared is not None
    of_part = part_job(lane_job)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-work-")))
        broker = KafkaBroker(settings, topics, cluster.session_timeout)
        broker.check()
        # What is to be kept is not removed behind snapshots.
        copier = Copier(SharedSnapshots(state), None if job.store.retain == "all" else broker.remove)
        stack.callback(copier.close)
        bodies = state / "bodies"
        # Ended once all partitions are given back: what was recorded is released then.
        writers = begin_outputs(stack, job, topics, settings, directories, bodies, worker, scratch)
        page_writer = _core.PageWriter(bodies, worker, cluster.inline_bytes, MESSAGE) if cluster.pages else None
        own_parse = _core.Parser(lane_job, memory.batch, memory.decoding)
        relay = None
        if not parses:
            channel = ParserChannel(settings, topics, worker, STAGE_PARTITIONS)
            stack.callback(channel.close)  # after all partitions are given back
            relay = RelayedParse(own_parse, channel, memory.fetch)
        loads = ThreadPoolExecutor(LOADS, "lycosa-load")
        stack.callback(loads.shutdown, cancel_futures=True)
        cleaner = ThreadPoolExecutor(1, "lycosa-cleaner")
        stack.callback(cleaner.shutdown, cancel_futures=True)
        stack.callback(broker.leave)

        def make(partition: int) -> FrontierPart:
            directory = Path(tempfile.mkdtemp(prefix=f"{partition}-", dir=scratch))
            return FrontierPart(
                partition, of_part, partitions, by, names, clock, shared, directory, copier, page_writer
            )

        member = Member(
            broker,
            Loader(broker, make, loads.submit, boottime),
            boottime,
            partitions=cluster.partitions,
            fence=FENCE,
            interval=cluster.commit_interval,
            snapshots=cluster.snapshot_interval,
            distance=distance(job),
            max_pages=job.max_pages,
        )
        sending = make_sending(lane_job, clock, memory, divide.split_requests)
        inner = sending.fetch
        stack.callback(sending.close)
        if sending.keeper is not None:
            stack.callback(sending.keeper.stop)
            sending.keeper.start()
        frontier = LaneFrontier(member, divide)
        fetch = CommittedFetch(inner, member, divide, sending.set_fence, relay)
        log = cast(Log, LaneLog(member, divide))
        stages = Stages(cast(Frontier, frontier), fetch, relay or own_parse, log)
        member.lane = MemberLane(member, frontier, fetch, stages, clock=boottime, grace=GRACE)

        pausing = stack.enter_context(while_replaced(lambda: Pausing(topics, settings)))
        pausing.start()
        figures = WorkerFigures(name, member, writers, relay)
        if http is not None:
            server = stack.enter_context(serve_metrics(figures, http))
            logger.info("metrics on http://%s", server.address)
        stack.enter_context(_watched(member, inner))
        stopped_at, clean_at, turn_at = float("inf"), float("-inf"), 0.0

        def turn() -> None:
            nonlocal stopped_at, clean_at, turn_at
            time.sleep(max(turn_at - time.monotonic(), 0.0))
            turn_at = time.monotonic() + TURN
            member.is_paused = pausing.is_paused
            member.look()
            figures.look()
            # One worker of the job does it: who owns the first partition.
            if boottime() >= clean_at and member.ownership.state(0) is State.OWNED:
                clean_at = boottime() + CLEAN
                cleaner.submit(remove_old_bodies, bodies, cluster.pages_retention)
            for writer in writers:
                writer.check()
            if control.stopping:
                stopped_at = min(stopped_at, boottime())
                fetch.recall()
                if boottime() > stopped_at + GRACE:
                    inner.cancel()

        with member.dropping():
            yield from run(stages, control, turn)


def _tell_others(name: str, settings: Connection) -> None:
    """Tell which other jobs have workers: these may crawl the same sites."""
    try:
        others = [other for other in jobs_at_work(settings) if other != name]
    except NoBroker as error:
        logger.info("whether others work is not known: %s", error)
        return
    if others:
        text = "other jobs have workers: %s; machines share the clocks of sites by one fetch.master (docs/cluster.md)"
        logger.info(text, ", ".join(others[:TOLD]))


@contextlib.contextmanager
def _watched(member: Member, fetch: Fetch) -> Iterator[None]:
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
