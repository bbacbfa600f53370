"""What ``lycosa parse`` reads: responses that were received before, in archives, crawls and tables.

A source is read in batches that are always the same, and a position in it is a number of batches: records of an
archive have no places of their own where it is compressed as a whole. To go on somewhere it is read up to there.
"""

from __future__ import annotations

import importlib.util
import json
import struct
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lycosa import _core
from lycosa.errors import JobDamaged, SettingError
from lycosa.records import Request, Response, Responses
from lycosa.store.directory import JobDirectory

#: Records and bytes of a batch: always the same, so that a second run has the positions of the first. So few that the
#: caches of a processor have them: with 8 MB archives were read a quarter slower.
RECORDS, BYTES = 500, 2 << 20

#: The batches that a position counts: another number wherever a source would be read in other ones.
BATCHES_VERSION = 2

#: Ends of the names of WARC files.
ARCHIVES = (".warc", ".warc.gz", ".warc.zst")

#: What a source may be, for errors.
ALLOWED = "a WARC, ARC or WACZ file, a Parquet file with url and body, or the directory of a crawl"


class Damage(NamedTuple):
    """What could not be read of a source: it was passed over."""

    source: str
    position: int
    text: str


class Batch(NamedTuple):
    """Responses, which part of the source was read behind them, and what was passed over before that."""

    responses: Responses
    part: float
    damages: Sequence[Damage] = ()


class Source(Protocol):
    """Responses in an order."""

    #: As the user has it.
    name: str

    def state(self) -> str:
        """Return what differs when the source has changed."""

    def read(self) -> Iterator[Batch]:
        """Yield all responses: always in the same batches."""


def sources_of(name: str) -> list[Source]:
    """Return what a path has. Raises SettingError if that is nothing that can be read."""
    path = Path(name)
    if path.is_dir():
        return [CrawlSource(path)]
    if not path.is_file() or path.stat().st_size == 0:
        raise SettingError("source", name, ALLOWED)
    if path.suffix == ".parquet":
        return [ParquetSource(path)]
    if path.suffix == ".wacz":
        return list(_archives_in(path))
    return [WarcSource(path)]


class WarcSource:
    """A WARC or ARC file, or one that is stored in another file."""

    def __init__(self, path: Path, name: str | None = None, begin: int = 0, end: int | None = None) -> None:
        """Open nothing yet. begin, end: where it is in the file."""
        self.name, self._path, self._begin = name or str(path), path, begin
        self._end = path.stat().st_size if end is None else end

    def state(self) -> str:
        """Return size and time of the file."""
        return _state_of(self._path)

    def read(self) -> Iterator[Batch]:
        """Read; see :class:`Source`."""
        reader, is_over = _core.WarcReader(self._path, self._begin, self._end), False
        while not is_over:
            responses, at, found, is_over = reader.read(RECORDS, BYTES)
            damages = [Damage(self.name, where - self._begin, text) for where, text in found]
            yield Batch(responses, (at - self._begin) / max(self._end - self._begin, 1), damages)


def _archives_in(path: Path) -> Iterator[WarcSource]:
    """Yield the WARC files of a WACZ file. Raises SettingError if it is none, or they are compressed as a whole."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            found = [info for info in archive.infolist() if info.filename.endswith(ARCHIVES)]
            for info in found:
                if info.compress_type != zipfile.ZIP_STORED:
                    raise SettingError(
                        "source", f"{path} with {info.filename}", "an archive that stores its WARC files"
                    )
                # What is before a member's bytes: 30 bytes, its name, and what tools add to it.
                file.seek(info.header_offset + 26)
                name, more = struct.unpack("<HH", file.read(4))
                begin = info.header_offset + 30 + name + more
                yield WarcSource(path, f"{path}!{info.filename}", begin, begin + info.compress_size)
    except (zipfile.BadZipFile, struct.error):
        raise SettingError("source", path, "a WACZ file that is whole") from None
    if not found:
        raise SettingError("source", path, "a WACZ file with WARC files")


class CrawlSource:
    """The log of a crawl that has ended: what was received of each URL last, failures among it."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet. Raises SettingError without a log, JobInUse while a crawl runs."""
        self.name, self._directory = str(path), JobDirectory(path)
        segments = self._directory.segments()
        if not self._directory.has_records():
            raise SettingError("source", path, ALLOWED)
        if self._directory.writer() is not None:
            raise self._directory.in_use()
        self._first = int(segments[0].stem)
        self._size = int(segments[-1].stem) + segments[-1].stat().st_size - self._first

    def state(self) -> str:
        """Return where the log begins and ends."""
        return f"{self._first}-{self._first + self._size}"

    def read(self) -> Iterator[Batch]:
        """Read; see :class:`Source`."""
        reader = _core.LogReader.ended(self._directory.log, None)
        before, damages = -1, list[Damage]()
        if self._first > 0:
            text = "what is before it was removed, since all outputs had it (store.retain of the crawl)"
            damages.append(Damage(self.name, self._first, text))
        while (at := reader.position()) != before:
            before = at
            try:
                outcomes = reader.read(RECORDS, BYTES)
            except JobDamaged as error:
                reader.skip_damage()
                damages.append(Damage(self.name, at - self._first, str(error)))
                continue
            if (behind := reader.position()) != at:
                part = (behind - self._first) / max(self._size, 1)
                yield Batch(outcomes.rows().responses(), part, damages)
                damages = []
        # What is damaged up to the end was being written when the crawl was killed: going on cuts it, too.


