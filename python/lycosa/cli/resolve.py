"""``lycosa resolve``: resolves the names of a file, millions of them, resumable from the output itself."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from lycosa.cli.interrupts import interrupted
from lycosa.cli.name_lines import LineReader, Read
from lycosa.cli.resolve_outputs import Output, output
from lycosa.cli.resolve_report import QUIET, Shown, print_report
from lycosa.cli.resolve_retry import STATUSES as RETRIED
from lycosa.cli.resolve_retry import retrying
from lycosa.cli.told import told
from lycosa.errors import LycosaError, SettingError, StorageError
from lycosa.names.probe import silent
from lycosa.names.resolver import MAX_CONCURRENCY, TAKE_ANSWERS, WAIT, Options, Resolver

logger = logging.getLogger("lycosa")

DESCRIPTION = (
    "Resolves names, one per line, by recursive DNS servers, and writes one answer for each, in the order in which "
    "answers arrive. Every line has exactly one status: ok, nxdomain, nodata, servfail, timeout or bad-name. A "
    "second run with the same output skips the names that it contains: after Ctrl-C, a crash, with a longer input; "
    "with --retry-failed, failed ones are retried. "
    "An address is its own answer; blank lines are skipped."
)

#: The statuses of answers.
STATUSES = ("ok", "nxdomain", "nodata", "servfail", "timeout", "bad-name")

#: The client's counters in the report.
COUNTS = ("questions", "answers", "retries", "timeouts", "truncated", "mismatched", "cache_hits", "coalesced")

#: A comment in a line of resolvers: after a TLS or HTTPS resolver, whose name follows a #, only after a space.
COMMENT = re.compile(r"(?<!\S)#.*|(?<!\S)(?!tls://|https://)(\S+?)#.*")

#: Maximum number of invalid lines in the report.
SHOWN = 20

#: The exit status after Ctrl-C.
INTERRUPTED = 130


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("resolve", help="resolve names, millions of them", description=DESCRIPTION)
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="names, one per line; -: standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="a file that ends in .jsonl, .csv or .parquet; is extended if it exists (default: JSON lines to stdout)",
    )
    parser.add_argument(
        "--resolver",
        metavar="A,B",
        action="append",
        default=[],
        help="DNS servers, with or without port: 192.0.2.1,[2001:db8::1]:53; over TLS: tls://192.0.2.1#dns.example; "
        "over HTTPS: https://192.0.2.1/dns-query#dns.example (default: the system's)",
    )
    parser.add_argument("--resolvers", metavar="FILE", type=Path, help="more servers, one per line; # for comments")
    parser.add_argument(
        "--ca-file", metavar="PEM", type=Path, help="root certificates beside Mozilla's, for TLS or HTTPS servers"
    )
    parser.add_argument(
        "--types",
        metavar="A,MX",
        default="A",
        help="types of records, such as A (default), AAAA, MX, TXT, NS, CNAME, PTR, SRV, CAA, SVCB, HTTPS, or by "
        "number as in TYPE65; others than A and AAAA have columns of their own",
    )
    parser.add_argument(
        "--rate", metavar="N", type=float, help="maximum names per second (default: as many as the servers answer)"
    )
    parser.add_argument(
        "--server-rate", metavar="N", type=float, help="maximum questions per second to each server (default: none)"
    )
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=int,
        default=1_000,
        help=f"maximum names resolved at once, 1 to {MAX_CONCURRENCY:,} (default 1,000)",
    )
    parser.add_argument("--timeout", metavar="S", type=float, help="time-out of one try in seconds (default 2)")
    parser.add_argument("--attempts", metavar="N", type=int, help="tries for one name, over all servers (default 4)")
    parser.add_argument(
        "--rotate",
        action="store_const",
        const=True,
        help="ask the servers in turn instead of the fastest ones (with the system's servers, resolv.conf sets the "
        "defaults of these three)",
    )
    parser.add_argument(
        "--zone",
        metavar="ZONE=A,B",
        action="append",
        default=[],
        help="resolvers for the names of a zone, such as corp.example=192.0.2.1; may be repeated",
    )
    parser.add_argument(
        "--hosts",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=Path("/etc/hosts"),
        help="a hosts file that takes precedence (without FILE: /etc/hosts)",
    )
    parser.add_argument(
        "--local-data", metavar="FILE", type=Path, help="records that take precedence, as lines of a zone file"
    )
    parser.add_argument(
        "--nxdomain-cut",
        action="store_true",
        help="apply NXDOMAIN for a name to all names below it, too (RFC 8020); some servers deny names that have "
        "others below them",
    )
    parser.add_argument(
        "--wildcards",
        action="store_true",
        help="look up only one in sixteen hosts of a domain that answers for any name; a host with a record of its "
        "own may get the domain's addresses",
    )
    parser.add_argument(
        "--cache",
        metavar="PATH",
        type=Path,
        help="file of a name cache that processes share (see lycosa cache)",
    )
    parser.add_argument(
        "--retry-failed",
        nargs="?",
        const=True,
        default=False,
        metavar="STATUSES",
        help="resolve names of the input again whose answers in the output are failures, and replace these: servfail "
        f"and timeout, or comma-separated =STATUSES: {', '.join(RETRIED)}",
    )
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print no progress, and no report unless --json is given"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Resolve; returns the exit status."""
    types = [kind.strip().upper() for kind in args.types.split(",")]
    options: Options = {
        "resolvers": _resolvers(args),
        "ca_file": args.ca_file,
        "types": types,
        "concurrency": args.concurrency,
        "rate": args.rate,
        "server_rate": args.server_rate,
        "timeout": args.timeout,
        "attempts": args.attempts,
        "rotate": args.rotate,
        "zones": args.zone,
        "hosts_file": args.hosts,
        "local_data": _lines("--local-data", args.local_data),
        "nxdomain_cut": args.nxdomain_cut,
        "wildcards": args.wildcards,
        "cache": args.cache,
    }
    has_records = not {"A", "AAAA"}.issuperset(types)
    target = retrying(output(args.output, sys.stdout.buffer, has_records=has_records), args.retry_failed)
    with told(quiet=args.quiet), _input(args.file) as file, _open(options) as resolver:
        work = Work(resolver, target, file)
        try:
            with _signals(work):
                work.begin()
                with Shown(work, quiet=args.quiet) as shown:
                    while not work.ended:
                        work.step()
                        shown.look()
                work.end()
        except BrokenPipeError:
            # The reader of standard output closed it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            name = args.output or "standard output"
            raise StorageError(f"{error.filename or name}: {error.strerror}; run again to resume") from None
        if args.json or not args.quiet:
            to_standard = args.output is not None and args.output != "-"
            print_report(work.report(), as_json=args.json, to_standard=to_standard)
        return INTERRUPTED if work.stopped else 0


