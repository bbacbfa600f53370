"""Creates the stages and sinks of a job: the only file that picks implementations."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from lycosa import _core
from lycosa.checked import checked_stages
from lycosa.errors import SettingError, shown
from lycosa.frontier.shards import Shard, Shards
from lycosa.job import Job
from lycosa.memory import Shares, divided, lane_job, shares
from lycosa.sink import Output, Sink, SinkJob, scheme_of
from lycosa.stages import Change, Fetch, Frontier, Log, Stages
from lycosa.store.directory import JobDirectory
from lycosa.store.outputs import SCHEMES, STORES, sink_of
from lycosa.store.patient import Patience, PatientLog
from lycosa.store.snapshots import Snapshots

if TYPE_CHECKING:
    from lycosa.middleware import Middleware
    from lycosa.observe.traces import Traces
    from lycosa.proxies.keeper import Keeper
    from lycosa.proxies.pool import Pool
    from lycosa.proxies.sources import Source

logger = logging.getLogger("lycosa")

#: The directory of the clocks of all crawls of a machine: a file system in memory.
CLOCKS = Path("/dev/shm")  # noqa: S108  # the file in it has to be the user's own

#: A name of the machine, new with each of its starts.
BOOT = Path("/proc/sys/kernel/random/boot_id")


def open_log(job: Job, directory: JobDirectory) -> _core.Log:
    """Open the log of a job; raises a StorageError if another process has it open or it cannot be read."""
    store = job.store
    limits = (store.segment_bytes, store.commit_bytes, store.commit_interval)
    return _core.Log(directory.log, *limits, directory.failed)


class Clients:
    """The DNS clients of all lanes as one, for reports."""

    def __init__(self, names: Sequence[_core.Names]) -> None:
        """names: one a lane."""
        self._all = names

    @property
    def fallen_back(self) -> str | None:
        """Why a cache is not in its file."""
        return next((why for names in self._all if (why := names.fallen_back)), None)

    def statistics(self) -> dict[str, int]:
        """Counts since the start, summed."""
        every = [names.statistics() for names in self._all]
        return {name: sum(counts[name] for counts in every) for name in every[0]}


class Assembled(NamedTuple):
    """The stages of a crawl, and parts that only the embedded ones have."""

    stages: Stages
    names: Clients
    snapshots: Snapshots
    lanes: list[Stages]  # one for each shard; of a frontier in one piece, the stages themselves
    keeper: Keeper | None  # of the proxies
    traces: Traces | None


def assemble(
    job: Job,
    directory: JobDirectory,
    log: _core.Log,
    patience: Patience,
    change: Change | None,
    middleware: Sequence[Middleware] = (),
    proxies: Source | None = None,
) -> Assembled:
    """The stages of a job, restored from its newest snapshot and the log after it.

    change: replaces embedded stages by others. middleware: sees their requests and outcomes.
    proxies: one more source of proxies.
    """
    lanes = job.frontier.shards
    memory = shares(job).of_lane(lanes)
    divided_job = divided(job, memory) if lanes == 1 else lane_job(job, memory)
    shared = shared_clocks(job, log.clock, lanes)
    names = [_core.Names(divided_job, log.clock) for _ in range(lanes)]
    shards = _shards(divided_job, directory, log, names, shared)
    frontier = cast(Frontier, shards.one or shards)
    pool, keeper = make_proxies(job, proxies)
    table = None if pool is None else pool.table
    made = [
        Stages(
            frontier=frontier if lanes == 1 else cast(Frontier, Shard(name, shards)),
            fetch=make_fetch(divided_job, log.clock, memory, table),
            parse=_core.Parser(divided_job, memory.batch, memory.decoding),
            log=log,
        )
        for name in shards.by_name
    ]
    if pool is not None:
        from lycosa.proxies.stages import with_proxies

        made = with_proxies(made, pool, job.proxies.tries)
    if change is not None:
        made = _changed(made, change)
    if middleware:
        from lycosa.middleware_stages import with_middleware  # only where there is some

        parsers = [_core.Parser(divided_job, memory.batch, memory.decoding) for _ in made]
        made = with_middleware(made, middleware, parsers, job.fetch.total_timeout)
    whole = made[0] if lanes == 1 else _whole(made, frontier)
    snapshots = Snapshots(
        whole.frontier,
        whole.log,
        place=str(directory.path),
        log_bytes=job.frontier.snapshot_bytes,
        seconds=job.frontier.snapshot_interval,
        quiet=shards.gate.closed,
    )
    snapshots.restore()
    patient: Log = PatientLog(whole.log, directory.path, patience)
    made = [replace(stages, log=patient) for stages in made]
    traces = None
    if job.observe.traces is not None and job.observe.trace_share > 0:
        from lycosa.observe.traces import TracedLog, Traces  # only where they are wanted

        traces = Traces(job.observe.traces, job.observe.trace_share, directory.path.name)
        made = [replace(stages, log=cast(Log, TracedLog(patient, stages.turns, traces))) for stages in made]
    whole = made[0] if lanes == 1 else replace(whole, log=patient)
    return Assembled(whole, Clients(names), snapshots, made, keeper, traces)


def make_fetch(job: Job, clock: _core.Clock, memory: Shares, proxies: _core.Proxies | None) -> Fetch:
    """Return the fetch stage of a lane: this process's own, or the download servers of a master.

    proxies: the table of a pool. Raises SettingError.
    """
    if job.fetch.master is None:
        return _core.Fetcher(job, clock, memory.fetch, memory.batch, proxies)
    if proxies is not None:
        raise SettingError("fetch.master", job.fetch.master, "none with proxies: download servers have their own")
    try:
        from lycosa.dispatch.remote import RemoteFetch  # only where it is used
    except ImportError as error:
        allowed = f"none, or the extra lycosa[dispatch] installed ({error.name} is missing)"
        raise SettingError("fetch.master", job.fetch.master, allowed) from None
    return RemoteFetch(
        job.fetch.master,
        job.fetch.service,
        job.fetch.slots,
        ca_file=job.fetch.ca_file,
        certificate=job.fetch.master_certificate,
    )


def make_proxies(job: Job, source: Source | None = None) -> tuple[Pool | None, Keeper | None]:
    """Return the pool of a job's proxies, and what keeps it, once it is started; `None`: there are none.

    source: one more of proxies. Raises SettingError.
    """
    if source is None and not job.proxies.has_source:
        return None, None
    from lycosa.proxies.stages import make_keeper, make_pool  # only where there are some

    pool = make_pool(job)
    return pool, make_keeper(job, pool, source)


def _whole(made: list[Stages], frontier: Frontier) -> Stages:
    """The stages of several lanes as one, for reports and snapshots."""
    from lycosa.lanes import Fetches  # only for shards

    return replace(made[0], frontier=frontier, fetch=cast(Fetch, Fetches(made)))


def clocks_of(job: Job) -> str | None:
    """Return a name of the clocks that a job shares with others of the machine, the same for all that share them.

    `None`: it shares none. To be asked once ``shared_clocks`` has opened them.
    """
    path = job.politeness.clock_file or CLOCKS / f"lycosa-clocks-{os.getuid()}"
    if not job.politeness.share_clocks or (job.politeness.clock_file is None and job.speed != 1):
        return None
    try:
        found, boot = Path(path).stat(), BOOT.read_text().strip()
    except OSError:
        return None
    return hashlib.sha256(f"{boot} {found.st_dev} {found.st_ino}".encode()).hexdigest()


def shared_clocks(
    job: Job,
    clock: _core.Clock,
    shards: int,
    *,
    shares_pages: bool = True,
    caps: tuple[float | None, float | None] | None = None,
) -> _core.Shared | None:
    """The clocks that a crawl shares with others of the machine, or its shards with each other; `None`: none.

    shares_pages: whether ``max_pages`` is of all shards together. caps: over all sites, which the shards share as
    well; `None`: each has its own.
    """

    def make(file: Path | None) -> _core.Shared:
        return _core.Shared(clock, file, shards=shards, shares_pages=shares_pages, caps=caps)

    given = job.politeness.clock_file
    if job.politeness.share_clocks and given is not None:
        return make(given)
    usual = CLOCKS / f"lycosa-clocks-{os.getuid()}"
    if job.politeness.share_clocks and job.speed == 1 and CLOCKS.is_dir():
        try:
            return make(usual)
        except SettingError as error:
            logger.warning("politeness.share_clocks: %s: %s; other crawls are not taken into account", usual, error)
    return make(None) if shards > 1 or caps is not None else None


def _shards(
    job: Job, directory: JobDirectory, log: _core.Log, names: Sequence[_core.Names], shared: _core.Shared | None
) -> Shards:
    """The frontier of a job in its shards; one shard owns all."""
    if len(names) == 1:
        one = _core.Frontier(job, names[0], directory.path, end=log.end(), shared=shared)
        return Shards({"": one}, None, job.frontier.shard_by)
    ring = _core.Ring({str(number): 1.0 for number in range(len(names))})
    shards = {
        name: _core.Frontier(
            job,
            client,
            directory.shard(name),
            end=log.end(),
            ownership=(ring, job.frontier.shard_by, name),
            shared=shared,
        )
        for name, client in zip(map(str, range(len(names))), names, strict=True)
    }
    return Shards(shards, ring, job.frontier.shard_by)


def _changed(made: list[Stages], change: Change) -> list[Stages]:
    """Each lane's stages with those of the user; SettingError where one object would serve several lanes."""
    changed = [change(stages) for stages in made]
    if len(changed) > 1:
        for before, after in zip(made, changed, strict=True):
            if after.frontier is not before.frontier or after.log is not before.log:
                text = "1 with a frontier or a log of your own, since shards share them"
                raise SettingError("frontier.shards", len(changed), text)
        for stage in ("fetch", "parse"):
            if len({id(getattr(stages, stage)) for stages in changed}) < len(changed):
                text = f"1 with one {stage} for all lanes; make a new one in each call of stages="
                raise SettingError("frontier.shards", len(changed), text)
    return [checked_stages(before, after) for before, after in zip(made, changed, strict=True)]


