"""``lycosa extract``: what a page says, from a file, a URL or standard input."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.errors import SettingError

if TYPE_CHECKING:
    from lycosa.parse.text import Extracted

#: What is printed.
FORMATS = ("text", "markdown", "json")

#: Bytes of a page, at most.
LARGEST = 100 << 20


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "extract",
        help="the main text of a page, and what it states of itself",
        description="Prints the main text of a page. A URL is fetched as a crawl would do it: robots.txt is obeyed, "
        "and --user-agent names you. The exit status is 1 for a page that is a refusal (a challenge, a login, a page "
        "that is not there) or no text.",
    )
    parser.add_argument("page", metavar="FILE|URL|-", help="a file, a URL, or - for standard input")
    parser.add_argument("--format", choices=FORMATS, default="text", help="what is printed (default: text)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument("--url", metavar="URL", help="the URL of a page that is read from a file")
    parser.add_argument("--links", action="store_true", help="with the targets of links, in Markdown")
    parser.add_argument("--images", action="store_true", help="with images, in Markdown")
    parser.add_argument(
        "--method", choices=("lycosa", "density-paper"), default="lycosa", help="how the main text is found"
    )
    add_job_arguments(parser, "job file (TOML) whose settings a URL is fetched with")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from lycosa.parse.text import extract

    body, url, content_type = read(args)
    found = extract(body, url=url, content_type=content_type, method=args.method)
    if args.format == "json":
        print(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    elif args.format == "markdown":
        print(found.markdown(links=args.links, images=args.images), end="")
    else:
        print(found.text, end="")
    if found.refusal is not None:
        print(f"lycosa: {args.page}: this page is no content: {found.refusal}", file=sys.stderr)
    elif found.kind == "binary":
        print(f"lycosa: {args.page}: this is no text", file=sys.stderr)
    return 1 if found.refusal is not None or found.kind == "binary" else 0


def read(args: argparse.Namespace) -> tuple[bytes, str | None, str | None]:
    """Return the page, its URL and its media type."""
    if args.page == "-":
        return sys.stdin.buffer.read(LARGEST), args.url, None
    if args.page.startswith(("http://", "https://")):
        return fetch(args.page, given_settings(args))
    try:
        with open(args.page, "rb") as file:
            return file.read(LARGEST), args.url, None
    except OSError as error:
        raise SettingError("FILE", args.page, f"a file that can be read ({error.strerror}), a URL, or -") from None


def fetch(url: str, settings: dict[str, Any]) -> tuple[bytes, str, str | None]:
    """Fetch a page as a crawl of one page does."""
    from lycosa.job import merge
    from lycosa.session import crawl

    if "user_agent" not in settings:
        raise SettingError("--user-agent", "", 'product/version and a contact: "mybot/1.0 (me@example.org)"')
    # A redirect is followed within the scope; what is last is the page. A refusal is told below, not a failure.
    settings = merge(settings, {"max_depth": 0, "parse": {"refusals": False}})
    settings.pop("seeds", None)
    last = None
    for outcome in crawl(url, **settings):
        last = outcome
        if outcome.body:
            return outcome.body, outcome.url, outcome.header("content-type")
    reason = "nothing was returned" if last is None else last.error or f"status {last.status}, without a body"
    raise SettingError("URL", url, f"a page that can be fetched ({reason})")


def as_json(found: Extracted) -> dict[str, Any]:
    """Everything, as JSON has it."""
    names = (
        "kind", "confidence", "refusal", "title", "author", "published", "modified", "language", "canonical",
        "description", "site", "licence", "text",
    )  # fmt: skip
    told = {name: getattr(found, name) for name in names}
    told |= {"simhash": f"{found.simhash:016x}", "digest": found.digest.hex()}
    told["blocks"] = [{"role": block.role, "level": block.level, "text": block.text} for block in found.blocks]
    return told
