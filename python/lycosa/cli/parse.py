"""``lycosa parse``: pages that were fetched before are parsed again, without a network."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.sink import Sink, SinkJob
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.again import Progress
    from lycosa.parsed import Parsed

#: Seconds between two lines of progress.
TELL = 2.0

DESCRIPTION = """\
Parses pages again that were fetched before, and writes them to outputs as a crawl does: links, texts and
metadata by the settings of a job. SOURCE is a WARC or ARC file, compressed or not (of Lycosa, Common Crawl,
Heritrix, wget), a WACZ file (of browsertrix), a Parquet file with columns url and body, or the directory of a
crawl that has ended. Nothing is fetched. The positions of outputs are in DIR: the same command goes on where it
was stopped, also with more sources behind those that it had. What cannot be read of a source is passed over, and told
with its position.
"""


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("parse", help="parse archived pages again", description=DESCRIPTION)
    parser.add_argument(
        "source", nargs="+", metavar="SOURCE", help="a WARC, ARC, WACZ or Parquet file, or DIR of a crawl"
    )
    parser.add_argument(
        "-o", "--output", action="append", required=True, metavar="OUTPUT", help="as of lycosa crawl; may be repeated"
    )
    parser.add_argument("--dir", metavar="DIR", default="parse", help="for the positions of outputs (default: parse)")
    parser.add_argument("--fresh", action="store_true", help="replace outputs that are there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_job_arguments(parser, "job file (TOML) whose settings of parse and store are used")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Parse; 1 if something could not be read."""
    from lycosa.again import Run, Sources
    from lycosa.job import make_job
    from lycosa.parsed import Parsed, claimed
    from lycosa.sources import sources_of

    settings = given_settings(args)
    settings.setdefault("seeds", ["http://archive.invalid/"])
    job, read = make_job(settings), [source for name in args.source for source in sources_of(name)]
    folder = Path(args.dir)
    with claimed(folder):
        parsed = Parsed(folder, job, read, fresh=args.fresh)
        sinks = _sinks(args.output, SinkJob(parsed.id, folder, "", tuple(job.store.fields)), parsed, args.fresh)
        sources = Sources(read, parsed.damages(), parsed.note)
        parsed.save(sinks)
        if args.fresh:
            for sink in sinks:
                sink.remove()
        progress = Run(job, sources, sinks, _Told()).parse()
    for damage in sources.damages:
        print(f"lycosa: {damage.source}: at {damage.position}: {damage.text}", file=sys.stderr)
    if args.json:
        damages = [{"source": one.source, "position": one.position, "text": one.text} for one in sources.damages]
        print(json.dumps({"pages": progress.pages, "damages": damages, "outputs": progress.positions}))
    else:
        print(f"{counted(progress.pages, 'page')}; {counted(len(sources.damages), 'damage')}")
    return 1 if sources.damages else 0


def _sinks(outputs: Sequence[str], sink_job: SinkJob, parsed: Parsed, fresh: bool) -> list[Sink]:
    """Return the sinks of all outputs, checked before the first is changed. Raises SettingError."""
    from lycosa.store.outputs import check_apart, sink_of

    sinks = [sink_of(output) for output in outputs]
    check_apart(sinks)
    for sink in sinks:
        sink.attach(sink_job._replace(name=sink.url))
        parsed.check(sink)
        sink.check(fresh=fresh, is_ours=parsed.is_ours(sink))
    return sinks


class _Told:
    """Tells of progress now and then."""

    def __init__(self) -> None:
        """Nothing is told yet."""
        self._began = self._told = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Tell if it is time to."""
        now = time.monotonic()
        if now - self._told < TELL:
            return
        self._told = now
        rate = progress.pages / (now - self._began)
        print(f"{100 * progress.part:.0f} %, {counted(progress.pages, 'page')}, {rate:.0f} a second", file=sys.stderr)
