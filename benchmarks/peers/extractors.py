"""Extractors of main text, each behind one function: HTML as bytes, and the URL; returns the text.

`python -m benchmarks.peers.extractors NAME <FRAMES >FRAMES`: frames in are pages (URL, HTML, each with its length
before it), frames out are CPU nanoseconds (8 bytes) and the text, with its length before both.
"""

from __future__ import annotations

import importlib
import struct
import sys
import time
from collections.abc import Callable
from typing import IO

Extract = Callable[[bytes, str], str]


def _lycosa() -> Extract:
    import lycosa

    return lambda html, url: lycosa.extract(html, url=url).text


def _trafilatura() -> Extract:
    # As the corpus's own scorer calls it.
    extract = importlib.import_module("trafilatura").extract
    return lambda html, url: extract(html, include_comments=False, include_tables=True) or ""


def _rs_trafilatura() -> Extract:
    extract = importlib.import_module("rs_trafilatura").extract
    return lambda html, url: str(extract(html.decode("utf-8", "replace"), url=url or None).main_content or "")


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


def _magic_html() -> Extract:
    extractor = importlib.import_module("magic_html").GeneralExtractor()
    return lambda html, url: _text_of(extractor.extract(html.decode("utf-8", "replace"), base_url=url)["html"])


def _gne() -> Extract:
    extractor = importlib.import_module("gne").GeneralNewsExtractor()
    return lambda html, url: extractor.extract(html.decode("utf-8", "replace"))["content"]


#: By name: how it is made ready, and the distributions that it needs.
EXTRACTORS: dict[str, tuple[Callable[[], Extract], tuple[str, ...]]] = {
    "lycosa": (_lycosa, ()),
    "rs-trafilatura": (_rs_trafilatura, ("rs-trafilatura",)),
    "trafilatura": (_trafilatura, ("trafilatura",)),
    "resiliparse": (_resiliparse, ("resiliparse",)),
    "readability-lxml": (_readability, ("readability-lxml",)),
    "jusText": (_justext, ("justext",)),
    "magic-html": (_magic_html, ("magic-html",)),
    "GNE": (_gne, ("gne",)),
}


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


def main(name: str) -> None:
    """Extract until the input ends; a page on which it fails has no text."""
    extract, source, sink = EXTRACTORS[name][0](), sys.stdin.buffer, sys.stdout.buffer
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
    main(sys.argv[1])
