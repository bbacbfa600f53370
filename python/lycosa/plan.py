"""What a crawl is going to do and where, checked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.assemble import attach_sink, make_sink, recorded_sink, recorded_sinks
from lycosa.errors import SettingError
from lycosa.job import Job, make_job, merge
from lycosa.kinds import retried
from lycosa.memory import check_bodies
from lycosa.records import Request
from lycosa.resume import differences
from lycosa.sink import Sink
from lycosa.store.directory import JobDirectory, Record
from lycosa.store.file_sink import check_writable


@dataclass(frozen=True, slots=True)
class Plan:
    """A crawl that may begin or go on."""

    job: Job
    seeds: list[str]  # canonical
    again: list[str | Request]  # of what was given, what is to be fetched even where it has been
    retry_failed: list[str]  # kinds of failures whose URLs are to be fetched again
    outputs: list[Sink]  # that the session writes
    unwritten: list[Sink]  # recorded ones that it does not write, and that stay recorded
    directory: JobDirectory | None  # default: a temporary one
    fresh: bool
    record: Record | None  # what the crawl that is gone on with recorded
    differences: list[str]  # from the record, for people
    requests: list[Request] = field(default_factory=list)  # all seeds that were given, where one has more than a URL
    streams: bool = False  # whether outcomes are given to standard output, too


def make_plan(
    settings: dict[str, Any],
    *,
    seeds: Sequence[str | Request] = (),
    whole: bool,
    directory: Path | None,
    outputs: Sequence[str | Path | Sink] | None,
    fresh: bool,
    retry_failed: bool | str | Sequence[str] = False,
) -> Plan:
    """Check everything that can be checked without writing.

    settings: what was given; laid over the recorded settings of a crawl that is gone on with, unless it is ``whole``:
        a job file says everything, and what it does not say has its default.
    seeds: what was given beside them: they take the place of a job file's, and are added to recorded ones.
    outputs: default: those that were recorded. An empty list: none in this session; those that were recorded stay so,
        and the next session brings them up to date.
    fresh: start over; without seeds and job file, with all that was recorded.
    retry_failed: as `lycosa.kinds.retried` takes it.

    Raises SettingError for what is not allowed, StorageError for a directory that cannot be gone on with.
    """
    if directory is not None and directory.exists() and not directory.is_dir():
        raise SettingError("directory", directory, "a directory")
    place = None if directory is None else JobDirectory(directory)
    over = fresh and (whole or bool(seeds) or "seeds" in settings)
    record = None if place is None or over else place.read()
    kinds = retried(retry_failed)
    if kinds and (record is None or fresh):
        raise SettingError(
            "directory", directory or "", "with retry_failed: the directory of a crawl that is gone on with"
        )
    if directory is not None and record is None and not seeds and "seeds" not in settings:
        raise SettingError(
            "directory", directory, "the directory of a crawl to go on with, or one with seeds or a job"
        )
    with_more = any(isinstance(seed, Request) for seed in seeds)
    requests = [seed if isinstance(seed, Request) else Request(seed) for seed in seeds] if with_more else []
    urls = [seed.url if isinstance(seed, Request) else seed for seed in seeds]
    if record is not None:
        settings = settings if whole else merge(record.settings, settings)
    known = [] if record is None or fresh else list(record.settings.get("seeds", []))
    if urls:
        settings = {**settings, "seeds": [*known, *urls]}
    job = make_job(settings)
    goes_on = None if fresh else record
    before: list[Sink] = []
    sinks = [make_sink(output) for output in outputs or ()]
    if place is not None and record is not None:
        before = recorded_sinks(place, job, record.outputs, record.id)
        if outputs is None:
            sinks = [recorded_sink(place, name) for name in record.outputs]
    unwritten = [] if outputs is None or sinks else before
    for sink in sinks:
        attach_sink(sink, job, place, "" if goes_on is None else goes_on.id)
    lines = differences(make_job(record.settings), job) if record is not None and not fresh else []
    if place is not None and record is not None and not fresh:
        lines += _output_lines(record, before, sinks, unwritten)
    checked = list(dict.fromkeys(job.checked_seeds()))
    given = {_core.canonical_url(seed) for seed in seeds if isinstance(seed, str)}
    again: list[str | Request] = [seed for seed in checked if seed in given]
    again += [seed for seed in seeds if isinstance(seed, Request)]
    plan = Plan(job, checked, again, kinds, sinks, unwritten, place, fresh, goes_on, lines, requests)
    _check_places(plan)
    if job.politeness.block_list is not None:
        _core.check_block_list(job.politeness.block_list)
    job.check_contact()
    check_bodies(job)
    return plan


def _output_lines(record: Record, before: list[Sink], sinks: list[Sink], unwritten: list[Sink]) -> list[str]:
    """What differs from the recorded outputs, for people."""
    if unwritten:
        told = "not written in this session; the next one that writes it brings it up to date"
        return [f"output: {', '.join(sink.url for sink in unwritten)}: {told}"]
    if [sink.job.name for sink in sinks] == list(record.outputs):
        return []
    old, new = (", ".join(sink.url for sink in each) or "none" for each in (before, sinks))
    return [f"output: {old} → {new}"]


def _check_places(plan: Plan) -> None:
    """Refuse places that cannot be written, or that hold something of others."""
    place = plan.directory
    if place is not None:
        check_writable("directory", place.path)
        if plan.fresh and place.writer() is not None:
            raise place.in_use()
    urls = [sink.url for sink in plan.outputs]
    for sink in plan.outputs:
        if urls.count(sink.url) > 1:
            raise SettingError("output", sink.url, "each output once")
        sink.check(fresh=plan.fresh, is_ours=_is_ours(plan, sink))


def _is_ours(plan: Plan, sink: Sink) -> bool:
    """Whether what stands in an output's place may be this crawl's."""
    place, record = plan.directory, plan.record
    if place is None:
        return False
    if record is None:
        # Logs of before there were records: their outputs were written again.
        return place.has_records()
    return sink.job.name in record.outputs or sink.committed() is not None
