"""``lycosa dns``: a DNS server of one tier; ``lycosa dns top`` shows what one does.

The server is imported only when it runs: the import takes a tenth of a second.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

DESCRIPTION = (
    "Answers questions from its cache and asks other DNS servers for the rest. Lower servers run near the crawlers "
    "and ask upper ones; only these ask outside resolvers, so that a cluster asks once per name. The command line "
    "overrides the file, whose settings are in docs/dns.md. SIGHUP reads the file again; SIGTERM answers pending "
    "questions and ends."
)

TOP = (
    "Shows what a server does, updated every second; the server needs --http. Rates are those of the last second. "
    "With --once it reads the server's counters twice, a second apart, and ends."
)

#: Default address of a server's metrics.
METRICS = "127.0.0.1:9153"


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("dns", help="a DNS server for many crawlers", description=DESCRIPTION)
    add = parser.add_argument
    add("--tier", help="lower or upper: selects the defaults")
    many: dict[str, Any] = {"nargs": "+", "action": "extend", "metavar": "ADDR"}
    add("--listen", **many, help="addresses to answer on, port 53 unless given; 0: any (default 127.0.0.1:53)")
    add(
        "--upstream",
        dest="upstreams",
        **many,
        help="servers to ask, port 53 unless given; or tls://ADDR#NAME, https://ADDR#NAME",
    )
    add("--config", metavar="FILE", type=Path, help="settings (TOML)")
    add("--cache", metavar="FILE", help="cache file, shared with crawlers (default: in memory only)")
    add("--workers", metavar="N", help="threads (default: one per core)")
    add("--http", metavar="ADDR:PORT", help="address of /metrics, /healthz and /statistics (default: none)")
    add(
        "--query-log",
        metavar="FILE",
        help="log each question as a line of JSON; -: to standard output (default: none)",
    )
    add("--check", action="store_true", help="only check the settings")
    add("-q", "--quiet", action="store_true", help="print only warnings and errors")
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(title="actions", metavar="top")
    top = actions.add_parser("top", help="what a running server does", description=TOP)
    top.add_argument("--http", metavar="ADDR:PORT", default=METRICS, help=f"the server's --http (default {METRICS})")
    top.add_argument("--once", action="store_true", help="print once and end")
    top.add_argument("--json", action="store_true", help="print one JSON object per line and update")
    top.set_defaults(run=run_top)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it; returns the exit status."""
    from lycosa.cli import dns_serve

    return dns_serve.run(args)


def run_top(args: argparse.Namespace) -> int:
    """Show until Ctrl-C, or once; returns the exit status."""
    from lycosa.cli import dns_top

    return dns_top.run(args)
