"""``lycosa job export`` and ``import``: a job as JSON lines, also to recover what is readable of a damaged one."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Any

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
        "something was skipped.",
    )
    export.add_argument("dir", metavar="DIR", help="the job directory")
    export.add_argument("file", metavar="FILE", help="the file to write; one that ends in .gz is compressed")
    export.set_defaults(run=run_export)

    import_ = actions.add_parser(
        "import",
        help="create a job directory from an exported log",
        description="Creates a job directory from a file of `lycosa job export`, with the settings in FILE.job.json "
        "if that exists; `lycosa crawl --dir DIR` resumes the crawl.",
    )
    import_.add_argument("file", metavar="FILE", help="the file to read")
    import_.add_argument("dir", metavar="DIR", help="the job directory to create")
    import_.set_defaults(run=run_import)


def run_export(args: argparse.Namespace) -> int:
    """Export; returns 1 if something was skipped."""
    from lycosa import _core

    directory, file = JobDirectory(Path(args.dir)), Path(args.file)
    if not directory.segments():
        raise SettingError("DIR", args.dir, "a job directory with a log, as lycosa crawl --dir creates it")
    for path in (file, _settings_file(file)):
        if path.exists():
            raise SettingError("FILE", path, "a file that does not exist yet")
    if not file.absolute().parent.is_dir():
        raise SettingError("FILE", file, "a file in a directory that exists")
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
        if directory.read() is not None:
            shutil.copyfile(directory.record_file, _settings_file(file))
    except StorageError as error:
        print(f"lycosa: without its settings: {error}", file=sys.stderr)
    skipped = found["skipped"]
    print(
        f"{file}: {counted(found['entries'], 'record')}"
        + (f"; {counted(skipped, 'damaged byte')} skipped" if skipped else "")
    )
    return 1 if skipped else 0


def run_import(args: argparse.Namespace) -> int:
    """Import; returns 1 if the file was cut off."""
    from lycosa import _core

    directory, file = JobDirectory(Path(args.dir)), Path(args.file)
    if not file.is_file():
        raise SettingError("FILE", file, "a file that lycosa job export wrote")
    if directory.exists() or directory.segments():
        raise SettingError("DIR", args.dir, "a directory without a job")
    settings = directory.read(_settings_file(file))
    found = watched(
        "importing",
        lambda: _core.import_log(file, directory.log),
        lambda: f"{sum(path.stat().st_size for path in directory.segments()) / 1e6:,.0f} MB of log written",
    )
    how = f"lycosa crawl --dir {args.dir} resumes the crawl"
    if settings is None:
        how = f"{_settings_file(file)} is missing: give lycosa crawl --dir {args.dir} the seeds and settings again"
    else:
        # A new id, since positions differ: outputs of the old job do not belong to this one.
        record = Record.make(settings.settings, ())
        directory.write(dataclasses.replace(record, created=settings.created))
    cut = "" if found["complete"] else "; the file was cut off: its end is missing"
    print(f"{args.dir}: {counted(found['entries'], 'record')}{cut}; {how}")
    return 0 if found["complete"] else 1


def _settings_file(file: Path) -> Path:
    """Return the path of an export's settings."""
    return file.with_name(f"{file.name}.job.json")
