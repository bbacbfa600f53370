"""``lycosa identity``: a key that signs requests, and the files by which sites recognise the crawler."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

PURPOSE = "This crawler reads public web pages."


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "identity",
        help="a key that signs requests, and what sites are told of the crawler",
        description="A crawl with fetch.identity = DIR signs each request (Web Bot Auth, RFC 9421): sites can "
        "tell it from others that use its name.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    new = actions.add_parser(
        "new",
        help="make a key and the files of the bot's site",
        description="Makes DIR with key.pem, which stays on the machine of the crawler, and DIR/site, which belongs "
        "on the web server of the agent: the key directory, a page about the bot, and the file of its addresses.",
    )
    new.add_argument("dir", metavar="DIR", type=Path, help="a new directory")
    new.add_argument("--agent", required=True, metavar="URL", help="the https origin that will serve DIR/site")
    new.add_argument("--name", required=True, help="the bot's name: the token that robots.txt names")
    new.add_argument("--contact", required=True, help="an e-mail address or URL for site owners")
    new.add_argument("--purpose", default=PURPOSE, help=f"what it crawls for, for the page; default: {PURPOSE}")
    new.add_argument("--range", action="append", default=[], metavar="NETWORK", help="its addresses; may be repeated")
    new.add_argument("--json", action="store_true", help="as one JSON object")
    new.set_defaults(run=run_new)
    renew = actions.add_parser(
        "renew",
        help="make another key",
        description="Makes another key. DIR/site has the new and the last key then: serve it before the next crawl.",
    )
    renew.add_argument("dir", metavar="DIR", type=Path, help="the directory of an identity")
    renew.add_argument("--json", action="store_true", help="as one JSON object")
    renew.set_defaults(run=run_renew)
    fields = actions.add_parser(
        "headers",
        help="show the header fields with which the key directory is served",
        description="Shows the header fields of the key directory. Their signature says that the directory is the "
        "agent's own; sites that keep lists of crawlers want it.",
    )
    fields.add_argument("dir", metavar="DIR", type=Path, help="the directory of an identity")
    fields.add_argument("--days", type=int, default=30, help="how long they are valid; default: 30")
    fields.add_argument("--json", action="store_true", help="as one JSON object")
    fields.set_defaults(run=run_headers)


def run_new(args: argparse.Namespace) -> int:
    """Make an identity."""
    from lycosa.fetch import identity

    about = identity.Identity(
        args.agent.rstrip("/"), args.name, args.contact, args.purpose, identity.networks(args.range)
    )
    key = identity.create(args.dir, about)
    told = {
        "key": key,
        "site": str(args.dir / "site"),
        "directory": f"{about.agent}/{identity.DIRECTORY}",
        "user_agent": about.user_agent,
    }
    if args.json:
        print(json.dumps(told, indent=2))
        return 0
    print(f"key {key}: {args.dir / identity.KEY} (keep it secret)")
    print(f"1. Serve {told['site']} as {about.agent}/")
    print(f"   {told['directory']} with what lycosa identity headers {args.dir} shows")
    print(f"2. Crawl with --set fetch.identity={args.dir} --set 'user_agent={about.user_agent}'")
    return 0


def run_renew(args: argparse.Namespace) -> int:
    """Make another key."""
    from lycosa.fetch import identity

    key = identity.renew(args.dir)
    print(
        json.dumps({"key": key})
        if args.json
        else f"key {key}: serve {args.dir / 'site'} again, with new header fields"
    )
    return 0


def run_headers(args: argparse.Namespace) -> int:
    """Show the header fields of the key directory."""
    from lycosa.fetch import identity

    fields = identity.directory_fields(args.dir, args.days)
    print(json.dumps(fields, indent=2) if args.json else "\n".join(f"{name}: {fields[name]}" for name in fields))
    return 0
