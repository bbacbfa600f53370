"""``lycosa download``: have URLs downloaded by the servers of a master."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from lycosa.cli.downloader import MASTER

DESCRIPTION = (
    "Has URLs downloaded by the servers of a master, and prints a line for each as its result comes; with --json a "
    "JSON object. "
    "The service's token is read from the environment: LYCOSA_TOKEN."
)


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "download", help="have URLs downloaded by a master's servers", description=DESCRIPTION
    )
    add = parser.add_argument
    add("urls", nargs="+", metavar="URL", help="URLs; - reads one a line from standard input")
    add("--master", metavar="URL", required=True, help=MASTER)
    add("--service", metavar="NAME", required=True, help="the service whose quota is used")
    add("--receive", action="store_true", help="have results pushed to a port of one's own, instead of fetching them")
    add("--output", metavar="DIR", type=Path, help="write each body to a file there, by number")
    add("--json", action="store_true", help="print JSON lines, with the body where it is UTF-8 text")
    add(
        "--ca-file", metavar="FILE", type=Path, help="root certificates of the servers in PEM (default: the system's)"
    )
    add(
        "--certificate",
        metavar="FILE",
        type=Path,
        help="a certificate with its key in PEM, for mutual TLS; with --receive results are pushed by TLS, too",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Download; returns the exit status: 1 if a URL has no response."""
    from lycosa.cli.told import told

    urls = [line.strip() for url in args.urls for line in (sys.stdin if url == "-" else [url]) if line.strip()]
    with told():
        return asyncio.run(_download(args, urls))


async def _download(args: argparse.Namespace, urls: list[str]) -> int:
    """Print each result as it comes."""
    from lycosa.dispatch.client import Client

    failed = 0
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
    client = Client(
        args.master,
        args.service,
        token=os.environ.get("LYCOSA_TOKEN"),
        receive=args.receive,
        ca_file=args.ca_file,
        certificate=None if args.certificate is None else (args.certificate, args.certificate),
    )
    async with client:
        number = 0
        async for response in client.download(urls):
            number += 1
            failed += response.status is None
            path = None
            if args.output is not None and response.status is not None:
                path = args.output / f"{number:06}"
                path.write_bytes(response.body)
            if args.json:
                print(json.dumps(_facts(response, path)), flush=True)
            else:
                told = (
                    response.status if response.status is not None else f"{response.error}: {response.error_detail}"
                )
                print(f"{told} {len(response.body)} {response.url}{f' {path}' if path else ''}", flush=True)
    return 1 if failed else 0


def _facts(response: Any, path: Path | None) -> dict[str, Any]:
    """Return a result for JSON."""
    from lycosa.dispatch.wire import facts_of

    facts = facts_of(response)
    if path is not None:
        return {**facts, "file": str(path)}
    try:
        return {**facts, "body": response.body.decode()}
    except UnicodeDecodeError:
        return {**facts, "body": None}
