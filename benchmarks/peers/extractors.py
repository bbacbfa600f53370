"""Extractors of main text, each behind one function: HTML as bytes, and the URL; returns the text.

`python -m benchmarks.peers.extractors NAME <FRAMES >FRAMES`: frames in are pages (URL, HTML, each with its length
before it), frames out are CPU nanoseconds (8 bytes) and the text, with its length before both. Each is called as its
documentation says, and is told what it wants to be told.
"""

from __future__ import annotations

import importlib
import struct
import sys
import time
from collections.abc import Callable
from typing import IO, NamedTuple

Extract = Callable[[bytes, str], str]


def _lycosa() -> Extract:
    import lycosa

    return lambda html, url: lycosa.extract(html, url=url).text


def _density_paper() -> Extract:
    import lycosa

    return lambda html, url: lycosa.extract(html, url=url, method="density-paper").text


def _trafilatura() -> Extract:
    # As the corpus's own scorer calls it.
    extract = importlib.import_module("trafilatura").extract
    return lambda html, url: extract(html, include_comments=False, include_tables=True) or ""


def _rs_trafilatura() -> Extract:
    extract = importlib.import_module("rs_trafilatura").extract_bytes
    return lambda html, url: str(extract(html, url=url or None).main_content or "")


def _resiliparse() -> Extract:
    extract = importlib.import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda html, url: extract(html.decode("utf-8", "replace"), main_content=True)


def _readability() -> Extract:
    document = importlib.import_module("readability").Document
    return lambda html, url: _text_of(document(html).summary())


def _justext() -> Extract:
    module = importlib.import_module("justext")
    stoplist = module.get_stoplist("English")
    return lambda html, url: "\n".join(p.text for p in module.justext(html, stoplist) if not p.is_boilerplate)


def _magic_html(html_type: str = "article") -> Extract:
    extractor = importlib.import_module("magic_html").GeneralExtractor()

    def extract(html: bytes, url: str) -> str:
        found = extractor.extract(html.decode("utf-8", "replace"), base_url=url, html_type=html_type)
        return _text_of(found["html"])

    return extract


def _gne() -> Extract:
    extractor = importlib.import_module("gne").GeneralNewsExtractor()
    return lambda html, url: extractor.extract(html.decode("utf-8", "replace"))["content"]


class Extractor(NamedTuple):
    """An extractor: how it is made ready, the distributions that it needs, and its settings."""

    make: Callable[[], Extract]
    needs: tuple[str, ...] = ()
    settings: str = "its defaults"


#: By name.
EXTRACTORS = {
    "lycosa": Extractor(_lycosa),
    "density-paper": Extractor(_density_paper, (), "Zhu et al. 2013, as published, in Lycosa"),
    "rs-trafilatura": Extractor(_rs_trafilatura, ("rs-trafilatura",)),
    "trafilatura": Extractor(
        _trafilatura, ("trafilatura",), "with tables, without comments, as the scorer of the corpora calls it"
    ),
    "resiliparse": Extractor(_resiliparse, ("resiliparse",), "main content only"),
    "readability-lxml": Extractor(_readability, ("readability-lxml",)),
    "jusText": Extractor(_justext, ("justext",), "the stop words of English, whatever the language of a page"),
    "magic-html": Extractor(_magic_html, ("magic-html",), "told which pages are forums"),
    "GNE": Extractor(_gne, ("gne",)),
}

#: Extractors that are told what a page is, by the kinds that they are told.
TOLD: dict[tuple[str, str], Callable[[], Extract]] = {("magic-html", "forum"): lambda: _magic_html("forum")}


#: Elements whose text is apart from what is around them.
_BLOCKS = frozenset(
    [
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "br",
            "dd",
            "div",
            "dl",
            "dt",
            "figcaption",
            "figure",
            "footer",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section"),
        *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    ]
)


def _text_of(html: str) -> str:
    """The text of HTML, with line breaks where blocks end, so that no words are joined."""
    if not html.strip():
        return ""
    root = importlib.import_module("lxml.html").fromstring(html)
    for element in root.iter():
        if element.tag in _BLOCKS:
            element.text, element.tail = f"\n{element.text or ''}", f"\n{element.tail or ''}"
    return str(root.text_content())


def main(name: str, kind: str = "") -> None:
    """Extract until the input ends; a page on which it fails has no text. kind: of all pages, for who is told."""
    make = TOLD.get((name, kind), EXTRACTORS[name].make)
    extract, source, sink = make(), sys.stdin.buffer, sys.stdout.buffer
    extract(
        b"<html><body><p>Whatever is made at the first page is not counted.</p></body></html>", "http://a.example/"
    )
    while (url := _frame(source)) is not None and (html := _frame(source)) is not None:
        begin = time.process_time_ns()
        try:
            text = extract(html, url.decode()) or ""
        except Exception as error:  # of others' code, whatever it is
            print(f"{name}: {url.decode()}: {error!r}", file=sys.stderr)
            text = ""
        spent, data = time.process_time_ns() - begin, text.encode("utf-8", "replace")
        sink.write(struct.pack("<QI", spent, len(data)) + data)
        sink.flush()


def _frame(source: IO[bytes]) -> bytes | None:
    """Read a frame; `None`: there is no more."""
    head = source.read(4)
    return source.read(struct.unpack("<I", head)[0]) if len(head) == 4 else None


if __name__ == "__main__":
    main(*sys.argv[1:])
