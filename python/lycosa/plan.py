"""The plan of a crawl: what it will do and where, checked before anything is written."""

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
from lycosa.sink import Output, Sink
from lycosa.store.directory import JobDirectory, Record
from lycosa.store.file_sink import check_writable
from lycosa.store.outputs import check_apart


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked crawl, new or resumed."""

    job: Job
    seeds: list[str]  # canonical
    again: list[str | Request]  # given seeds, which are fetched even if they have been before
    retry_failed: list[str]  # kinds of failures whose URLs are fetched again
    outputs: list[Sink]  # written by the session
    unwritten: list[Sink]  # recorded ones that the session does not write, and that stay recorded
    directory: JobDirectory | None  # default: a temporary one
    fresh: bool
    record: Record | None  # of the crawl that is resumed
    differences: list[str]  # from the record, one line each
    requests: list[Request] = field(default_factory=list)  # all given seeds, if one of them has more than a URL
    streams: bool = False  # whether outcomes are also written to standard output


def make_plan(
    settings: dict[str, Any],
    *,
    seeds: Sequence[str | Request] = (),
    whole: bool,
    directory: Path | None,
    outputs: Sequence[Output] | None,
    fresh: bool,
    retry_failed: bool | str | Sequence[str] = False,
) -> Plan:
    """Check everything that can be checked without writing.

    settings: the given settings; merged over the recorded settings of a resumed crawl, unless they are ``whole``:
        a job file is complete, its missing keys have their defaults.
    seeds: given in addition to settings: they replace a job file's, and are added to recorded ones.
    outputs: default: the recorded ones. An empty list: none in this session; recorded ones stay recorded,
        and the next session brings them up to date.
    fresh: start over; without seeds and job file, with everything that was recorded.
    retry_failed: as in `lycosa.kinds.retried`.

    Raises SettingError for what is not allowed, StorageError for a directory that cannot be resumed.
    """
    if directory is not None and directory.exists() and not directory.is_dir():
        raise SettingError("directory", directory, "a directory")
    place = None if directory is None else JobDirectory(directory)
    over = fresh and (whole or bool(seeds) or "seeds" in settings)
    record = None if place is None or over else place.read()
    kinds = retried(retry_failed)
    if kinds and (record is None or fresh):
        raise SettingError("directory", directory or "", "with retry_failed: the directory of a crawl to resume")
    if directory is not None and record is None and not seeds and "seeds" not in settings:
        raise SettingError("directory", directory, "the directory of a crawl to resume, or any with seeds or a job")
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
    lines: list[str] = []
    if place is not None and record is not None and not fresh:
        from lycosa.resume import differences  # only to resume

        lines = differences(make_job(record.settings), job) + _output_lines(record, before, sinks, unwritten)
    checked = list(dict.fromkeys(job.checked_seeds()))
    given = {_core.canonical_url(seed) for seed in seeds if isinstance(seed, str)}
    again: list[str | Request] = [seed for seed in checked if seed in given]
    again += [seed for seed in seeds if isinstance(seed, Request)]
    plan = Plan(job, checked, again, kinds, sinks, unwritten, place, fresh, goes_on, lines, requests)
    _check_places(plan)
    if job.politeness.block_list is not None:
        _core.check_block_list(job.politeness.block_list)
    if job.fetch.credentials is not None:
        _core.check_credentials(job.fetch.credentials)
    job.check_contact()
    check_bodies(job)
    return plan


def _output_lines(record: Record, before: list[Sink], sinks: list[Sink], unwritten: list[Sink]) -> list[str]:
    """Return the differences from the recorded outputs, one line each."""
    if unwritten:
        told = "not written in this session; the next one that writes it brings it up to date"
        return [f"output: {', '.join(sink.url for sink in unwritten)}: {told}"]
    if [sink.job.name for sink in sinks] == list(record.outputs):
        return []
    old, new = (", ".join(sink.url for sink in each) or "none" for each in (before, sinks))
    return [f"output: {old} → {new}"]


def _check_places(plan: Plan) -> None:
    """Raise an error if the directory or an output cannot be written, or belongs to something else."""
    place = plan.directory
    if place is not None:
        check_writable("directory", place.path)
        if plan.fresh and place.writer() is not None:
            raise place.in_use()
    check_apart(plan.outputs)
    for sink in plan.outputs:
        sink.check(fresh=plan.fresh, is_ours=_is_ours(plan, sink))


def _is_ours(plan: Plan, sink: Sink) -> bool:
    """Return whether an existing output may be this crawl's."""
    place, record = plan.directory, plan.record
    if place is None:
        return False
    if record is None:
        # A log older than records: its outputs were written again.
        return place.has_records()
    return sink.job.name in record.outputs or sink.committed() is not None
