"""``lycosa dns``: a DNS server of one tier; ``lycosa dns top`` looks at one.

What serves is imported when it is to serve: it would make every other command start a tenth of a second later.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

DESCRIPTION = (
    "Answers names from memory and asks others for the rest. Lower servers stand near the crawlers and ask upper "
    "ones; these alone ask resolvers outside, so that a cluster asks once per name. The command line wins over the "
    "file, whose settings are in docs/dns.md. SIGHUP reads it again; SIGTERM answers what is under way and ends."
)

TOP = (
    "Shows what a server does, each second anew; the server needs --http. Rates are those of the last second. With "
    "--once it looks twice, a second apart, and ends."
)

#: Where a server is looked for.
METRICS = "127.0.0.1:9153"


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("dns", help="a DNS server for many crawlers", description=DESCRIPTION)
    add = parser.add_argument
    add("--tier", help="lower or upper: what the defaults are for")
    many: dict[str, Any] = {"nargs": "+", "action": "extend", "metavar": "ADDR"}
    add("--listen", **many, help="addresses to answer on, port 53 unless given; 0: any (default 127.0.0.1:53)")
    add(
        "--upstream",
        dest="upstreams",
        **many,
        help="servers to ask, port 53 unless given; or tls://ADDR#NAME, https://ADDR#NAME",
    )
    add("--config", metavar="FILE", type=Path, help="settings (TOML)")
    add("--cache", metavar="FILE", help="the memory, shared with crawlers (default: none that outlives the server)")
    add("--workers", metavar="N", help="threads (default: one a core)")
    add("--http", metavar="ADDR:PORT", help="where /metrics, /healthz and /statistics are (default: nowhere)")
    add(
        "--query-log",
        metavar="FILE",
        help="log each question as a line of JSON; -: on standard output (default: none)",
    )
    add("--check", action="store_true", help="only say what is wrong with the settings")
    add("-q", "--quiet", action="store_true", help="say nothing but what needs attention")
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(title="actions", metavar="top")
    top = actions.add_parser("top", help="what a running server does", description=TOP)
    top.add_argument("--http", metavar="ADDR:PORT", default=METRICS, help=f"as the server's (default {METRICS})")
    top.add_argument("--once", action="store_true", help="look once and end")
    top.add_argument("--json", action="store_true", help="one JSON object a line for each look")
    top.set_defaults(run=run_top)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it; give the exit status."""
    from lycosa.cli import dns_serve

    return dns_serve.run(args)


def run_top(args: argparse.Namespace) -> int:
    """Look until Ctrl-C, or once; give the exit status."""
    from lycosa.cli import dns_top

    return dns_top.run(args)
