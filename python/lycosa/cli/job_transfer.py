"""``lycosa job export`` and ``import``: a job as JSON lines, also to recover what is readable of a damaged one."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from lycosa.cli import job_cluster_transfer
from lycosa.cli.job_arguments import add_job_arguments
from lycosa.cli.job_cluster_transfer import settings_file
from lycosa.cli.told import watched
from lycosa.errors import SettingError, StorageError
from lycosa.store.directory import JobDirectory, Record
from lycosa.words import counted


def add_actions(actions: Any) -> None:
    """Register the two actions."""
    export = actions.add_parser(
        "export",
        help="write the log as JSON lines",
        description="Writes every record of the log, one JSON object per line, and the settings to FILE.job.json. "
        "Damaged bytes are skipped and counted; everything that is readable is exported. The exit status is 1 if "
        "something was skipped. With --name, a job of a cluster, without the bodies of its pages, once its workers "
        "have ended.",
    )
    export.add_argument("dir", metavar="DIR", nargs="?", help="the job directory")
    export.add_argument("file", metavar="FILE", help="the file to write; one that ends in .gz is compressed")
    job_cluster_transfer.add_cluster(export, "export")
    export.set_defaults(run=run_export)

    import_ = actions.add_parser(
        "import",
        help="create a job directory from an exported log",
        description="Creates a job directory from a file of `lycosa job export`, with the settings in FILE.job.json "
        "if that exists; `lycosa crawl --dir DIR` resumes the crawl. With --name, a job of a cluster, which "
        "`lycosa work` goes on with.",
    )
    import_.add_argument("file", metavar="FILE", help="the file to read")
    import_.add_argument("dir", metavar="DIR", nargs="?", help="the job directory to create")
    job_cluster_transfer.add_cluster(import_, "import")
    add_job_arguments(import_, "with --name: settings (TOML), the same for all workers")
    import_.set_defaults(run=run_import)


def run_export(args: argparse.Namespace) -> int:
    """Export; returns 1 if something was skipped."""
    from lycosa import _core

    file = Path(args.file)
    for path in (file, settings_file(file)):
        if path.exists():
            raise SettingError("FILE", path, "a file that does not exist yet")
    if not file.absolute().parent.is_dir():
        raise SettingError("FILE", file, "a file in a directory that exists")
    if job_cluster_transfer.is_cluster(args):
        return job_cluster_transfer.run_export(args, file)
    directory = JobDirectory(Path(args.dir))
    if not directory.segments():
        raise SettingError("DIR", args.dir, "a job directory with a log, as lycosa crawl --dir creates it")
    unfinished = file.with_name(f"part-{file.name}")
    try:
        found = watched(
            "exporting",
            lambda: _core.export_log(directory.log, unfinished),
            lambda: f"{unfinished.stat().st_size / 1e6:,.0f} MB written" if unfinished.exists() else "begins",
        )
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    try:
        if (record := directory.read()) is not None:
            begins = int(min(directory.segments()).stem)
            directory.write(dataclasses.replace(record, begins=begins), settings_file(file))
            if begins > 0:
                text = "the beginning of the log is gone (store.retain): what snapshots alone knew is not exported"
                print(f"lycosa: {text}", file=sys.stderr)
    except StorageError as error:
        print(f"lycosa: without its settings: {error}", file=sys.stderr)
    return job_cluster_transfer.exported(file, found)


def run_import(args: argparse.Namespace) -> int:
    """Import; returns 1 if the file was cut off."""
    from lycosa import _core

    file = Path(args.file)
    if not file.is_file():
        raise SettingError("FILE", file, "a file that lycosa job export wrote")
    if job_cluster_transfer.is_cluster(args):
        return job_cluster_transfer.run_import(args, file)
    directory = JobDirectory(Path(args.dir))
    if directory.exists() or directory.segments():
        raise SettingError("DIR", args.dir, "a directory without a job")
    settings = directory.read(settings_file(file))
    found = watched(
        "importing",
        lambda: _core.import_log(file, directory.log),
        lambda: f"{sum(path.stat().st_size for path in directory.segments()) / 1e6:,.0f} MB of log written",
    )
    how = f"lycosa crawl --dir {args.dir} resumes the crawl"
    if settings is None:
        how = f"{settings_file(file)} is missing: give lycosa crawl --dir {args.dir} the seeds and settings again"
    else:
        # A new id, since positions differ: outputs of the old job do not belong to this one.
        record = Record.make(settings.settings, ())
        directory.write(dataclasses.replace(record, created=settings.created))
    cut = "" if found["complete"] else "; the file was cut off: its end is missing"
    print(f"{args.dir}: {counted(found['entries'], 'record')}{cut}; {how}")
    return 0 if found["complete"] else 1
