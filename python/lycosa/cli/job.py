"""``lycosa job``: shows, prunes, exports and imports job directories."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli import job_cluster, job_transfer
from lycosa.cli.told import TELL
from lycosa.errors import SettingError
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.job import Job
    from lycosa.sink import Sink
    from lycosa.store.directory import JobDirectory

DESCRIPTION = "A job directory has everything that a crawl needs to resume; `lycosa crawl --dir DIR` creates one."


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "job", help="show, export, import or prune a job directory; print a job file", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    show = actions.add_parser(
        "show",
        help="show what is in a job directory",
        description="Shows the job, whether it runs, what it recorded, how far its outputs are. Changes nothing.",
    )
    show.add_argument("dir", metavar="DIR", help="the job directory")
    show.add_argument("--json", action="store_true", help="as one JSON object")
    show.set_defaults(run=run_show)

    template = actions.add_parser(
        "template",
        help="print a job file with every key",
        description="Prints a job file (TOML) with every key as a comment: its meaning, its limits, its default.",
    )
    template.set_defaults(run=run_template)

    job_transfer.add_actions(actions)
    job_cluster.add_actions(actions)
    prune = actions.add_parser(
        "prune",
        help="remove files of the log that are not needed any more",
        description="Removes files of the log that all outputs and two snapshots have passed. A running crawl does "
        "this by itself unless store.retain is all.",
    )
    prune.add_argument("dir", metavar="DIR", help="the job directory")
    prune.add_argument("--torn", action="store_true", help="also remove torn ends of the log from crashes")
    prune.set_defaults(run=run_prune)


def existing(path: str) -> JobDirectory:
    """Return an existing job directory; raises SettingError if there is none."""
    from lycosa.store.directory import JobDirectory

    directory = JobDirectory(Path(path))
    if not directory.exists():
        raise SettingError("DIR", path, "a job directory, as lycosa crawl --dir creates it")
    return directory


def settings_of(directory: JobDirectory) -> Job:
    """Return the recorded settings, or the defaults if none were recorded."""
    from lycosa.job import make_job

    record = directory.read()
    return make_job(record.settings if record is not None else {})


def sinks_of(directory: JobDirectory) -> list[Sink]:
    """Return the sinks of the recorded outputs, not opened."""
    from lycosa.assemble import recorded_sinks

    record = directory.read()
    if record is None:
        return []
    return recorded_sinks(directory, settings_of(directory), record.outputs, record.id)


def run_show(args: argparse.Namespace) -> int:
    """Show."""
    from lycosa.store.overview import overview

    directory, told = existing(args.dir), time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL:
            told = time.monotonic()
            print(f"lycosa: reading the log: {100 * done // max(total, 1)} %", file=sys.stderr, flush=True)

    found = overview(directory, sinks_of(directory), progress)
    if args.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        from lycosa.cli.job_table import print_job

        print_job(found)
    return 0


def run_template(args: argparse.Namespace) -> int:
    """Print a job file."""
    from lycosa.reference import template

    print(template(), end="")
    return 0


def run_prune(args: argparse.Namespace) -> int:
    """Prune."""
    from lycosa.assemble import open_log

    directory = existing(args.dir)
    sinks = sinks_of(directory)
    log = open_log(settings_of(directory), directory)
    before = sum(_size(path) for path in directory.segments())
    removed = log.retain(directory.passed(sink.committed() or 0 for sink in sinks))
    freed = before - sum(_size(path) for path in directory.segments())
    print(
        f"{args.dir}: {counted(removed, 'file')} of the log removed, {freed / 1e6:,.1f} MB{_held(directory, sinks)}"
    )
    if args.torn:
        torn = directory.torn()
        freed = sum(_size(path) for path in torn)
        for path in torn:
            path.unlink()
        print(f"{args.dir}: {counted(len(torn), 'torn piece')} removed, {freed / 1e6:,.1f} MB")
    return 0


def _held(directory: JobDirectory, sinks: list[Sink]) -> str:
    """Describe what needs the rest of the log, as the end of a line."""
    snapshots = directory.snapshot_positions()
    if len(snapshots) < 2:
        return "; all of it is needed until there are two snapshots"
    behind = [sink.url for sink in sinks if (sink.committed() or 0) < snapshots[-2]]
    return f"; the rest is needed by {', '.join(behind) or 'the snapshots'}"


def _size(path: Path) -> int:
    """Return a file's size; 0 if it does not exist (any more)."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
