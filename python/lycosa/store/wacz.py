"""WACZ: an archive that browsers of archives open as one file: WARC, its index, a list of pages, digests.

While a crawl runs its records are in ``NAME.wacz.parts/``; when it is complete they are packed, and taken apart again
when it is resumed. (Web Archive Collection Zipped, version 1.1.1.)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lycosa import __version__
from lycosa.records import Outcomes
from lycosa.sink import SinkJob
from lycosa.store.file_sink import FileSink
from lycosa.store.replace import sync_directory, sync_file
from lycosa.store.warc import WarcSink

#: Where the records and their index are in the archive, and the list of pages.
RECORDS, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"

#: Bytes that are copied at once.
PIECE = 1 << 20


class WaczSink(FileSink):
    """Writes ``.wacz``."""

    commit_bytes: int = WarcSink.commit_bytes
    commit_seconds: float = WarcSink.commit_seconds

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self._folder = self.path.with_name(f"{self.path.name}.parts")
        self._records = WarcSink(str(self._folder / Path(RECORDS).name))

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        self._records.attach(job)

    def exists(self) -> bool:
        """Return whether the archive or its parts exist."""
        return self.path.exists() or self._folder.exists()

    def open(self, first: int, end: int) -> int:
        """Take the archive apart, and go on with its records; see ``lycosa.sink.Sink``."""
        self.note()
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._records.path.exists() and self.path.exists():
            with zipfile.ZipFile(self.path) as archive:
                for name, path in ((INDEX, self._index()), (RECORDS, self._records.path)):
                    _take_out(archive, name, path)
        return self._records.open(first, end)

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Write records."""
        return self._records.write(outcomes, position)

    def commit(self, position: int) -> None:
        """Commit the records."""
        self._records.commit(position)

    def committed(self) -> int | None:
        """Return the position of the records; of an archive that is complete they are in it."""
        if self._records.path.exists() or not self.path.exists():
            return self._records.committed()
        with contextlib.suppress(OSError, zipfile.BadZipFile, KeyError), zipfile.ZipFile(self.path) as archive:
            return self._records.position_at(archive.getinfo(RECORDS).file_size)
        return None

    def close(self) -> None:
        """Complete records and index, and pack them; the parts are removed then."""
        self._records.close()
        if not self._records.path.exists():
            return
        beside = self.path.with_name(f"{self.path.name}.new")
        with zipfile.ZipFile(beside, "w", allowZip64=True) as archive:
            resources = [_put_in(archive, RECORDS, self._records.path), _put_in(archive, INDEX, self._index())]
            resources.append(_write_in(archive, PAGES, pages(self._index())))
            package = json.dumps(_package(resources), indent=1).encode()
            archive.writestr("datapackage.json", package, zipfile.ZIP_DEFLATED)
            digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
            archive.writestr("datapackage-digest.json", json.dumps(digest), zipfile.ZIP_DEFLATED)
        with beside.open("rb") as file:
            sync_file(file.fileno())
        beside.replace(self.path)
        sync_directory(self.path.absolute().parent)
        shutil.rmtree(self._folder)

    def remove(self) -> None:
        """Remove archive, parts and position."""
        self._records.remove()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.path.unlink(missing_ok=True)

    def _index(self) -> Path:
        """The index beside the records."""
        return self._records.path.with_name(f"{self._records.path.name}.cdxj")


def pages(index: Path) -> Iterator[bytes]:
    """Yield the lines of a list of pages: HTML that was there, by the index."""
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}).encode() + b"\n"
    with index.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            _, stamp, told = line.split(b" ", 2)
            fields = json.loads(told)
            if str(fields.get("status")) == "200" and "html" in str(fields.get("mime")):
                at = stamp.decode()
                when = f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:14]}Z"
                yield json.dumps({"id": str(number), "url": fields["url"], "ts": when}).encode() + b"\n"


def _package(resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The description of the archive."""
    return {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "software": f"Lycosa {__version__}",
        "resources": resources,
    }


def _put_in(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    """Put a file into an archive."""
    with path.open("rb") as file:
        return _write_in(archive, name, iter(lambda: file.read(PIECE), b""))


def _write_in(archive: zipfile.ZipFile, name: str, pieces: Iterator[bytes]) -> dict[str, Any]:
    """Write a file into an archive, as it is: records are read at their places in it; returns how it is described."""
    digest, length = hashlib.sha256(), 0
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as into:
        for piece in pieces:
            into.write(piece)
            digest.update(piece)
            length += len(piece)
    return {"name": Path(name).name, "path": name, "hash": f"sha256:{digest.hexdigest()}", "bytes": length}


def _take_out(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Take a file out of an archive: it is there once it is whole."""
    beside = path.with_name(f"{path.name}.new")
    with archive.open(name) as source, beside.open("wb") as into:
        shutil.copyfileobj(source, into, PIECE)
        into.flush()
        sync_file(into.fileno())
    beside.replace(path)
