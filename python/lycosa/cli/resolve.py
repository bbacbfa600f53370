"""``lycosa resolve``: what the names of a file resolve to, millions of them, resumable from the output itself."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

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
    "Resolves names, one a line, by DNS servers that recurse, and writes one answer for each, in the order in which "
    "they come. Every line is accounted for once: ok, nxdomain, nodata, servfail, timeout or bad-name. Run again "
    "with the same output, names that are there are not asked for again: after Ctrl-C, a crash, with a longer input; "
    "with --retry-failed, those that failed are. "
    "An address is its own answer; blank lines are left out."
)

#: The statuses that an answer can have.
STATUSES = ("ok", "nxdomain", "nodata", "servfail", "timeout", "bad-name")

#: What the client counts, as the report has it.
COUNTS = ("questions", "answers", "retries", "timeouts", "truncated", "mismatched", "cache_hits", "coalesced")

#: A comment in a line of resolvers: behind one over TLS or HTTPS, whose name follows a #, only after a space.
COMMENT = re.compile(r"(?<!\S)#.*|(?<!\S)(?!tls://|https://)(\S+?)#.*")

#: Lines that are no names shown in the report, at most.
SHOWN = 20

#: The exit status after Ctrl-C.
INTERRUPTED = 130


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("resolve", help="resolve names, millions of them", description=DESCRIPTION)
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="names, one a line; -: standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="a file that ends in .jsonl, .csv or .parquet; what is in it stays (default: JSON lines to stdout)",
    )
    parser.add_argument(
        "--resolver",
        metavar="A,B",
        action="append",
        default=[],
        help="DNS servers, with or without port: 192.0.2.1,[2001:db8::1]:53; over TLS: tls://192.0.2.1#dns.example; "
        "over HTTPS: https://192.0.2.1/dns-query#dns.example (default: the system's)",
    )
    parser.add_argument("--resolvers", metavar="FILE", type=Path, help="more of them, one a line; # begins a comment")
    parser.add_argument(
        "--ca-file", metavar="PEM", type=Path, help="roots beyond Mozilla's, for servers over TLS or HTTPS"
    )
    parser.add_argument(
        "--types",
        metavar="A,MX",
        default="A",
        help="types of records, such as A (default), AAAA, MX, TXT, NS, CNAME, PTR, SRV, CAA, SVCB, HTTPS, or by "
        "number as in TYPE65; others than A and AAAA come in columns of their own",
    )
    parser.add_argument(
        "--rate", metavar="N", type=float, help="names a second at most (default: as many as the servers bear)"
    )
    parser.add_argument(
        "--server-rate", metavar="N", type=float, help="questions a second to each server at most (default: no limit)"
    )
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=int,
        default=1_000,
        help=f"names under way at most, 1 to {MAX_CONCURRENCY:,} (default 1,000)",
    )
    parser.add_argument("--timeout", metavar="S", type=float, help="seconds for one try (default 2)")
    parser.add_argument("--attempts", metavar="N", type=int, help="tries over all servers (default 4)")
    parser.add_argument(
        "--rotate",
        action="store_const",
        const=True,
        help="the servers take turns; else the quickest are asked (the system's servers: these three as resolv.conf "
        "says, unless given)",
    )
    parser.add_argument(
        "--zone",
        metavar="ZONE=A,B",
        action="append",
        default=[],
        help="resolvers for the names of a zone, such as corp.example=192.0.2.1; may be given several times",
    )
    parser.add_argument(
        "--hosts",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=Path("/etc/hosts"),
        help="a hosts file that is looked at first (without FILE: /etc/hosts)",
    )
    parser.add_argument(
        "--local-data", metavar="FILE", type=Path, help="records that are looked at first, as lines of a zone file"
    )
    parser.add_argument(
        "--nxdomain-cut",
        action="store_true",
        help="a name that does not exist ends the search for all names below it (RFC 8020); some servers deny names "
        "that have others below them",
    )
    parser.add_argument(
        "--wildcards",
        action="store_true",
        help="hosts of a domain that answers for any name are not asked for, but one in sixteen; a host with a "
        "record of its own may be given the domain's addresses",
    )
    parser.add_argument(
        "--cache",
        metavar="PATH",
        type=Path,
        help="the file of a cache of names that processes share (see lycosa cache)",
    )
    parser.add_argument(
        "--retry-failed",
        nargs="?",
        const=True,
        default=False,
        metavar="STATUSES",
        help="ask again for names of the input whose answers in the output are failures, and replace these: servfail "
        f"and timeout, or =STATUSES with commas: {', '.join(RETRIED)}",
    )
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress and no report, unless --json asks for it"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Resolve; give the exit status."""
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
            # Who reads standard output has had enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            name = args.output or "standard output"
            raise StorageError(f"{error.filename or name}: {error.strerror}; run again to go on") from None
        if args.json or not args.quiet:
            to_standard = args.output is not None and args.output != "-"
            print_report(work.report(), as_json=args.json, to_standard=to_standard)
        return INTERRUPTED if work.stopped else 0


