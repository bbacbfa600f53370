"""``lycosa downloader``: downloads what a master has granted."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.cli.master import add_audit, add_tls, tls_of

DESCRIPTION = (
    "Downloads what a master has granted to clients, each service at the pace of its quota, with robots.txt and the "
    "pauses of sites, and sends each client its results. Settings of names, politeness and fetch are those of a "
    "crawl's job file; names.resolvers are the servers of `lycosa dns`. The token of download servers is read from "
    "the environment: LYCOSA_TOKEN."
)

#: Default address.
LISTEN = "127.0.0.1:7701"

#: What ``--master`` means.
MASTER = "URL of the master, such as http://127.0.0.1:7700; several, with commas, where some stand by"


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("downloader", help="download what a master has granted", description=DESCRIPTION)
    add = parser.add_argument
    add("--master", metavar="URL", required=True, help=MASTER)
    add("--listen", metavar="ADDR:PORT", default=LISTEN, help=f"address (default {LISTEN})")
    add("--address", metavar="URL", help="URL at which clients reach it (default: that of --listen)")
    add("--name", metavar="NAME", help="its name, unique and lasting (default: the host's name and the port)")
    add("--slots", metavar="N", type=int, default=1_000, help="concurrent downloads (default 1,000)")
    add(
        "--keep",
        metavar="S",
        type=float,
        default=300.0,
        help="seconds for which results of a silent client are kept (default 300)",
    )
    add_job_arguments(parser, "settings (TOML), as of a crawl")
    add("--ca-file", metavar="FILE", type=Path, help="root certificates of the master in PEM (default: the system's)")
    add_audit(parser)
    add("-q", "--quiet", action="store_true", help="print only warnings and errors")
    add_tls(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it; returns the exit status."""
    from lycosa.cli.told import told
    from lycosa.dispatch import audit, loops
    from lycosa.errors import SettingError
    from lycosa.job import make_job

    job = make_job(given_settings(args))
    for name, value, least, most in (("--slots", args.slots, 1, 10_000), ("--keep", args.keep, 1.0, 86_400.0)):
        if not least <= value <= most:
            raise SettingError(name, value, f"{least:g} to {most:g}")
    job.check_contact()
    with told(quiet=args.quiet), audit.writing(args.audit):
        loops.run(_serve(args, job))
    return 0


async def _serve(args: argparse.Namespace, job: Any) -> None:
    """Serve until a signal ends it."""
    from lycosa.cli.signals import ending
    from lycosa.dispatch.calls import Caller, tls_context
    from lycosa.dispatch.downloader import Downloader, fetch_key
    from lycosa.dispatch.quotas import check_name

    tls = tls_of(args)
    own = (None, None) if tls is None else (tls.certificate, tls.key)
    context = tls_context(args.ca_file, *own) if "https://" in args.master else None
    port = args.listen.rpartition(":")[2]
    name = args.name or f"{socket.gethostname()}-{port if port != '0' else secrets.token_hex(4)}"
    async with Caller(args.master, os.environ.get("LYCOSA_TOKEN"), context=context) as master:
        public = await fetch_key(master)
        downloader = Downloader(check_name(name, "--name"), job, master, public, args.slots, keep=args.keep)
        async with downloader.running(args.listen, tls, args.address) as url:
            if not args.quiet:
                print(
                    f"lycosa downloader: {name} at {url}, for the master {args.master}", file=sys.stderr, flush=True
                )
            await ending()