class ParquetSource:
    """A Parquet file with ``url`` and ``body`` or ``html``; other columns, such as ``status``, where it has them."""

    #: Columns with a page, in the order in which they are looked for.
    BODIES = ("body", "html", "content")
    #: Others that are read.
    OTHERS = ("status", "headers", "address", "final_url")

    def __init__(self, path: Path) -> None:
        """Read the file's columns. Raises SettingError if a needed one is missing, or without pyarrow."""
        if importlib.util.find_spec("pyarrow") is None:
            raise SettingError("source", path, "a WARC file; for Parquet: pip install 'lycosa[parquet]'")
        import pyarrow
        import pyarrow.parquet

        self.name, self._path = str(path), path.absolute()
        try:
            with pyarrow.parquet.ParquetFile(self._path) as file:
                names = file.schema_arrow.names
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise SettingError("source", path, f"a Parquet file ({error})") from None
        body = next((name for name in self.BODIES if name in names), None)
        if "url" not in names or body is None:
            raise SettingError(
                "source", f"{path} with {', '.join(names)}", f"columns url and {' or '.join(self.BODIES)}"
            )
        self._body, self._columns = body, ["url", body, *(name for name in self.OTHERS if name in names)]

    def state(self) -> str:
        """Return size and time of the file."""
        return _state_of(self._path)

    def read(self) -> Iterator[Batch]:
        """Read; see :class:`Source`. A group of rows that is damaged is passed over."""
        import pyarrow.parquet

        at = 0
        with pyarrow.parquet.ParquetFile(self._path) as file:
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                # Bodies are longer than what they are compressed to; all rows of a group are in memory as columns.
                rows = max(min(RECORDS, BYTES * group.num_rows // max(group.total_byte_size, 1)), 1)
                try:
                    for batch in file.iter_batches(rows, row_groups=[number], columns=self._columns):
                        yield self._responses(batch.to_pylist(), at, file.metadata.num_rows)
                        at += batch.num_rows
                except (OSError, pyarrow.ArrowException) as error:
                    damage = Damage(self.name, at, f"the rest of a group of {group.num_rows} rows: {error}")
                    at = sum(file.metadata.row_group(one).num_rows for one in range(number + 1))
                    yield Batch(Responses([]), at / max(file.metadata.num_rows, 1), [damage])

    def _responses(self, rows: list[dict[str, Any]], start: int, size: int) -> Batch:
        """Make responses of rows. size: of the whole table."""
        responses, damages = list[Response](), list[Damage]()
        for number, row in enumerate(rows, start):
            if row[self._body] is None:
                continue  # failures and redirects have none
            try:
                responses.append(self._response(row))
            except (SettingError, ValueError, TypeError, AttributeError) as error:
                damages.append(Damage(self.name, number, str(error)))
        return Batch(Responses(responses), (start + len(rows)) / max(size, 1), damages)

    def _response(self, row: dict[str, Any]) -> Response:
        """Make a response of a row."""
        body = row[self._body]
        body = body.encode() if isinstance(body, str) else body
        headers = row.get("headers")
        pairs = json.loads(headers) if isinstance(headers, str) else (headers or [])
        # A body in a table has no content coding any more.
        fields = [(name, value) for name, value in map(tuple, pairs) if name and name.lower() != "content-encoding"]
        if not any(name.lower() == "content-type" for name, _ in fields):
            fields.append(("Content-Type", "text/html; charset=utf-8" if self._body != "body" else "text/html"))
        return Request(row["url"]).respond(
            row.get("status") or 200,
            headers=fields,
            body=body,
            address=row.get("address"),
            final_url=row.get("final_url"),
        )


def _state_of(path: Path) -> str:
    """What differs when a file has changed: size, and time in nanoseconds."""
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"