class Work:
    """Lines to names, names to answers, answers to the output."""

    def __init__(self, resolver: Resolver, target: Output, file: BinaryIO) -> None:
        """Read nothing yet."""
        self._resolver, self._target, self._file = resolver, target, file
        self._read: Read | None = None
        self._at_end = False
        self._bad: list[dict[str, Any]] = []
        self._before = 0
        self._begun = time.monotonic()
        self._lines: LineReader | None = None
        #: Set by a signal: available answers are written, and no more names are resolved.
        self.stopped = False
        self.answered = 0
        #: Bytes of the input that were submitted, and its size if it is known.
        self.position = 0
        status = os.fstat(file.fileno())
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def ended(self) -> bool:
        """Whether everything is done, or a signal stopped it."""
        return self.stopped or (self._at_end and self._read is None and not self._resolver.pending())

    @property
    def before(self) -> int:
        """Number of answers in the output before this run."""
        return self._before

    def begin(self) -> None:
        """Open the output and read the names in it."""
        told_at = time.monotonic()
        for names in self._target.open():
            self._before += len(names)
            self._resolver.pass_over(names)
            if time.monotonic() - told_at >= QUIET:
                told_at = time.monotonic()
                logger.info("reading the output: %s answers so far", f"{self._before:,}")
            if self.stopped:
                break
        if self._before:
            logger.info("resuming: %s answers are in the output and are not resolved again", f"{self._before:,}")
        else:
            self._target.write(self._resolver.take(0, 0))  # an output without answers has its columns
        self._lines = LineReader(self._file)
        self._begun = time.monotonic()

    def step(self) -> None:
        """Submit names while there is capacity, and write the answers that arrived."""
        self._submit()
        if self._resolver.pending():
            self._write(WAIT if self._at_end or not self._resolver.free() else WAIT / 10)

    def end(self) -> None:
        """Write the available answers and complete the output."""
        self._write(0.0)
        self._target.close()

    def report(self) -> dict[str, Any]:
        """Return the report."""
        counts, seconds = self._resolver.statistics(), time.monotonic() - self._begun
        assert self._lines is not None, "begun before"
        return {
            "complete": not self.stopped,
            "answered": self.answered,
            "before": self._before,
            "lines": self._lines.lines,
            "blank": self._lines.blank,
            "statuses": {status: counts[status] for status in STATUSES},
            "bad_lines": self._bad,
            "seconds": round(seconds, 3),
            "names_per_second": round(self.answered / max(seconds, 1e-3), 1),
            **{name: counts[name] for name in COUNTS},
            "classes": {name: counts[name] for name in ("fast", "slow", "failed")},
            "upstreams": self._resolver.upstreams(),
        }

    def _submit(self) -> None:
        """Submit lines until there is no capacity left or no line has been read."""
        assert self._lines is not None, "begun before"
        while not self.stopped:
            if self._read is None:
                if self._at_end:
                    return
                try:
                    # While names are being resolved, wait for answers instead.
                    self._read = self._lines.next(0.0 if self._resolver.pending() else WAIT)
                except TimeoutError:
                    return
                self._at_end = self._read is None
                continue
            if self._resolver.submit_lines(self._read.names):
                return
            self.position, self._read = self._read.position, None

    def _write(self, within: float) -> None:
        """Write the available answers, or those that arrive within some seconds."""
        answers = self._resolver.take(TAKE_ANSWERS, within)
        if not len(answers):
            return
        self._target.write(answers)
        self.answered += len(answers)
        free = SHOWN - len(self._bad)
        if free:
            bad = answers.bad_names()[:free]
            self._bad += [{"line": line, "text": text, "reason": reason} for line, text, reason in bad]


