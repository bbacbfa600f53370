"""``lycosa simnet report LEDGER``: reads a ledger file; the simulated Internet that wrote it need not run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from lycosa.errors import LycosaError, SettingError
from lycosa.simnet import Ledger
from lycosa.simnet import plot as plotting
from lycosa.simnet.render import print_listing, print_report
from lycosa.words import counted

DESCRIPTION = """\
Judges a run by the ledger file that `lycosa simnet --ledger FILE` wrote. A ledger that was cut off or damaged is
read up to that point, and the size of the missing part is reported.

Without --host, --address or --violations: the report of the whole run. With them: the requests one by one, each
with its time, the gap before it, the gap that was due, and the verdict. Times are seconds since the start.
"""

#: Maximum number of listed requests; --json has all.
LISTED = 1000


def run(arguments: list[str], parser: type[argparse.ArgumentParser]) -> int:
    """Run ``report`` with its arguments; returns the exit status."""
    args = _arguments(arguments, parser)
    try:
        return _run(args)
    except BrokenPipeError:
        # As other tools end on a closed pipe, such as `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except SettingError as error:
        print(f"lycosa simnet report: {error}", file=sys.stderr)
        return 2
    except LycosaError as error:
        print(f"lycosa simnet report: {error}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    """:func:`run`, with errors as exceptions."""
    picture = None if args.plot is None else plotting.check(args.plot)
    since, until = _seconds("from", args.since), _seconds("to", args.until)
    ledger = Ledger(args.ledger)
    if ledger.damage:
        print(f"lycosa simnet report: {args.ledger}: {ledger.damage}", file=sys.stderr)
    listing = args.host is not None or args.address is not None or args.violations
    made: dict[str, Any]
    if listing:
        made = ledger.timeline(
            host=args.host,
            address=args.address,
            violations=args.violations,
            since=since,
            until=until,
            limit=None if args.json else LISTED,
        )
    else:
        made = ledger.report(since, until)
    if picture is not None:
        whole = ledger.report(since, until) if listing else made
        plotting.draw(ledger.series(since, until), whole, picture, _title(args.ledger, ledger.header["params"]))
        print(f"lycosa simnet report: wrote {picture}", file=sys.stderr)
    if args.json:
        json.dump(made, sys.stdout, indent=2)
        print()
    elif listing:
        print_listing(made)
    else:
        print_report(made)
    sys.stdout.flush()
    return 0


def _arguments(arguments: list[str], kind: type[argparse.ArgumentParser]) -> argparse.Namespace:
    """Read the command line."""
    parser = kind(
        prog="lycosa simnet report",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("ledger", metavar="LEDGER", help="the file")
    add("--host", metavar="NAME", help="the requests to one host")
    add("--address", metavar="A", help="the requests to one address")
    add("--violations", action="store_true", help="only requests with a violation")
    add("--from", dest="since", metavar="S", help="only from this second on, judged with what came before")
    add("--to", dest="until", metavar="S", help="only before this second")
    add("--json", action="store_true", help="print JSON")
    add("--plot", metavar="FILE", help="draw requests, hosts, flatness and DNS over time: .png or .svg")
    return parser.parse_args(arguments)


def _seconds(name: str, value: str | None) -> float | None:
    """Parse a time, if one was given."""
    try:
        return None if value is None else float(value)
    except ValueError:
        raise SettingError(name, value, "a number of seconds") from None


def _title(file: str, params: dict[str, Any]) -> str:
    """Describe the simulation in a title."""
    world = f"{counted(params['hosts'], 'host')}, {counted(params['pages'], 'page')} a host, seed {params['seed']}"
    return f"{Path(file).name}: {world}, profile {params['profile']}, speed {params['speed']:g}"
