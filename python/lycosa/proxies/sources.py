"""Where proxies come from: files, lists on the web, pages with tables of them, functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lycosa.errors import SettingError
from lycosa.proxies.web import Web

#: Returns the lines of a list, each time that it is called; may raise OSError or ValueError.
Source = Callable[[], Iterable[str]]

#: Host and port in a text or in the cells of a table. All repetitions have an end: pages come from strangers.
USUAL = (
    r"(?P<host>\b(?:\d{1,3}\.){3}\d{1,3}|(?<![\w.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,10})"
    r"(?::|\s{0,100}</td>\s{0,100}<td[^>]{0,500}>\s{0,100})(?P<port>\d{2,5})\b"
)

_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> Iterator[str]:
    """Return the lines of a text one by one: a long one may be nothing but ends of lines."""
    begin = 0
    for end in _END.finditer(text):
        yield text[begin : end.start()]
        begin = end.end()
    if begin < len(text):
        yield text[begin:]


def of_file(path: Path) -> Source:
    """Return the lines of a file, read again each time."""
    return lambda: lines_of(path.read_text())


def of_list(url: str, web: Web | None = None) -> Source:
    """Return the lines of a list on the web. web: how it is read."""
    reads = web or Web()
    return lambda: lines_of(reads.text(url))


def of_page(url: str, pattern: str = USUAL, web: Web | None = None) -> Source:
    """Return what a pattern finds in a page: groups ``host`` and ``port``, and ``scheme`` and ``label`` if there are.

    Raises SettingError for a pattern that is none, or has no such groups.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise SettingError("proxies.pattern", pattern, f"a regular expression ({error})") from None
    if not {"host", "port"} <= compiled.groupindex.keys():
        raise SettingError("proxies.pattern", pattern, "a regular expression with (?P<host>…) and (?P<port>…)")
    reads = web or Web()

    def lines() -> Iterable[str]:
        for found in compiled.finditer(reads.text(url)):
            parts = {"scheme": "http", "label": "", **{name: part or "" for name, part in found.groupdict().items()}}
            yield f"{parts['scheme'].lower()}://{parts['host']}:{parts['port']} {parts['label']}".strip()

    return lines