class Work:
    """Lines to names, names to answers, answers to the output."""

    def __init__(self, resolver: Resolver, target: Output, file: BinaryIO) -> None:
        """Nothing is read yet."""
        self._resolver, self._target, self._file = resolver, target, file
        self._read: Read | None = None
        self._at_end = False
        self._bad: list[dict[str, Any]] = []
        self._before = 0
        self._begun = time.monotonic()
        self._lines: LineReader | None = None
        #: Set by a signal: what is there is written, and nothing else is asked for.
        self.stopped = False
        self.answered = 0
        #: Bytes of the input that were submitted, and all of them where that is known.
        self.position = 0
        status = os.fstat(file.fileno())
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def ended(self) -> bool:
        """Whether all is done, or somebody wants it to end."""
        return self.stopped or (self._at_end and self._read is None and not self._resolver.pending())

    @property
    def before(self) -> int:
        """Answers that were there."""
        return self._before

    def begin(self) -> None:
        """Open the output and learn what is there."""
        told_at = time.monotonic()
        for names in self._target.open():
            self._before += len(names)
            self._resolver.pass_over(names)
            if time.monotonic() - told_at >= QUIET:
                told_at = time.monotonic()
                logger.info("reading the output: %s answers are there", f"{self._before:,}")
            if self.stopped:
                break
        if self._before:
            logger.info("going on: %s answers are there and are not asked for again", f"{self._before:,}")
        else:
            self._target.write(self._resolver.take(0, 0))  # an output without answers has its columns
        self._lines = LineReader(self._file)
        self._begun = time.monotonic()

    def step(self) -> None:
        """Submit as far as there is room, and write what has come."""
        self._submit()
        if self._resolver.pending():
            self._write(WAIT if self._at_end or not self._resolver.room() else WAIT / 10)

    def end(self) -> None:
        """Write what is there and complete the output."""
        self._write(0.0)
        self._target.close()

    def report(self) -> dict[str, Any]:
        """What was done."""
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
        """Submit lines until there is no room for more or none have been read."""
        assert self._lines is not None, "begun before"
        while not self.stopped:
            if self._read is None:
                if self._at_end:
                    return
                try:
                    # With names under way, answers are waited for instead.
                    self._read = self._lines.next(0.0 if self._resolver.pending() else WAIT)
                except TimeoutError:
                    return
                self._at_end = self._read is None
                continue
            if self._resolver.submit_lines(self._read.names):
                return
            self.position, self._read = self._read.position, None

    def _write(self, within: float) -> None:
        """Write the answers that are there, or come soon."""
        answers = self._resolver.take(TAKE_ANSWERS, within)
        if not len(answers):
            return
        self._target.write(answers)
        self.answered += len(answers)
        room = SHOWN - len(self._bad)
        if room:
            bad = answers.bad_names()[:room]
            self._bad += [{"line": line, "text": text, "reason": reason} for line, text, reason in bad]


def _resolvers(args: argparse.Namespace) -> list[str]:
    """The servers that were named."""
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
    """The lines of a file that an argument names."""
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise SettingError(name, path, f"a file that can be read ({error.strerror})") from None


@contextlib.contextmanager
def _input(name: str) -> Iterator[BinaryIO]:
    """The file of names."""
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
    """A resolver by those servers that answer."""
    resolver = Resolver(**options)
    mute = silent(resolver.resolvers, options.get("ca_file"))
    left = [server for server in resolver.resolvers if server not in mute]
    told = [f"{server} ({why})" if why else server for server, why in mute.items()]
    if not left:
        resolver.close()
        raise LycosaError(f"no resolver answers: {', '.join(told)}; name others, or run again when they do")
    for server in told:
        logger.warning("resolver %s does not answer and is left out", server)
    if mute:
        resolver.close()
        others = options.copy()
        others["leave_out"] = list(mute)
        resolver = Resolver(**others)
    with resolver:
        yield resolver


@contextlib.contextmanager
def _signals(work: Work) -> Iterator[None]:
    """Ctrl-C and SIGTERM: once to complete the output and end, twice to end at once."""

    def handle(_signal: int, _frame: object) -> None:
        if work.stopped:
            os._exit(INTERRUPTED)
        work.stopped = True

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
