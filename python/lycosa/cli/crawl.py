"""``lycosa crawl``: crawl from seeds to files."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

# Before pydantic is imported: it would read the metadata of all installed packages for plugins, a tenth of the start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from lycosa.cli import RawHelp
from lycosa.cli.status import STATUSES, status_of, status_text
from lycosa.cli.told import JSON, add_log_argument, told
from lycosa.end import NOTHING, PARTIAL, SUSPENDED
from lycosa.errors import SettingError, StorageFull
from lycosa.kinds import choices

if TYPE_CHECKING:
    from lycosa.records import Outcomes
    from lycosa.session import Crawl

#: Output names for standard output, and for no output.
STANDARD, NONE = "-", "none"

DESCRIPTION = """\
Crawls from SEED, politely, and writes each URL's outcome to files.

The log of all requests and outcomes is in DIR/log; outputs follow it. A crawl that was stopped or killed
is resumed with the same DIR: `lycosa crawl --dir DIR` uses its recorded settings and outputs; options
override them, and differences are shown. The value none lifts a limit: --max-pages none. With --job, the
file replaces all recorded settings. A SEED is added to those of the crawl; a known one, done or failed, is
fetched again. --retry-failed fetches failed URLs again. scope, max_depth, frontier.key, frontier.shards and
frontier.shard_by cannot change.
At the end the crawl says why it ended, and how to resume it.

Any key of a job can be given with --set, for example --set politeness.host_interval=2; `lycosa job template`
prints all of them as a job file. Ctrl-C once finishes the requests in flight; twice ends at once. While the
disk is full the crawl waits. `lycosa job show DIR` shows what is in DIR, `lycosa why URL DIR` the history
of a URL.
"""

EPILOG = "exit status:\n" + "\n".join(f"  {status:<4} {meaning}" for status, meaning in STATUSES.items())


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "crawl",
        help="crawl from seeds to files",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawHelp,
    )
    add = parser.add_argument
    add(
        "seeds",
        nargs="*",
        metavar="SEED",
        help="URL to start from; replaces the job file's seeds, is added to those of an existing crawl",
    )
    add(
        "--seeds",
        action="append",
        default=[],
        dest="seed_files",
        metavar="FILE",
        help="more of them: a URL on each line, the URLs of a CDXJ index, of a WARC, WACZ or Parquet file, or - for "
        "standard input; may be repeated",
    )
    add(
        "-o",
        "--output",
        action="append",
        metavar="OUT",
        help="FILE.parquet, .arrows, .jsonl, .csv, .warc.gz, .wet.gz, .wacz, .sqlite or .duckdb; DIRECTORY/ of "
        "Parquet; a URL: postgresql://, s3://, gs://, az://, file:///DIRECTORY/?format=, delta://, grpc:// "
        "(docs/outputs.md); - for JSON lines to standard output; may be repeated; none writes no output in this "
        "session, and recorded ones stay for the next (default: the recorded ones, or DIR/pages.parquet)",
    )
    add("--dir", metavar="DIR", help="the job directory (default: crawl-HOST of the first seed)")
    add("--job", metavar="FILE", help="job file (TOML) with settings")
    add("--max-pages", metavar="N", help="end after N pages in total; none lifts the limit (default: none)")
    add("--max-depth", metavar="N", help="follow at most N links from a seed (default: none)")
    add(
        "--retry-failed",
        nargs="?",
        const=True,
        default=False,
        metavar="KINDS",
        help="fetch failed URLs again: all but those that robots.txt, the block list, a budget, a blocked port or "
        "middleware forbids, or =KINDS: comma-separated names "
        f"and groups of docs/errors.md, such as {', '.join(choices())}",
    )
    add("--scope", metavar="SCOPE", help="host, domain (registered domain) or any (default: host)")
    add(
        "--resolver",
        action="append",
        metavar="ADDR",
        help="DNS server, with or without port, tls://ADDRESS#NAME or https://ADDRESS/PATH#NAME; may be repeated "
        "(default: the system's)",
    )
    add("--user-agent", metavar="TEXT", help="User-Agent header: a product name with a page or an e-mail address")
    add("--speed", type=float, metavar="K", help="divide every delay by K: for simulated Internets only")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any other key of the job; may be repeated",
    )
    add(
        "--fresh",
        action="store_true",
        help="start over and replace the crawl and its outputs; without SEED with the recorded settings",
    )
    add(
        "--quiet",
        action="store_true",
        help="show neither progress nor summary; one line on standard error if the exit status is 3, 4 or 5",
    )
    add_log_argument(add)
    add(
        "--report",
        metavar="FILE",
        help="write the report to FILE, as JSON, or as a page for people if it ends in .html (- for standard output, "
        "as JSON); both are in DIR anyway, as report.json and report.html",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Crawl; returns an exit status of ``lycosa.cli.status``."""
    streams = args.output is not None and STANDARD in args.output
    if streams and args.report == STANDARD:
        raise SettingError("--report", STANDARD, "a file, since the pages go to standard output")
    crawl, full = _prepare(args, streams), None
    directory = crawl.plan.directory
    name = None if directory is None else directory.path.name
    with told(quiet=args.quiet, form=args.log, job=name), _signals(crawl, args.quiet) as signals:
        with _progress(crawl, args.quiet or args.log == JSON):
            try:
                for batch in crawl.batches():
                    if streams and not _stream(batch, crawl):
                        signals.append(signal.SIGPIPE)
                        streams = False
            except StorageFull as error:
                full = error
        report, ended_by = crawl.report(), signals[0] if signals and full is None else None
        if full is not None and not report:
            raise full  # before the crawl started
        told_status = status_text(report, ended_by)
        if not args.quiet:
            from lycosa.cli.progress import print_summary

            print_summary(report, told_status, to_standard=not streams and args.report != STANDARD)
        elif status_of(report, ended_by) in (PARTIAL, NOTHING, SUSPENDED):
            print(f"lycosa: {report['end']['text']}; {told_status}", file=sys.stderr)
        if args.report is not None:
            _write_report(args.report, report)
    if full is not None:
        raise full
    return status_of(report, ended_by)


