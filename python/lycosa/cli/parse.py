"""``lycosa parse``: pages that were fetched before are parsed again, without a network."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.again import Progress

#: Seconds between two lines of progress.
TELL = 2.0

DESCRIPTION = """\
Parses pages again that were fetched before, and writes them to outputs as a crawl does: links, texts and
metadata by the settings of a job. SOURCE is a WARC or ARC file, compressed or not (of Lycosa, Common Crawl,
Heritrix, wget), a WACZ file (of browsertrix), a Parquet file with columns url and body, or the directory of a
crawl that has ended. Nothing is fetched. The positions of outputs are in DIR: the same command goes on where it
was stopped. What cannot be read of a source is passed over, and told with its position.
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
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="that parse (default: one for each core)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_job_arguments(parser, "job file (TOML) whose settings of parse and store are used")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Parse; 1 if something could not be read."""
    from lycosa.again import Sources, parse_again
    from lycosa.job import make_job
    from lycosa.sink import SinkJob
    from lycosa.sources import sources_of
    from lycosa.store.outputs import sink_of

    settings = given_settings(args)
    settings.setdefault("seeds", ["http://archive.invalid/"])
    job, sources = make_job(settings), Sources([source for name in args.source for source in sources_of(name)])
    folder = Path(args.dir)
    folder.mkdir(parents=True, exist_ok=True)
    names = json.dumps([str(Path(source.name).absolute()) for source in sources.all])
    identity = hashlib.sha256(f"{names}{job.model_dump_json()}".encode()).hexdigest()[:16]
    sinks = [sink_of(output) for output in args.output]
    for sink in sinks:
        sink.attach(SinkJob(identity, folder, sink.url, tuple(job.store.fields)))
        is_ours = sink.committed() is not None
        sink.check(fresh=args.fresh, is_ours=is_ours)
        if args.fresh:
            sink.remove()
    progress = parse_again(job, sources, sinks, max(args.threads, 1), _Told())
    for damage in sources.damages:
        print(f"lycosa: {damage.source}: at {damage.position}: {damage.text}", file=sys.stderr)
    if args.json:
        damages = [{"source": one.source, "position": one.position, "text": one.text} for one in sources.damages]
        print(json.dumps({"pages": progress.pages, "damages": damages, "outputs": progress.positions}))
    else:
        print(f"{counted(progress.pages, 'page')}; {counted(len(sources.damages), 'damage')}")
    return 1 if sources.damages else 0


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
        share = 100 * progress.position // max(progress.end, 1)
        print(f"{share} %, {counted(progress.pages, 'page')}, {rate:.0f} a second", file=sys.stderr)
