"""From a job to stages and sinks: the only file that picks implementations."""

from __future__ import annotations

from pathlib import Path

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.job import Job
from lycosa.stages import Sink, Stages
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.parquet import ParquetSink

#: Endings of output files, and what writes them.
SINKS: dict[str, type[JsonLinesSink] | type[ParquetSink]] = {
    ".parquet": ParquetSink,
    ".jsonl": JsonLinesSink,
    ".ndjson": JsonLinesSink,
}


def assemble(job: Job, log_directory: Path) -> tuple[Stages, _core.Names]:
    """The embedded stages of a job, going on from its log, and the DNS client that its frontier asks."""
    log = _core.Log(log_directory, job.store.segment_bytes)
    names = _core.Names(job)
    frontier = _core.Frontier(job, names)
    log.replay(frontier)
    return Stages(frontier=frontier, fetch=_core.Fetcher(job), parse=_core.Parser(job), log=log), names


def check_output(output: Path) -> type[JsonLinesSink] | type[ParquetSink]:
    """The kind of sink for an output file, by its ending; raises SettingError where there is none."""
    kind = SINKS.get(output.suffix)
    if kind is None:
        raise SettingError("output", output, f"a file that ends in {', '.join(SINKS)}")
    kind.check(output)
    return kind


def make_sink(output: Path, job: Job) -> Sink:
    """The sink for an output file."""
    return check_output(output)(output, list(job.store.fields))
