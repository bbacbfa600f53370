"""Outputs of `lycosa resolve`, which can be resumed: text that is cut to its last complete row, Parquet in parts."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from lycosa._core import Resolutions
from lycosa.errors import SettingError, StorageError
from lycosa.store import parts
from lycosa.store.parts import PartWriter
from lycosa.store.replace import sync_directory

if TYPE_CHECKING:
    import pyarrow

#: Seconds between two syncs of text, and between two completed parts of Parquet: the most that a power failure, or
#: the end of the process, loses. Lost names are resolved again.
SYNC, PART = 1.0, 30.0

#: The writer in the metadata of Parquet.
WRITER = "lycosa resolve"

#: Names per batch of those in the output.
BATCH = 10_000

#: Maximum characters in a CSV field: the records of many types may have megabytes. Python's own limit of 131,072
#: guards against foreign files, which these are not.
MAX_FIELD = 1 << 30


@dataclass(frozen=True, slots=True)
class Answered:
    """A row of an output: as its line, or as a record batch of one row."""

    name: str
    status: str
    line: bytes = b""
    row: pyarrow.RecordBatch | None = None


class Output(Protocol):
    """Writes answers."""

    def open(self) -> Iterator[list[str]]:
        """Open it, cut an unfinished end, yield the names in it. Raises StorageError, OSError."""

    def write(self, answers: Resolutions) -> None:
        """Write answers."""

    def close(self) -> None:
        """Complete it; it can still be resumed."""


def output(path: str | None, standard: BinaryIO, *, has_records: bool = False) -> Output:
    """Return the output with this path, or standard output. Raises SettingError."""
    if path is None or path == "-":
        return StandardOutput(standard)
    kinds: dict[str, Callable[[Path], TextOutput | ParquetOutput]] = {
        ".jsonl": lambda path: TextOutput(path, b"", Resolutions.lines, partial(_from_json, has_records)),
        ".csv": lambda path: TextOutput(
            path, _header(has_records), Resolutions.csv, partial(_from_csv, has_records), quoted=True
        ),
        ".parquet": partial(ParquetOutput, has_records=has_records),
    }
    make = kinds.get(Path(path).suffix)
    if make is None:
        raise SettingError("output", path, "a file that ends in .jsonl, .csv or .parquet")
    if not Path(path).absolute().parent.is_dir():
        raise SettingError("output", path, "a file in a directory that exists")
    if Path(path).is_dir():
        raise SettingError("output", path, "a file, not a directory")
    if Path(path).suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise SettingError("output", path, "a .jsonl or .csv file; for Parquet: pip install 'lycosa[parquet]'")
    return make(Path(path))


class StandardOutput:
    """JSON lines for a pipe; cannot be resumed."""

    def __init__(self, file: BinaryIO) -> None:
        """Write to the file."""
        self._file = file

    def open(self) -> Iterator[list[str]]:
        """Yield no names."""
        yield from ()

    def write(self, answers: Resolutions) -> None:
        """Write lines."""
        self._file.write(answers.lines())
        self._file.flush()

    def close(self) -> None:
        """Do nothing."""


class TextOutput:
    """A text file with one row per answer. Opening it cuts off a row that was torn by a crash."""

    def __init__(
        self,
        path: Path,
        header: bytes,
        format: Callable[[Resolutions], bytes],
        read: Callable[[Sequence[bytes]], list[Answered]],
        *,
        quoted: bool = False,
    ) -> None:
        """Open nothing yet; ``read`` parses rows, and raises ValueError if it cannot.

        ``quoted``: a line break between quotes belongs to the row.
        """
        self.path, self._header, self._format, self._read = path, header, format, read
        self._quoted = quoted
        self._file: BinaryIO | None = None
        self._synced = time.monotonic()

    def open(self) -> Iterator[list[str]]:
        """Cut off a torn row, yield the names in the file."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._file = os.fdopen(descriptor, "r+b")
        _lock(descriptor, self.path)
        end = _last_line_end(self._file)
        self._file.truncate(end)
        if end < len(self._header) or self._header != self._file.read(len(self._header)):
            if end:
                raise self._foreign(1)
            self._file.seek(0)
            self._file.write(self._header)
        for rows in self._rows():
            yield [row.name for row in rows]

    def rows(self) -> Iterator[list[Answered]]:
        """Yield the rows again, after the output was opened and read to its end."""
        assert self._file is not None, "opened before"
        self._file.seek(len(self._header))
        yield from self._rows()

    def beside(self, path: Path) -> TextOutput:
        """Return another output of the same kind."""
        return TextOutput(path, self._header, self._format, self._read, quoted=self._quoted)

    def copy(self, rows: list[Answered]) -> None:
        """Write rows of an output of the same kind."""
        self._append(b"".join(row.line for row in rows))

    def remove(self) -> None:
        """Do nothing: there is no other file."""

    def write(self, answers: Resolutions) -> None:
        """Write lines."""
        self._append(self._format(answers))

    def _rows(self) -> Iterator[list[Answered]]:
        """Yield the rows from the file's position on."""
        assert self._file is not None, "opened before"
        number, end, torn = self._header.count(b"\n"), self._file.tell(), b""
        while lines := self._file.readlines(BATCH * 100):
            rows, torn = _whole([torn, *lines]) if self._quoted else (lines, b"")
            try:
                yield self._read(rows)
            except ValueError:
                raise self._foreign(number + 1, number + sum(row.count(b"\n") for row in rows)) from None
            number += sum(row.count(b"\n") for row in rows)
            end += sum(map(len, rows))
        if torn:
            self._check_torn(torn.splitlines(keepends=True)[1:], number)
            self._file.truncate(end)
            self._file.seek(end)

    def _check_torn(self, lines: Sequence[bytes], number: int) -> None:
        """Raise StorageError if rows follow an open quote: a crash does not cause that, and all would be cut."""
        for line in lines:
            with contextlib.suppress(ValueError):
                self._read([line])
                raise self._foreign(number + 1)

    def _append(self, lines: bytes) -> None:
        """Write lines at the end."""
        assert self._file is not None, "opened before"
        self._file.write(lines)
        # Concurrent readers always see complete lines.
        self._file.flush()
        if time.monotonic() - self._synced >= SYNC:
            os.fdatasync(self._file.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        """Sync and close the file."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def _foreign(self, first: int, last: int = 0) -> StorageError:
        """Return the error for a file that was not written by this command."""
        where = f"line {first}" if last <= first else f"one of the lines {first} to {last}"
        return StorageError(
            f"{self.path}: {where} was not written by lycosa resolve with the same --types; move the file away or "
            "choose another output"
        )


class ParquetOutput:
    """Parquet parts, each complete when it gets its final name; at the end they are merged to one file."""

    def __init__(self, path: Path, *, has_records: bool) -> None:
        """Open nothing yet."""
        # Arrow parses a relative path with a colon as a URL.
        self.path, self._folder = path.absolute(), path.absolute().with_name(path.name + ".parts")
        self._has_records = has_records
        self._schema: pyarrow.Schema | None = None
        self._writer: PartWriter | None = None
        self._start = self._rows = 0
        self._begun = time.monotonic()
        self._locked: int | None = None

    def open(self) -> Iterator[list[str]]:
        """Turn a complete file into a part again, drop an unfinished part, yield the names in the output."""
        import pyarrow.parquet

        self._folder.mkdir(exist_ok=True)
        self._locked = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _lock(self._locked, self.path)
        for unfinished in self._folder.glob("*.part"):
            unfinished.unlink()
        self._take_apart()
        for part in parts.parts_in(self._folder):
            self._check(part.path)
            with pyarrow.parquet.ParquetFile(part.path) as file:
                if file.schema_arrow.names != Resolutions.columns(self._has_records):
                    raise StorageError(
                        f"{self.path}: written with other --types; move it away or choose another output"
                    )
                for batch in file.iter_batches(BATCH, columns=["name"]):
                    yield batch.column(0).to_pylist()
            self._start = self._rows = part.end

    def write(self, answers: Resolutions) -> None:
        """Write answers to the part in progress."""
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_stream(answers)
        self._append(list(reader), reader.schema)

    def rows(self) -> Iterator[list[Answered]]:
        """Yield the rows again, after the output was opened and read to its end."""
        import pyarrow.parquet

        for part in parts.parts_in(self._folder):
            with pyarrow.parquet.ParquetFile(part.path) as file:
                for batch in file.iter_batches(BATCH):
                    names, statuses = (batch.column(name).to_pylist() for name in ("name", "status"))
                    yield [
                        Answered(name, status, row=batch.slice(place, 1))
                        for place, (name, status) in enumerate(zip(names, statuses, strict=True))
                    ]

    def beside(self, path: Path) -> ParquetOutput:
        """Return another output of the same kind."""
        return ParquetOutput(path, has_records=self._has_records)

    def copy(self, rows: list[Answered]) -> None:
        """Write rows of an output of the same kind."""
        import pyarrow

        if rows:
            table = pyarrow.Table.from_batches([row.row for row in rows]).combine_chunks()
            self._append(table.to_batches(), table.schema)

    def remove(self) -> None:
        """Remove the parts, which another output replaced, and release the lock."""
        for part in parts.parts_in(self._folder):
            part.path.unlink()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None
        self._folder.rmdir()

    def _append(self, batches: list[pyarrow.RecordBatch], schema: pyarrow.Schema) -> None:
        """Write rows to the part in progress."""
        self._schema = schema
        if self._writer is None:
            self._writer = PartWriter(self._folder / f"{self._start:020}.part", schema)
            self._begun = time.monotonic()
        self._rows += sum(len(batch) for batch in batches)
        self._writer.write(batches, self._rows)
        if time.monotonic() - self._begun >= PART:
            self._complete()

    def close(self) -> None:
        """Complete the part in progress, and merge all parts to one file."""
        self._complete()
        known = parts.parts_in(self._folder)
        if len(known) == 1:
            known[0].path.replace(self.path)
            sync_directory(self.path.absolute().parent)
        elif known:
            parts.merge(known, self.path, WRITER)
            for part in known:
                part.path.unlink()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None
        if self.path.exists():
            self._folder.rmdir()

    def _complete(self) -> None:
        """Complete the part in progress."""
        if self._writer is not None:
            self._writer.finish(WRITER, self._start, self._rows)
            self._writer, self._start = None, self._rows

    def _take_apart(self) -> None:
        """Turn a complete file into the first part."""
        if not self.path.exists():
            return
        end = self._check(self.path)
        for part in parts.parts_in(self._folder):
            # Left by a crash after the parts were merged.
            if part.end <= end:
                part.path.unlink()
        self.path.replace(self._folder / f"{0:020}-{end:020}.parquet")
        sync_directory(self._folder)
        sync_directory(self.path.absolute().parent)

    def _check(self, path: Path) -> int:
        """Return the end of the file's range. Raises StorageError for a file of another writer."""
        covered = parts.range_of(path)
        if covered is None or covered.job != WRITER:
            raise StorageError(f"{path}: not written by lycosa resolve; move it away or choose another output")
        return covered.end


def _last_line_end(file: BinaryIO) -> int:
    """Return the end of the last complete line; rewinds the file."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - (1 << 16))
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    file.seek(0)
    return end


def _lock(descriptor: int, path: Path) -> None:
    """Lock the output for this process. Raises StorageError if another process has it locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StorageError(f"{path}: another process writes to it; wait until it has ended") from None


def _header(has_records: bool) -> bytes:
    """Return the header line of a CSV file."""
    return (",".join(Resolutions.columns(has_records)) + "\n").encode()


def _whole(lines: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """Join CSV lines to rows; returns these, and the rest: a row with an open quote."""
    rows, parts, is_open = list[bytes](), list[bytes](), False
    for line in lines:
        parts.append(line)
        # A quote within a field is doubled: a complete row has an even number of quotes.
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open and line:
            rows.append(line if len(parts) == 1 else b"".join(parts))
            parts.clear()
    return rows, b"".join(parts)


def _from_json(has_records: bool, lines: Sequence[bytes]) -> list[Answered]:
    """Parse rows of JSON lines."""
    rows = [json.loads(line) for line in lines]
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) and "status" in row for row in rows):
        raise ValueError("another kind of line")
    if any(("records" in row) != has_records and row["status"] != "bad-name" for row in rows):
        raise ValueError("other types")
    return [Answered(row["name"], row["status"], line) for row, line in zip(rows, lines, strict=True)]


def _from_csv(has_records: bool, lines: Sequence[bytes]) -> list[Answered]:
    """Parse rows of CSV, each with all its lines."""
    columns = Resolutions.columns(has_records)
    before = csv.field_size_limit(MAX_FIELD)
    try:
        rows = list(csv.reader((line.decode() for line in lines), strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    finally:
        csv.field_size_limit(before)
    if len(rows) != len(lines) or not all(len(row) == len(columns) for row in rows):
        raise ValueError("another kind of line")
    name, status = columns.index("name"), columns.index("status")
    return [Answered(row[name], row[status], line) for row, line in zip(rows, lines, strict=True)]
