"""``lycosa proxies``: which proxies of a list work, how fast, and what sites learn of who is behind them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.errors import SettingError

if TYPE_CHECKING:
    from lycosa.proxies.keeper import Keeper

#: Seconds between two lines of progress, and between two turns.
TOLD, TURN = 1.0, 0.02

#: Seconds after the time-out of a fetch after which its proxy is not waited for: the time-out tells more.
MARGIN = 5.0


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "proxies", help="check a list of proxies", description="What proxies do before a crawl uses them."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="fetch pages through each proxy of a list",
        description="Fetches the pages through each proxy: those work that fetch all of them. A page that shows the "
        "request that it got, as services that echo requests do, tells how anonymous a proxy is: transparent (it "
        "tells your address), anonymous (it tells that it is a proxy), elite (neither). Ends with 1 if none works.",
    )
    check.add_argument("file", metavar="FILE", type=Path, help="proxies, one a line: docs/settings.md, proxies.file")
    check.add_argument("--url", action="append", required=True, help="a page to fetch; may be repeated")
    check.add_argument("--within", metavar="SECONDS", type=float, default=20.0, help="for one proxy; default: 20")
    check.add_argument(
        "--allow-address",
        metavar="NETWORK",
        action="append",
        default=[],
        help="a private network of proxies or pages",
    )
    check.add_argument("--ca-file", metavar="FILE", type=Path, help="PEM file of additional root certificates")
    check.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the lines of those that work, best first"
    )
    check.add_argument("--json", action="store_true", help="as one JSON object a proxy")
    check.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check a list."""
    from lycosa.job import make_job
    from lycosa.proxies.proxy import parse_lines
    from lycosa.proxies.stages import make_keeper, make_pool

    if not 1 <= args.within <= 600:
        raise SettingError("within", args.within, "1 to 600 seconds")
    fetch = {"total_timeout": args.within, "read_timeout": args.within, "connect_timeout": min(args.within, 10.0)}
    job = make_job(
        {
            "allow_addresses": args.allow_address,
            "fetch": {**fetch, "ca_file": args.ca_file, "max_body_bytes": 1 << 20},
            "proxies": {"file": args.file, "check": args.url, "allow_addresses": args.allow_address},
        }
    )
    pool = make_pool(job)
    keeper = make_keeper(job, pool, within=args.within + MARGIN)
    lines = {proxy.name: proxy.line for proxy in parse_lines(args.file.read_text().splitlines()).proxies}
    _check_all(keeper)
    found = pool.report()
    for each in found:
        print(json.dumps(each) if args.json else _line(each))
    if args.output is not None:
        _write(args.output, "".join(f"{lines[each['proxy']]}\n" for each in found if each["works"]))
    return 0 if pool.working() else 1


def _write(path: Path, text: str) -> None:
    """Write a file that nobody else may read: it may have passwords."""
    import os

    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        if path.is_file():  # it may have been there
            os.fchmod(file.fileno(), 0o600)
        file.write(text)


def _check_all(keeper: Keeper) -> None:
    """Check each proxy once; tells on standard error how far it is."""
    import sys

    keeper.collect()
    pool, told_at = keeper.pool, time.monotonic()
    while pool.is_unchecked():
        keeper.check()
        if time.monotonic() >= told_at + TOLD:
            told_at = time.monotonic()
            checked, known = pool.checked_count(), len(pool)
            print(f"{checked:,} of {known:,} checked, {pool.working():,} work", file=sys.stderr, flush=True)
        time.sleep(TURN)


def _line(each: Mapping[str, Any]) -> str:
    """One proxy in a line."""
    label = f" ({each['label']})" if each["label"] else ""
    if not each["works"]:
        return f"{each['proxy']}{label}: {each['why']}"
    anonymity = f", {each['anonymity']}" if each["anonymity"] else ""
    return f"{each['proxy']}{label}: {each['seconds'] * 1e3:,.0f} ms{anonymity}"