def _stream(batch: Outcomes, crawl: Crawl) -> bool:
    """Write outcomes to standard output; on a broken pipe end the crawl and return False."""
    try:
        sys.stdout.buffer.write(batch.rows().lines(list(crawl.plan.job.store.fields)))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        crawl.abort()
        return False
    return True


def _prepare(args: argparse.Namespace, streams: bool) -> Crawl:
    """Check everything; writes nothing."""
    from lycosa.job import merge, read_job
    from lycosa.session import crawl
    from lycosa.store.directory import JobDirectory

    settings: dict[str, Any] = {}
    for key in ("max_pages", "max_depth", "scope", "user_agent", "speed"):
        value = getattr(args, key)
        if value is not None:
            settings[key] = value
    if args.resolver:
        settings = merge(settings, {"names": {"resolvers": args.resolver}})
    for text in args.set:
        settings = merge(settings, assignment(text))
    seeds = [*args.seeds, *_seeds_of(args.seed_files)]
    if args.dir is not None:
        directory = Path(args.dir)
    else:
        told_seeds = read_job(Path(args.job)).get("seeds", []) if args.job is not None else []
        directory = _default_directory(seeds or told_seeds)
    if args.report not in (None, STANDARD) and not os.access(Path(args.report).absolute().parent, os.W_OK):
        raise SettingError("--report", args.report, "a file in a directory that can be written to")
    over = args.fresh and (args.job is not None or seeds)
    record = None if over else JobDirectory(directory).read()
    recorded = record is not None and record.outputs
    outputs = None if recorded else [str(directory / _default_output())]
    if args.output is not None:
        outputs = [output for output in args.output if output not in (STANDARD, NONE)]
        if outputs and NONE in args.output:
            raise SettingError("--output", NONE, "none alone, or beside -")
    prepared = crawl(
        *seeds,
        job=args.job,
        directory=directory,
        output=outputs,
        fresh=args.fresh,
        retry_failed=args.retry_failed,
        **settings,
    )
    prepared.plan = dataclasses.replace(prepared.plan, streams=streams)
    return prepared


def assignment(text: str) -> dict[str, Any]:
    """Parse ``a.b=value``; a value that is not TOML is text."""
    import tomllib  # only for --set

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError("--set", text, "KEY=VALUE, such as politeness.host_interval=2")
    for candidate in (value, json.dumps(value)):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"{key} = {candidate}")
    raise SettingError("--set", text, "KEY=VALUE, such as politeness.host_interval=2")


def _default_directory(seeds: list[str]) -> Path:
    """Return a directory named after the first seed's host."""
    from lycosa.job import make_job

    return Path(f"crawl-{urlsplit(make_job({'seeds': seeds}).checked_seeds()[0]).hostname}")


def _default_output() -> str:
    """Return the name of a Parquet file if pyarrow is installed, else of JSON lines."""
    return "pages.parquet" if importlib.util.find_spec("pyarrow") else "pages.jsonl"


@contextlib.contextmanager
def _signals(crawl: Crawl, quiet: bool) -> Iterator[list[int]]:
    """Handle Ctrl-C and SIGTERM: once finishes, twice ends at once, three times exits. Yields received signals."""
    came: list[int] = []

    def handle(number: int, _frame: object) -> None:
        came.append(number)
        if crawl.control.aborting:
            os._exit(128 + came[0])
        if crawl.control.stopping:
            crawl.abort()
            return
        crawl.stop()
        if not quiet:
            again = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
            print(f"lycosa: finishing requests in flight; {again} again to end at once", file=sys.stderr)

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in previous.items():
            # The crawl has ended: another Ctrl-C must not turn its exit into a traceback.
            signal.signal(number, signal.SIG_IGN if crawl.control.stopping else handler)


def _progress(crawl: Crawl, quiet: bool) -> contextlib.AbstractContextManager[object]:
    """Return the live progress, unless quiet."""
    if quiet:
        return contextlib.nullcontext()
    from lycosa.cli.progress import Progress

    return Progress(crawl)


def _write_report(where: str, report: dict[str, Any]) -> None:
    """Write the report as JSON."""
    if where.endswith(".html"):
        from lycosa.observe.page import page

        text = page(report, "Crawl")
    else:
        text = json.dumps(report, indent=2) + "\n"
    if where == STANDARD:
        sys.stdout.write(text)
    else:
        Path(where).write_text(text, encoding="utf-8")


def _seeds_of(names: Sequence[str]) -> list[str]:
    """Return the seeds of files."""
    if not names:
        return []
    from lycosa.seeds import seeds_of  # only where there are some

    return [seed for name in names for seed in seeds_of(name)]
