"""``lycosa job``: what is in a job directory, and taking its log along."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.told import TELL, watched
from lycosa.errors import SettingError

if TYPE_CHECKING:
    from lycosa.job import Job
    from lycosa.stages import Sink
    from lycosa.store.directory import JobDirectory

DESCRIPTION = """\
A job directory holds everything that a crawl needs to go on; `lycosa crawl --dir DIR` makes one.
"""


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "job", help="show, export, import or prune a job directory", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    show = actions.add_parser(
        "show",
        help="what is in a job directory",
        description="Shows which job it is, whether it runs, what it recorded, how far outputs are. Changes nothing.",
    )
    show.add_argument("dir", metavar="DIR", help="the job directory")
    show.add_argument("--json", action="store_true", help="as one JSON object")
    show.set_defaults(run=run_show)

    export = actions.add_parser(
        "export",
        help="write the log as JSON lines",
        description="Writes every record of the log, one JSON object a line. What is damaged is skipped and counted: "
        "works on whatever can still be read. The exit status is 1 when something was skipped.",
    )
    export.add_argument("dir", metavar="DIR", help="the job directory")
    export.add_argument("file", metavar="FILE", help="the file to write; one that ends in .gz is compressed")
    export.set_defaults(run=run_export)

    import_ = actions.add_parser(
        "import",
        help="make a job directory of an exported log",
        description="Makes a job directory of what `lycosa job export` wrote; `lycosa crawl --dir DIR` goes on.",
    )
    import_.add_argument("file", metavar="FILE", help="the file to read")
    import_.add_argument("dir", metavar="DIR", help="the job directory to make")
    import_.set_defaults(run=run_import)

    prune = actions.add_parser(
        "prune",
        help="remove files of the log that nobody needs any more",
        description="Removes files of the log that all outputs and two snapshots have passed. A running crawl does "
        "it by itself unless store.retain is all.",
    )
    prune.add_argument("dir", metavar="DIR", help="the job directory")
    prune.add_argument("--torn", action="store_true", help="also what crashes left unfinished at the log's end")
    prune.set_defaults(run=run_prune)


def existing(path: str) -> JobDirectory:
    """A job directory that is there; raises SettingError for another place."""
    from lycosa.store.directory import JobDirectory

    directory = JobDirectory(Path(path))
    if not directory.exists():
        raise SettingError("DIR", path, "a job directory, as lycosa crawl --dir makes it")
    return directory


def settings_of(directory: JobDirectory) -> Job:
    """The recorded settings; the defaults where none were recorded."""
    from lycosa.job import make_job

    record = directory.read()
    return make_job(record.settings if record is not None else {})


def sinks_of(directory: JobDirectory) -> list[tuple[str, Sink]]:
    """The recorded outputs and their sinks, not opened."""
    from lycosa.assemble import make_sink

    record = directory.read()
    if record is None:
        return []
    job, outputs = settings_of(directory), [directory.output(name) for name in record.outputs]
    return [(output, make_sink(output, job, directory, record.id)) for output in outputs]


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


def run_export(args: argparse.Namespace) -> int:
    """Export; the exit status is 1 when something was skipped."""
    from lycosa import _core
    from lycosa.store.directory import JobDirectory

    directory, file = JobDirectory(Path(args.dir)), Path(args.file)
    if not directory.segments():
        raise SettingError("DIR", args.dir, "a job directory with a log, as lycosa crawl --dir makes it")
    if file.exists():
        raise SettingError("FILE", file, "a file that does not exist yet")
    if not file.absolute().parent.is_dir():
        raise SettingError("FILE", file, "a file in a directory that exists")
    unfinished = file.with_name(f"part-{file.name}")
    try:
        found = watched(
            "exporting",
            lambda: _core.export_log(directory.log, str(unfinished)),
            lambda: f"{_size(unfinished) / 1e6:,.0f} MB written",
        )
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    skipped = found["skipped"]
    print(f"{file}: {found['entries']:,} records" + (f"; {skipped:,} damaged bytes skipped" if skipped else ""))
    return 1 if skipped else 0


def run_import(args: argparse.Namespace) -> int:
    """Import."""
    from lycosa import _core
    from lycosa.store.directory import JobDirectory

    directory, file = JobDirectory(Path(args.dir)), Path(args.file)
    if not file.is_file():
        raise SettingError("FILE", file, "a file that lycosa job export wrote")
    if directory.exists() or directory.segments():
        raise SettingError("DIR", args.dir, "a directory without a job")
    found = watched(
        "importing",
        lambda: _core.import_log(str(file), directory.log),
        lambda: f"{sum(_size(path) for path in directory.segments()) / 1e6:,.0f} MB of log written",
    )
    print(f"{args.dir}: {found['entries']:,} records; lycosa crawl --dir {args.dir} goes on")
    return 0


def run_prune(args: argparse.Namespace) -> int:
    """Prune."""
    from lycosa.assemble import open_log

    directory = existing(args.dir)
    sinks = sinks_of(directory)
    log = open_log(settings_of(directory), directory)
    before = sum(_size(path) for path in directory.segments())
    removed = log.retain(directory.passed(sink.committed() or 0 for _, sink in sinks))
    freed = before - sum(_size(path) for path in directory.segments())
    print(f"{args.dir}: {removed} files of the log removed, {freed / 1e6:,.1f} MB{_held(directory, sinks)}")
    if args.torn:
        torn = directory.torn()
        freed = sum(_size(path) for path in torn)
        for path in torn:
            path.unlink()
        print(f"{args.dir}: {len(torn)} torn pieces removed, {freed / 1e6:,.1f} MB")
    return 0


def _held(directory: JobDirectory, sinks: list[tuple[str, Sink]]) -> str:
    """What needs the rest of the log, as the end of a line."""
    snapshots = directory.snapshot_positions()
    if len(snapshots) < 2:
        return "; all of it is needed until there are two snapshots"
    behind = [output for output, sink in sinks if (sink.committed() or 0) < snapshots[-2]]
    return f"; the rest is needed by {', '.join(behind) or 'the snapshots'}"


def _size(path: Path) -> int:
    """A file's bytes; 0 where it is not there yet, or not any more."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
