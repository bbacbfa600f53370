"""What extractors read of a page's metadata: `python -m benchmarks.peers.page_metadata NAME <FRAMES >LINES`.

Frames in are pages (URL, HTML, each with its length before it); lines out are objects with title, author and date.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
from collections.abc import Callable
from typing import IO

Read = Callable[[bytes, str], dict[str, str | None]]


def _lycosa() -> Read:
    import lycosa

    def read(html: bytes, url: str) -> dict[str, str | None]:
        found = lycosa.extract(html, url=url)
        return {"title": found.title, "author": found.author, "date": found.published}

    return read


def _trafilatura() -> Read:
    extract = importlib.import_module("trafilatura").extract_metadata

    def read(html: bytes, url: str) -> dict[str, str | None]:
        found = extract(html, default_url=url or None)
        return {} if found is None else {"title": found.title, "author": found.author, "date": found.date}

    return read


def _htmldate() -> Read:
    find = importlib.import_module("htmldate").find_date
    return lambda html, url: {"date": find(html.decode("utf-8", "replace"), url=url or None, original_date=True)}


#: By name: how it is made ready, and the distributions that it needs.
READERS: dict[str, tuple[Callable[[], Read], tuple[str, ...]]] = {
    "lycosa": (_lycosa, ()),
    "trafilatura": (_trafilatura, ("trafilatura",)),
    "htmldate": (_htmldate, ("htmldate",)),
}


def main(name: str) -> None:
    """Read until the input ends; a page on which a reader fails has no metadata."""
    read, source = READERS[name][0](), sys.stdin.buffer
    while (url := _frame(source)) is not None and (html := _frame(source)) is not None:
        try:
            found = read(html, url.decode())
        except Exception as error:  # of others' code, whatever it is
            print(f"{name}: {url.decode()}: {error!r}", file=sys.stderr)
            found = {}
        print(json.dumps(found), flush=True)


def _frame(source: IO[bytes]) -> bytes | None:
    """Read a frame; `None`: there is no more."""
    head = source.read(4)
    return source.read(struct.unpack("<I", head)[0]) if len(head) == 4 else None


if __name__ == "__main__":
    main(sys.argv[1])
