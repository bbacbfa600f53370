"""Seeds in files: lists of URLs, indexes of archives (CDXJ), and archives themselves."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.sources import ARCHIVES, sources_of

#: Ends of the names of indexes, and of what is read as `lycosa parse` reads it.
INDEXES = (".cdxj", ".cdxj.gz", ".cdx")
SOURCES = (*ARCHIVES, ".arc", ".arc.gz", ".wacz", ".parquet")


def seeds_of(name: str) -> list[str]:
    """Return the URLs of a file, each once, in its order.

    name: of a list with a URL on each line (``-``: standard input; blank lines and those that begin with ``#`` do not
    count), of an index (CDXJ), or of an archive: the URLs of its responses. Raises SettingError for a file that is
    missing or has no URL, and for a line of a list that is none. What cannot be crawled of an index or an archive is
    left out.
    """
    path = Path(name)
    if name != "-" and not path.is_file():
        raise SettingError("--seeds", name, "a file with URLs, a CDXJ index, a WARC file, or - for standard input")
    if path.name.endswith(SOURCES):
        found = _crawlable(_of_archive(name))
    else:
        lines = _lines(name)
        found = _crawlable(_of_index(lines)) if path.name.endswith(INDEXES) else _checked(name, lines)
    urls = list(dict.fromkeys(found))
    if not urls:
        raise SettingError("--seeds", name, "a file with at least one URL that can be crawled")
    return urls


def _lines(name: str) -> list[str]:
    """Return the lines of a file, or of standard input."""
    if name == "-":
        return sys.stdin.read().splitlines()
    try:
        content = Path(name).read_bytes()
        return (gzip.decompress(content) if name.endswith(".gz") else content).decode().splitlines()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise SettingError("--seeds", name, f"text in UTF-8 ({error})") from None


def _checked(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield the URLs of a list."""
    for number, line in enumerate(lines, 1):
        url = line.strip()
        if not url or url.startswith("#"):
            continue
        try:
            _core.canonical_url(url)
        except SettingError as error:
            raise SettingError(f"{name}, line {number}", url, error.allowed) from None
        yield url


def _of_index(lines: Iterable[str]) -> Iterator[str]:
    """Yield the URLs of an index: the key ``url`` of its JSON, or the third column of older ones."""
    for line in lines:
        _, brace, rest = line.partition("{")
        if brace:
            try:
                yield str(json.loads(brace + rest)["url"])
            except (ValueError, KeyError, TypeError):
                continue
        elif not line.startswith(" CDX"):
            columns = line.split()
            if len(columns) > 3:
                yield columns[2]


def _of_archive(name: str) -> Iterator[str]:
    """Yield the URLs of responses."""
    for source in sources_of(name):
        for batch in source.read():
            yield from (response.request.url for response in batch.responses)


def _crawlable(urls: Iterable[str]) -> Iterator[str]:
    """Leave out what is no URL that can be crawled."""
    for url in urls:
        try:
            yield _core.canonical_url(url)
        except SettingError:
            continue