def _resolvers(args: argparse.Namespace) -> list[str]:
    """Return the servers of the command line."""
    texts = [text.strip() for each in args.resolver for text in each.split(",")]
    if args.resolvers is not None:
        lines = _lines("--resolvers", args.resolvers)
        texts += [COMMENT.sub(r"\1", line).strip() for line in lines]
    texts = [text for text in texts if text]
    if not texts and (args.resolver or args.resolvers is not None):
        given = ",".join(args.resolver) or str(args.resolvers)
        raise SettingError("resolvers", given, "at least one address of a DNS server")
    return texts


def _lines(name: str, path: Path | None) -> list[str]:
    """Return the lines of a file that an argument names."""
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise SettingError(name, path, f"a file that can be read ({error.strerror})") from None


@contextlib.contextmanager
def _input(name: str) -> Iterator[BinaryIO]:
    """Open the file of names."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as files:
        try:
            file = files.enter_context(open(name, "rb"))
        except OSError as error:
            raise SettingError("FILE", name, f"a file that can be read, or - ({error.strerror})") from None
        yield file


@contextlib.contextmanager
def _open(options: Options) -> Iterator[Resolver]:
    """Open a resolver with the servers that answer."""
    resolver = Resolver(**options)
    mute = silent(resolver.resolvers, options.get("ca_file"), tcp_only=resolver.tcp_only)
    left = [server for server in resolver.resolvers if server not in mute]
    told = [f"{server} ({why})" if why else server for server, why in mute.items()]
    if not left:
        resolver.close()
        raise LycosaError(f"no resolver answers: {', '.join(told)}; give others, or run again when they do")
    for server in told:
        logger.warning("resolver %s does not answer and is left out", server)
    if mute:
        resolver.close()
        others = options.copy()
        others["leave_out"] = list(mute)
        resolver = Resolver(**others)
    with resolver:
        yield resolver


def _signals(work: Work) -> contextlib.AbstractContextManager[None]:
    """Handle Ctrl-C and SIGTERM: once completes the output and ends, twice ends at once."""

    def handle(_signal: int, _frame: object) -> None:
        if work.stopped:
            os._exit(INTERRUPTED)
        work.stopped = True

    return interrupted(handle)
