"""From a job to stages and sinks: the only file that picks implementations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.stages import Sink, Stages
from lycosa.store.directory import JobDirectory
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.parquet import ParquetSink
from lycosa.store.patient import Patience, PatientLog

#: Endings of output files, and what writes them.
SINKS: dict[str, type[JsonLinesSink] | type[ParquetSink]] = {
    ".parquet": ParquetSink,
    ".jsonl": JsonLinesSink,
    ".ndjson": JsonLinesSink,
}


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
    frontier: _core.Frontier
    snapshots: _core.Snapshots


def assemble(job: Job, directory: JobDirectory, log: _core.Log, patience: Patience) -> Assembled:
    """The embedded stages of a job, going on from its newest snapshot and the log after it."""
    memory = shares(job)
    job = divided(job, memory)
    names = _core.Names(job, log.clock)
    frontier = _core.Frontier(job, names, directory.path)
    snapshots = _core.Snapshots(directory.snapshots, log, job)
    snapshots.restore(log, frontier)
    fetch = _core.Fetcher(job, log.clock, memory.fetch, memory.batch)
    parse = _core.Parser(job, memory.batch, memory.decoding)
    patient = PatientLog(log, directory.path, patience)
    stages = Stages(frontier=frontier, fetch=fetch, parse=parse, log=patient)
    return Assembled(stages, names, frontier, snapshots)


def check_output(output: str) -> type[JsonLinesSink] | type[ParquetSink]:
    """The kind of sink for an output, by its ending; raises SettingError where there is none.

    What ends in ``/`` is a directory of Parquet files.
    """
    path = Path(output)
    kind = ParquetSink if output.endswith("/") else SINKS.get(path.suffix)
    if kind is None:
        raise SettingError("output", output, f"a file that ends in {', '.join(SINKS)}, or a directory that ends in /")
    kind.check(path)
    return kind


def make_sink(output: str, job: Job, directory: JobDirectory, job_id: str) -> Sink:
    """The sink for an output."""
    return check_output(output)(output, list(job.store.fields), directory, job_id)
