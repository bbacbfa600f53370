"""``lycosa extract``: what a page says, from a file, a URL or standard input."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.errors import LycosaError, SettingError

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

    page = read(args)
    found = extract(
        page.body,
        url=page.url,
        content_type=page.content_type,
        method=args.method,
        status=page.status,
        headers=page.headers,
    )
    if args.format == "json":
        # In JSON they can be written in another way.
        shown = json.dumps(as_json(found), indent=2, ensure_ascii=False).translate(ESCAPED) + "\n"
    else:
        shown = found.markdown(links=args.links, images=args.images) if args.format == "markdown" else found.text
        shown = printable(shown) if sys.stdout.isatty() else shown
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal shows what it can; what is read by a program is UTF-8 whatever the locale is.
        is_shown = sys.stdout.isatty()
        sys.stdout.reconfigure(encoding=None if is_shown else "utf-8", errors="replace" if is_shown else "strict")
    print(shown, end="")
    problem = problem_of(found, page.status)
    if problem is not None:
        print(f"lycosa: {args.page}: {problem}", file=sys.stderr)
    return 0 if problem is None else 1


def problem_of(found: Extracted, status: int) -> str | None:
    """Return why a page is no content; `None`: it is."""
    if found.refusal is not None:
        return f"this page is no content: {found.refusal}"
    if not 200 <= status < 300:
        return f"status {status}"
    if found.kind == "binary":
        return "this is no text"
    if found.is_cut:
        return "only its beginning was read: it has very many elements"
    return None if found.text.strip() else "no text was found"


class Page(NamedTuple):
    """A page that is read."""

    body: bytes
    url: str | None
    content_type: str | None = None
    status: int = 200
    headers: dict[str, str] | None = None


def read(args: argparse.Namespace) -> Page:
    """Return the page."""
    if args.page == "-":
        return Page(whole(sys.stdin.buffer, args.page), args.url)
    if args.page.lower().startswith(("http://", "https://")):
        return fetch(args.page, given_settings(args))
    try:
        with open(args.page, "rb") as file:
            return Page(whole(file, args.page), args.url)
    except OSError as error:
        raise SettingError("FILE", args.page, f"a file that can be read ({error.strerror}), a URL, or -") from None


def whole(file: IO[bytes], name: str) -> bytes:
    """Read a file; raises SettingError if it is too large."""
    body = file.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise SettingError("FILE", name, f"a page of at most {LARGEST >> 20} MB")
    return body


def printable(text: str) -> str:
    """Return a text without characters that a terminal takes for orders, or that change the order of others."""
    return text.translate(dict.fromkeys(ORDERS))


#: Control characters but tab and line feed, and those of bidirectional text that embed, override or isolate: legal in
#: Arabic and Hebrew, so that files have them.
ORDERS = (
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)

#: The same, as JSON may have them.
ESCAPED = {code: f"\\u{code:04x}" for code in ORDERS}


def fetch(url: str, settings: dict[str, Any]) -> Page:
    """Fetch a page as a crawl of one page does."""
    from lycosa.job import merge
    from lycosa.session import crawl

    if "user_agent" not in settings:
        raise SettingError("--user-agent", "", 'product/version and a contact: "mybot/1.0 (me@example.org)"')
    # One page, for somebody who waits: nothing is tried again unless they say so. What kind of page it is is told by
    # who looks at its text.
    settings = merge({"politeness": {"retries": 0}, "frontier": {"patience": 0}}, settings)
    # A redirect is followed within the scope; what is last is the page.
    settings = merge(settings, {"max_depth": 0, "parse": {"refusals": False}})
    settings.pop("seeds", None)
    last = None
    for outcome in crawl(url, **settings):
        last = outcome
        if outcome.body:
            fields = dict(outcome.headers)
            return Page(outcome.body, outcome.url, outcome.header("content-type"), outcome.status or 0, fields)
    reason = "nothing was returned" if last is None else last.error or f"status {last.status}, without a body"
    raise LycosaError(f"{url}: {reason}")


def as_json(found: Extracted) -> dict[str, Any]:
    """Everything, as JSON has it."""
    names = (
        *("kind", "confidence", "refusal", "is_cut", "title", "author", "published", "modified", "language"),
        *("canonical", "description", "site", "licence", "text"),
    )
    told = {name: getattr(found, name) for name in names}
    told |= {"simhash": f"{found.simhash:016x}", "digest": None if found.digest is None else found.digest.hex()}
    told["posts"] = [
        {"kind": post.kind, "author": post.author, "date": post.date, "text": post.text} for post in found.posts
    ]
    told["blocks"] = [{"role": block.role, "level": block.level, "text": block.text} for block in found.blocks]
    return told
