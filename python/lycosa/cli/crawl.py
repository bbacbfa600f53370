"""``lycosa crawl``: crawl from seeds to files."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import signal
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lycosa.cli.told import told
from lycosa.errors import SettingError, StorageFull

if TYPE_CHECKING:
    from lycosa.session import Crawl

#: The exit status after Ctrl-C, as shells have it: 128 + SIGINT.
INTERRUPTED = 130

DESCRIPTION = """\
Crawls from SEED, politely, and writes each URL's outcome to files.

The log of everything that happened is kept in DIR/log; outputs follow it. A crawl that was ended, or that
died, goes on when it is started again with the same DIR: `lycosa crawl --dir DIR` does with its recorded
settings and outputs, and whatever is given beside takes their place; what differs is shown. With --job the
file says everything. Seeds may be added; scope, max_depth and frontier.key stay.

Any key of a job can be given with --set, for example --set politeness.host_interval=2. Ctrl-C once finishes
what is in flight; twice ends at once. A full disk makes the crawl wait. `lycosa job show DIR` tells what is
in DIR, `lycosa why URL DIR` what happened to a URL.
"""


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "crawl",
        help="crawl from seeds to files",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("seeds", nargs="*", metavar="SEED", help="URL to start from; takes the place of the job file's seeds")
    add(
        "-o",
        "--output",
        action="append",
        metavar="OUT",
        help="FILE.parquet, FILE.jsonl, or DIRECTORY/ of Parquet files; may be repeated (default: DIR/pages.parquet)",
    )
    add("--dir", metavar="DIR", help="the job directory (default: crawl-HOST of the first seed)")
    add("--job", metavar="FILE", help="job file (TOML) with any of the settings")
    add("--max-pages", type=int, metavar="N", help="end after N pages (default: no limit)")
    add("--max-depth", type=int, metavar="N", help="follow at most N links from a seed (default: no limit)")
    add("--scope", metavar="SCOPE", help="host, domain (registered domain) or any (default: host)")
    add(
        "--resolver",
        action="append",
        metavar="ADDR",
        help="DNS server, with or without port, or tls://ADDRESS#NAME; may be repeated (default: the system's)",
    )
    add("--user-agent", metavar="TEXT", help="how the crawler introduces itself: with a page or an e-mail address")
    add("--speed", type=float, metavar="K", help="divide every delay by K: for simulated Internets only")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any other key of the job; may be repeated",
    )
    add("--fresh", action="store_true", help="start over; replace an earlier crawl and its outputs")
    add("--quiet", action="store_true", help="show neither progress nor summary")
    add("--report", metavar="FILE", help="write the summary as JSON to FILE (- for standard output)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Crawl; the exit status is 0, 130 after Ctrl-C, 1 when the disk was full at the end."""
    crawl, full = _prepare(args), None
    with told(quiet=args.quiet), _signals(crawl):
        with _progress(crawl, args.quiet):
            try:
                for _ in crawl.batches():
                    pass
            except StorageFull as error:
                full = error
        report = crawl.report()
        if not args.quiet:
            from lycosa.cli.progress import print_summary

            print_summary(report)
        if args.report is not None:
            _write_report(args.report, report)
    if full is not None:
        raise full
    return INTERRUPTED if crawl.control.stopping else 0


def _prepare(args: argparse.Namespace) -> Crawl:
    """Check everything; nothing is written yet."""
    from lycosa.job import merge, read_job
    from lycosa.session import crawl
    from lycosa.store.directory import JobDirectory

    settings: dict[str, Any] = {}
    for key in ("seeds", "max_pages", "max_depth", "scope", "user_agent", "speed"):
        value = getattr(args, key)
        if value is not None and value != []:
            settings[key] = value
    if args.resolver:
        settings = merge(settings, {"names": {"resolvers": args.resolver}})
    for text in args.set:
        settings = merge(settings, _assignment(text))
    if args.dir is not None:
        directory = Path(args.dir)
    else:
        directory = _default_directory(merge(read_job(Path(args.job)) if args.job is not None else {}, settings))
    if args.report not in (None, "-") and not os.access(Path(args.report).absolute().parent, os.W_OK):
        raise SettingError("--report", args.report, "a file in a directory that can be written to")
    record = None if args.fresh else JobDirectory(directory).read()
    recorded = record is not None and record.outputs
    outputs = args.output or (None if recorded else [str(directory / _default_output())])
    return crawl(job=args.job, directory=directory, output=outputs, fresh=args.fresh, **settings)


def _assignment(text: str) -> dict[str, Any]:
    """``a.b=value`` as settings; a value that is no TOML is text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError("--set", text, "KEY=VALUE, such as politeness.host_interval=2")
    for candidate in (value, json.dumps(value)):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"{key} = {candidate}")
    raise SettingError("--set", text, "KEY=VALUE, such as politeness.host_interval=2")


def _default_directory(settings: dict[str, Any]) -> Path:
    """A directory named after the first seed's host."""
    from lycosa.job import make_job

    return Path(f"crawl-{urlsplit(make_job(settings).checked_seeds()[0]).hostname}")


def _default_output() -> str:
    """Parquet where pyarrow is installed."""
    return "pages.parquet" if importlib.util.find_spec("pyarrow") else "pages.jsonl"


@contextlib.contextmanager
def _signals(crawl: Crawl) -> Iterator[None]:
    """Ctrl-C and SIGTERM: once to finish, twice to end at once, three times to die."""

    def handle(_signal: int, _frame: object) -> None:
        if crawl.control.aborting:
            os._exit(INTERRUPTED)
        if crawl.control.stopping:
            crawl.abort()
            return
        crawl.stop()
        print("lycosa: finishing what is in flight; Ctrl-C again to end at once", file=sys.stderr)

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            # A crawl that was told to end has ended: another Ctrl-C must not turn its exit into a traceback.
            signal.signal(number, signal.SIG_IGN if crawl.control.stopping else handler)


def _progress(crawl: Crawl, quiet: bool) -> contextlib.AbstractContextManager[object]:
    """Live progress, unless it is not wanted."""
    if quiet:
        return contextlib.nullcontext()
    from lycosa.cli.progress import Progress

    return Progress(crawl)


def _write_report(where: str, report: dict[str, Any]) -> None:
    """Write the report as JSON."""
    text = json.dumps(report, indent=2) + "\n"
    if where == "-":
        sys.stdout.write(text)
    else:
        Path(where).write_text(text, encoding="utf-8")
