"""From a job to stages and sinks: the only file that picks implementations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lycosa import _core
from lycosa.checked import checked_stages
from lycosa.errors import SettingError, shown
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.sink import Sink, SinkJob, scheme_of
from lycosa.stages import Change, Stages
from lycosa.store.directory import JobDirectory
from lycosa.store.file_sink import FileSink, path_of
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.parquet import ParquetSink
from lycosa.store.patient import Patience, PatientLog
from lycosa.store.snapshots import Snapshots

#: Endings of output files, and what writes them.
FILES: dict[str, type[Sink]] = {".parquet": ParquetSink, ".jsonl": JsonLinesSink, ".ndjson": JsonLinesSink}


def open_log(job: Job, directory: JobDirectory) -> _core.Log:
    """The log of a job; raises a StorageError where another process has it or it cannot be read."""
    store = job.store
    limits = (store.segment_bytes, store.commit_bytes, store.commit_interval)
    return _core.Log(directory.log, *limits, directory.failed)


@dataclass(frozen=True, slots=True)
class Assembled:
    """What a crawl consists of: its stages, and what only the embedded ones have."""

    stages: Stages
    names: _core.Names
    snapshots: Snapshots


def assemble(
    job: Job, directory: JobDirectory, log: _core.Log, patience: Patience, change: Change | None
) -> Assembled:
    """The stages of a job, going on from its newest snapshot and the log after it.

    change: puts others in the place of embedded ones.
    """
    memory = shares(job)
    job = divided(job, memory)
    names = _core.Names(job, log.clock)
    frontier = _core.Frontier(job, names, directory.path, end=log.end())
    fetch = _core.Fetcher(job, log.clock, memory.fetch, memory.batch)
    parse = _core.Parser(job, memory.batch, memory.decoding)
    made = stages = Stages(frontier=frontier, fetch=fetch, parse=parse, log=log)
    if change is not None:
        stages = checked_stages(made, change(made))
    snapshots = Snapshots(
        stages.frontier,
        stages.log,
        place=str(directory.path),
        log_bytes=job.frontier.snapshot_bytes,
        seconds=job.frontier.snapshot_interval,
    )
    snapshots.restore()
    return Assembled(replace(stages, log=PatientLog(stages.log, directory.path, patience)), names, snapshots)


def make_sink(output: str | Path | Sink) -> Sink:
    """The sink of an output: of a path or ``file:`` URL by its ending, with ``/`` at the end a directory of Parquet.

    Raises SettingError for an output that nothing here writes.
    """
    if isinstance(output, Sink):
        return output
    url = str(output)
    if scheme_of(url) not in (None, "file"):
        text = "a path or a file: URL; in Python also an object of a subclass of lycosa.Sink, for any other place"
        raise SettingError("output", url, text)
    kind = ParquetSink if url.endswith("/") else FILES.get(Path(path_of(url)).suffix)
    if kind is None:
        raise SettingError("output", url, f"a file that ends in {', '.join(FILES)}, or a directory that ends in /")
    return kind(url)


def attach_sink(sink: Sink, job: Job, directory: JobDirectory | None, job_id: str) -> Sink:
    """A sink that knows its job."""
    folder = Path() if directory is None else directory.sinks
    name = sink.url if directory is None else recorded_name(sink, directory)
    sink.attach(SinkJob(job_id, folder, name, tuple(job.store.fields)))
    return sink


def recorded_name(sink: Sink, directory: JobDirectory) -> str:
    """What a sink is called in the job's record: a file by its path there, one of somebody's own by its URL."""
    return directory.named(sink.url) if isinstance(sink, FileSink) else sink.url


def recorded_sink(directory: JobDirectory, name: str) -> Sink:
    """The sink of an output by its name in the record; SettingError for one that somebody gave as an object."""
    with contextlib.suppress(SettingError):
        # No file's name has two slashes after a colon: paths are recorded without such.
        if "://" not in name:
            return make_sink(directory.output(name))
    text = (
        f"output: {shown(name)} is a sink of somebody's own, which only Python can give again, as output=. "
        "Without it the crawl goes on with -o none, in Python with output=[]; it catches up when it is given again"
    )
    raise SettingError("output", name, "the same sink again, or none", text)


def recorded_sinks(directory: JobDirectory, job: Job, outputs: Iterable[str], job_id: str) -> list[Sink]:
    """The sinks of recorded outputs, not opened: of one that somebody gave as an object its position is known."""
    sinks: list[Sink] = []
    for name in outputs:
        try:
            sink = recorded_sink(directory, name)
        except SettingError:
            sink = Sink(name)
        sinks.append(attach_sink(sink, job, directory, job_id))
    return sinks