def make_sink(output: Output) -> Sink:
    """Return the sink of an output (see ``lycosa.store.outputs``). Raises SettingError for any other output."""
    if isinstance(output, Sink):
        # By its URL the job's record would take it for one of Lycosa's.
        if scheme_of(output.url) in (*SCHEMES, *STORES) and not type(output).__module__.startswith("lycosa."):
            raise SettingError("output", output.url, "a sink whose URL has a scheme of its own")
        return output
    if callable(output):
        from lycosa.store.called import CalledSink

        return CalledSink(output)
    return sink_of(str(output))


def attach_sink(sink: Sink, job: Job, directory: JobDirectory | None, job_id: str) -> Sink:
    """Set the sink's job; returns the sink."""
    folder = Path() if directory is None else directory.sinks
    name = sink.url if directory is None else recorded_name(sink, directory)
    sink.attach(SinkJob(job_id, folder, name, tuple(job.store.fields)))
    return sink


def recorded_name(sink: Sink, directory: JobDirectory) -> str:
    """Return a sink's name in the job's record: the path of a file, the URL of a database or a custom sink."""
    return directory.named(sink.url) if sink.is_file else sink.url


def recorded_sink(directory: JobDirectory, name: str) -> Sink:
    """Return the sink of a recorded name; raises SettingError for a sink that was given as an object."""
    with contextlib.suppress(SettingError):
        # Recorded paths have no "://", but may begin like a scheme.
        if "://" not in name:
            return sink_of(directory.output(name))
        if scheme_of(name) in (*SCHEMES, *STORES, "file"):
            return sink_of(name)
    text = (
        f"output: {shown(name)} is a custom sink, which only Python can pass again, as output=. Without it the crawl "
        "is resumed with -o none, in Python with output=[]; the sink catches up when it is passed again"
    )
    raise SettingError("output", name, "the same sink again, or none", text)


def recorded_sinks(directory: JobDirectory, job: Job, outputs: Iterable[str], job_id: str) -> list[Sink]:
    """Return the sinks of recorded outputs, not opened; a sink given as an object only has its position."""
    sinks: list[Sink] = []
    for name in outputs:
        try:
            sink = recorded_sink(directory, name)
        except SettingError:
            sink = Sink(name)
        sinks.append(attach_sink(sink, job, directory, job_id))
    return sinks
