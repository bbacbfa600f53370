"""``lycosa job export --name`` and ``import --name``: a job of a cluster as JSON lines."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lycosa.cli.told import watched
from lycosa.cli.work import add_kafka, kafka_of
from lycosa.errors import SettingError
from lycosa.words import counted


def add_cluster(parser: argparse.ArgumentParser, action: str) -> None:
    """Add the options of a job of a cluster."""
    parser.add_argument("--name", metavar="NAME", help=f"{action} the job of a cluster that has this name")
    text = "with --name: the directory of snapshots, which all workers share"
    parser.add_argument("--state", metavar="DIR", type=Path, help=text)
    add_kafka(parser, is_required=False)


def is_cluster(args: argparse.Namespace) -> bool:
    """Whether a job of a cluster is meant. Raises SettingError if it is not clear, or something is missing."""
    if args.name is None:
        if args.dir is None:
            raise _missing("DIR", "a job directory; or --name, --kafka and --state of a job of a cluster")
        return False
    if args.dir is not None:
        raise SettingError("DIR", args.dir, "none with --name")
    if args.kafka is None:
        raise _missing("--kafka", "brokers, with --name")
    if args.state is None:
        raise _missing("--state", "the directory that all workers share, with --name")
    if not args.state.is_dir():
        raise SettingError("--state", args.state, "the directory that all workers share")
    return True


def run_export(args: argparse.Namespace, file: Path) -> int:
    """Export; returns 1 if something was skipped."""
    settings = kafka_of(args)
    from lycosa.cluster.transfer import export_job
    from lycosa.store.directory import JobDirectory, Record

    unfinished = file.with_name(f"part-{file.name}")
    try:
        found = watched(
            "exporting",
            lambda: export_job(unfinished, args.name, settings, args.state),
            lambda: f"{unfinished.stat().st_size / 1e6:,.0f} MB written" if unfinished.exists() else "reads journals",
        )
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    JobDirectory(file.parent).write(Record.make(found["settings"], ()), settings_file(file))
    return exported(file, found)


def run_import(args: argparse.Namespace, file: Path) -> int:
    """Import; returns the exit status."""
    from lycosa.cli.job_arguments import given_settings
    from lycosa.job import make_job
    from lycosa.store.directory import JobDirectory

    if args.job is None:
        raise _missing("--job", "the job file that all workers are given, with --name")
    job = make_job(given_settings(args))
    job.check_contact()
    recorded = JobDirectory(file.parent).read(settings_file(file))
    if recorded is not None:
        if recorded.begins > 0:
            raise SettingError("FILE", file, "a whole log: the beginning of this one was removed (store.retain)")
        _check(make_job(recorded.settings), job)
    settings = kafka_of(args)
    from lycosa.cluster.transfer import Importing, import_job

    importing = Importing()
    count = watched(
        "importing", lambda: import_job(file, job, args.name, settings, args.state, importing), lambda: importing.text
    )
    print(f"job {args.name}: {counted(count, 'record')}; lycosa work --name {args.name} goes on with it")
    return 0


def exported(file: Path, found: Mapping[str, Any]) -> int:
    """Print what was exported; returns 1 if something was skipped."""
    skipped = found["skipped"]
    print(
        f"{file}: {counted(found['entries'], 'record')}"
        + (f"; {counted(skipped, 'damaged byte')} skipped" if skipped else "")
    )
    return 1 if skipped else 0


def settings_file(file: Path) -> Path:
    """Return the path of an export's settings."""
    return file.with_name(f"{file.name}.job.json")


def _missing(name: str, what: str) -> SettingError:
    """The error that an argument is missing."""
    return SettingError(name, None, what, f"{name} is missing: {what}")


def _check(recorded: Any, job: Any) -> None:
    """Raise SettingError if a setting differs that is fixed for the life of a job."""
    from lycosa.resume import differences

    # Of a cluster alone, and how a machine is used.
    own = {"cluster": job.cluster, "frontier": recorded.frontier.model_copy(update={"shards": job.frontier.shards})}
    differences(recorded.model_copy(update=own | {"seeds": job.seeds}), job)
