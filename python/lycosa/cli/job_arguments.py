"""The settings of a job as arguments of a command: a job file, and what replaces its settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_job_arguments(parser: argparse.ArgumentParser, job: str, is_required: bool = False) -> None:
    """Add --job, whose help is ``job``, --user-agent and --set."""
    add = parser.add_argument
    add("--job", metavar="FILE", required=is_required, help=job)
    add("--user-agent", metavar="TEXT", help="User-Agent header: a product name with a page or an e-mail address")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="any key of the settings; may be repeated")


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that these arguments give; raises SettingError for a file or a setting that is none."""
    from lycosa.cli.crawl import assignment
    from lycosa.job import absolute_paths, merge, read_job

    given = {} if args.job is None else absolute_paths(read_job(Path(args.job), "--job"), Path(args.job).parent)
    for text in args.set:
        given = merge(given, assignment(text))
    if args.user_agent is not None:
        given["user_agent"] = args.user_agent
    return given
