"""Links of real pages beside those that lexbor's tree and ada's URLs give: the parser and the URLs of browsers."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ada_url import URL
from lycosa import Request, Responses, _core
from lycosa.errors import SettingError
from lycosa.job import Job, make_job
from selectolax.lexbor import LexborHTMLParser

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))

#: What is a link of a page, as lexbor selects it.
LINKS = "a[href], area[href], frame[src], iframe[src], link[rel~=next i][href], link[rel~=prev i][href]"

#: The target of a refresh.
REFRESH = re.compile(r"""[\d.\s]*[;,]\s*(?:url\s*=\s*)?['"]?([^'"]*)""", re.IGNORECASE)

#: Each way in which the core reads a page.
WAYS = {
    "by one pass over its bytes": {},
    "by its tree": {"store": {"fields": ["url", "main_text"]}},
}


def pages() -> Iterator[tuple[str, bytes]]:
    """The front pages of 130 sites."""
    with tarfile.open(CORPORA / "scrapy-bench-pages" / "sites.tar.gz") as members:
        for member in members:
            if member.name.endswith((".html", ".htm")) and (file := members.extractfile(member)) is not None:
                yield member.name, file.read()


def wanted(html: bytes, url: str, job: Job) -> set[str]:
    """The links that lexbor and ada find, in the canonical form of the job's rules."""
    tree = LexborHTMLParser(html.decode("utf-8", "replace"))
    base, first = URL(url), tree.css_first("base[href]")
    if first is not None and URL.can_parse(first.attributes["href"] or "", url):
        base = URL(first.attributes["href"] or "", url)
    references = [node.attributes.get("href") or node.attributes.get("src") or "" for node in tree.css(LINKS)]
    # What a page sends browsers to after a while.
    refreshes = [node.attributes.get("content") or "" for node in tree.css("meta[http-equiv=refresh i]")]
    references += [match[1] for text in refreshes if (match := REFRESH.match(text))]
    found = set()
    for reference in references:
        if URL.can_parse(reference, base.href):
            target = URL(reference, base.href)
            if target.protocol in ("http:", "https:"):
                try:
                    found.add(_core.canonical_link(target.href, job))
                except SettingError:
                    continue  # such as a name that no host may have
    return found


@pytest.mark.parametrize("way", WAYS)
def test_links_of_real_pages_are_those_of_browsers(way: str) -> None:
    job = make_job({"seeds": ["http://a.example/"], "parse": {"refusals": False}, **WAYS[way]})
    parser, told, count = _core.Parser(job), list[str](), 0
    for name, html in pages():
        url = f"http://{name.rsplit('/', 1)[-1].removesuffix('.html').replace('_', '-').lower()}.example/"
        response = Request(url).respond(200, headers=[("Content-Type", "text/html; charset=utf-8")], body=html)
        (outcome,) = parser.parse(Responses([response]))
        ours, theirs = set(outcome.links), wanted(html, url, job)
        count += len(theirs)
        told += [f"{name}: not found: {one}" for one in sorted(theirs - ours)]
        told += [f"{name}: only ours: {one}" for one in sorted(ours - theirs)]
    assert count > 10_000
    assert not told, f"{len(told)} of {count} links differ:\n" + "\n".join(told[:50])
