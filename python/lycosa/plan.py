"""What a crawl is going to do and where, checked before anything is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.assemble import check_output, make_sink
from lycosa.errors import SettingError
from lycosa.job import Job, make_job, merge
from lycosa.kinds import retried
from lycosa.memory import check_bodies
from lycosa.resume import differences
from lycosa.store.directory import JobDirectory, Record


@dataclass(frozen=True, slots=True)
class Plan:
    """A crawl that may begin or go on."""

    job: Job
    seeds: list[str]  # canonical
    again: list[str]  # of these, those that are to be fetched even where they have been
    retry_failed: list[str]  # kinds of failures whose URLs are to be fetched again
    outputs: list[str]  # that the session writes
    unwritten: list[str]  # recorded ones that it does not write, and that stay recorded
    directory: JobDirectory | None  # default: a temporary one
    fresh: bool
    record: Record | None  # what the crawl that is gone on with recorded
    differences: list[str]  # from the record, for people
    streams: bool = False  # whether rows are given to standard output, too


def make_plan(
    settings: dict[str, Any],
    *,
    seeds: Sequence[str] = (),
    whole: bool,
    directory: Path | None,
    outputs: list[str] | None,
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
    lines: list[str] = []
    before: list[str] = []
    unwritten: list[str] = []
    if place is not None and record is not None:
        before = [place.output(name) for name in record.outputs]
        outputs, unwritten = (before, []) if outputs is None else (outputs, [] if outputs else before)
        settings = settings if whole else merge(record.settings, settings)
    known = [] if record is None or fresh else list(record.settings.get("seeds", []))
    if seeds:
        settings = {**settings, "seeds": [*known, *seeds]}
    job = make_job(settings)
    if place is not None and record is not None and not fresh:
        lines = differences(make_job(record.settings), job)
        if unwritten:
            told = "not written in this session; the next one that names no output brings it up to date"
            lines.append(f"output: {', '.join(unwritten)}: {told}")
        elif [place.named(output) for output in outputs or []] != list(record.outputs):
            lines.append(f"output: {', '.join(before) or 'none'} → {', '.join(outputs or []) or 'none'}")
    checked = list(dict.fromkeys(job.checked_seeds()))
    given = set(make_job({"seeds": seeds}).checked_seeds()) if seeds else set()
    again = [seed for seed in checked if seed in given]
    goes_on = None if fresh else record
    plan = Plan(job, checked, again, kinds, outputs or [], unwritten, place, fresh, goes_on, lines)
    _check_places(plan)
    if job.politeness.block_list is not None:
        _core.check_block_list(job.politeness.block_list)
    job.check_contact()
    check_bodies(job)
    return plan


def _check_places(plan: Plan) -> None:
    """Refuse places that cannot be written, or that hold something of others."""
    place = plan.directory
    if place is not None:
        _check_writable("directory", place.path)
        if plan.fresh and place.writer() is not None:
            raise place.in_use()
    for output in plan.outputs:
        path = Path(output)
        check_output(output)
        if plan.outputs.count(output) > 1:
            raise SettingError("output", output, "each output once")
        if output.endswith("/"):
            if path.exists() and not path.is_dir():
                raise SettingError("output", output, "a directory, since it ends in /")
        elif path.is_dir():
            raise SettingError("output", output, "a file; a directory of Parquet files is given with / at its end")
        if _is_taken(path, output, plan):
            raise SettingError("output", output, "a file that does not exist yet, or fresh to replace it")
        if not path.parent.is_dir() and (place is None or path.parent != place.path):
            raise SettingError("output", output, "a file in a directory that exists")
        _check_writable("output", path)


def _is_taken(path: Path, output: str, plan: Plan) -> bool:
    """Whether something stands in an output's place that is not this crawl's."""
    if plan.fresh or not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return False
    place, record = plan.directory, plan.record
    if place is None:
        return True
    if record is None:
        # Logs of before there were records: their outputs were written again.
        return not place.has_records()
    return (
        place.named(output) not in record.outputs
        and make_sink(output, plan.job, place, record.id).committed() is None
    )


def _check_writable(name: str, path: Path) -> None:
    """Refuse a path whose nearest existing part cannot be written to."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        raise SettingError(name, path, "a place that can be written to")
