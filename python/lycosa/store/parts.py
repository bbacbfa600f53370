"""Parts of a Parquet output: complete files, each named by its range of the log.

The file's key-value metadata has the log position after each row group, so that a part can be cut if the log's end
went back, and so that a complete output can be resumed.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lycosa.errors import StorageError
from lycosa.store.footer import join
from lycosa.store.replace import sync_directory

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

logger = logging.getLogger("lycosa")

#: Key of the range in a file's metadata.
KEY = b"lycosa.log"

#: Maximum rows, and bytes in memory, of one row group: what a reader loads at once.
GROUP_ROWS, GROUP_BYTES = 10_000, 8 << 20

#: Bytes of rows after which a part is completed: until the next rows a writer keeps two copies of the last column.
LARGE_BYTES = 2 * GROUP_BYTES

#: Columns without minimum and maximum: Arrow copies both, and range queries on bodies make no sense.
UNMEASURED = ("body", "text")

#: Seconds between two lines about a long merge.
TELL = 2.0

_NAME = re.compile(r"(\d{20})-(\d{20})\.parquet")


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a file: the job's records from ``start`` on, with the position after each row group."""

    job: str
    start: int
    positions: tuple[int, ...]

    @property
    def end(self) -> int:
        """The position after the last row."""
        return self.positions[-1] if self.positions else self.start

    def metadata(self) -> dict[str, str]:
        """Return the metadata for a file."""
        return {KEY.decode(): json.dumps({"job": self.job, "start": self.start, "positions": self.positions})}


@dataclass(frozen=True, slots=True)
class Part:
    """One part's file."""

    path: Path
    start: int
    end: int


class PartWriter:
    """Writes one file, row group by row group; it gets its final name when it is complete."""

    def __init__(self, path: Path, schema: pyarrow.Schema) -> None:
        """Open an incomplete file. Raises OSError."""
        import pyarrow.parquet

        self.path, self._schema = path, schema
        self._file: BinaryIO = path.open("wb")
        # Opened here, not by Arrow, so that it can be synced and errors are OSErrors.
        self._writer = pyarrow.parquet.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=_dictionary(schema.names),
            write_statistics=[name for name in schema.names if name not in UNMEASURED],
        )
        self._batches: list[pyarrow.RecordBatch] = []
        self._bytes = self._rows = 0
        self._positions: list[int] = []

    def write(self, batches: list[pyarrow.RecordBatch], position: int) -> None:
        """Write rows; ``position`` is the log position after them."""
        self._batches += batches
        self._bytes += sum(batch.nbytes for batch in batches)
        self._rows += sum(batch.num_rows for batch in batches)
        # Never between them: a row group is complete up to its position.
        if self._bytes >= GROUP_BYTES or self._rows >= GROUP_ROWS:
            self._end_group(position)

    def finish(self, job: str, start: int, position: int, path: Path | None = None) -> Part:
        """Complete the file and rename it to the name of its range, or to ``path``. Raises OSError."""
        self._end_group(position)
        if self._positions:
            # Only records without rows follow the last row.
            self._positions[-1] = position
        covered = Range(job, start, tuple(self._positions))
        self._writer.add_key_value_metadata(covered.metadata())
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        _release()
        target = path or self.path.with_name(f"{start:020}-{position:020}.parquet")
        self.path.replace(target)
        sync_directory(target.absolute().parent)
        return Part(target, start, position)

    def abandon(self) -> None:
        """Remove the file."""
        # Arrow flushes when it is closed; that may fail again, and the file is removed anyway.
        for close in (self._writer.close, self._file.close):
            try:
                close()
            except Exception as error:
                logger.debug("%s: %s", self.path, error)
        self._writer.is_open = False
        self.path.unlink(missing_ok=True)

    def _end_group(self, position: int) -> None:
        """Write the buffered rows as one row group."""
        import pyarrow

        if self._batches:
            table = pyarrow.Table.from_batches(self._batches, self._schema)
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
            self._positions.append(position)
        self._batches, self._bytes, self._rows = [], 0, 0
        _release()


def parts_in(folder: Path) -> list[Part]:
    """Return the complete parts, in the log's order."""
    try:
        names = [(path, _NAME.fullmatch(path.name)) for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    parts = [Part(path, int(match[1]), int(match[2])) for path, match in names if match]
    return sorted(parts, key=lambda part: (part.start, part.end))


def range_of(path: Path) -> Range | None:
    """Return the range in a file's metadata, `None` if there is none. Raises StorageError if it is not Parquet."""
    import pyarrow
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_metadata(path).metadata or {}
        content = json.loads(metadata[KEY])
        return Range(str(content["job"]), int(content["start"]), tuple(map(int, content["positions"])))
    except (pyarrow.ArrowException, EOFError) as error:
        raise StorageError(f"{path}: cannot be read as Parquet ({error}); move it away") from None
    except (KeyError, ValueError, TypeError):
        return None


def cut(part: Part, end: int) -> Part | None:
    """Cut a part to the row groups before ``end``; if there are none, remove it and return `None`."""
    import pyarrow.parquet

    covered = range_of(part.path)
    positions = [] if covered is None else [position for position in covered.positions if position <= end]
    made: Part | None = None
    if covered is not None and positions:
        with pyarrow.parquet.ParquetFile(part.path) as file:
            writer = PartWriter(part.path.with_name(f"{part.start:020}.part"), _schema(file))
            try:
                for group, position in enumerate(positions):
                    writer.write(file.read_row_group(group).to_batches(), position)
                made = writer.finish(covered.job, part.start, positions[-1])
            except BaseException:
                writer.abandon()
                raise
    part.path.unlink()
    return made


def merge(parts: list[Part], path: Path, job: str) -> None:
    """Merge adjacent parts to one file. Raises OSError, and then leaves the parts unchanged.

    Row groups are copied as they are, but for those of small parts in a row: these become larger ones.
    """
    new, made = path.with_name(path.name + ".new"), list[Path]()
    try:
        files = list[Path]()
        for run in _runs(parts):
            if len(run) > 1:
                made.append(path.with_name(f"{path.name}.{len(made)}.new"))
                files.append(_rewritten(run, made[-1], job))
            else:
                files.append(run[0].path)
        ranges = [range_of(file) for file in files]
        positions = [position for covered in ranges if covered is not None for position in covered.positions]
        with new.open("wb") as file:
            join(files, file, Range(job, parts[0].start, tuple(positions)).metadata())
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.absolute().parent)
    finally:
        for file_made in (new, *made):
            file_made.unlink(missing_ok=True)


def _runs(parts: list[Part]) -> Iterator[list[Part]]:
    """Yield large parts, and small ones in a row; all of them together if they were not written in the same way."""
    import pyarrow.parquet

    schema = pyarrow.parquet.read_metadata(parts[0].path).schema
    are_small = list[bool]()
    for part in parts:
        known = pyarrow.parquet.read_metadata(part.path)
        if not known.schema.equals(schema):
            yield parts
            return
        are_small.append(_is_small(known))
    for is_small, run in itertools.groupby(zip(parts, are_small, strict=True), key=lambda one: one[1]):
        some = [part for part, _ in run]
        yield from [some] if is_small else [[part] for part in some]


def _is_small(known: pyarrow.parquet.FileMetaData) -> bool:
    """Whether the row groups of a file are, in the mean, smaller than half of what they may be."""
    count, rows = int(known.num_row_groups), int(known.num_rows)
    size = sum(int(known.row_group(number).total_byte_size) for number in range(count))
    return count == 0 or (rows * 2 < count * GROUP_ROWS and size * 2 < count * GROUP_BYTES)


def _rewritten(parts: list[Part], path: Path, job: str) -> Path:
    """Write parts again, as one with row groups of a sensible size."""
    import pyarrow.parquet

    total, done, told = sum(part.path.stat().st_size for part in parts), 0, time.monotonic()
    with pyarrow.parquet.ParquetFile(parts[0].path) as file:
        schema = _schema(file)
    writer = PartWriter(path, schema)
    try:
        for part in parts:
            for batches, position in _groups(part):
                writer.write(batches, position)
                if time.monotonic() - told >= TELL:
                    told = time.monotonic()
                    logger.info("%s: merging parts, %d %%", path, 100 * done // max(total, 1))
            done += part.path.stat().st_size
        return writer.finish(job, parts[0].start, parts[-1].end, path).path
    except BaseException:
        writer.abandon()
        raise


def _groups(part: Part) -> Iterator[tuple[list[pyarrow.RecordBatch], int]]:
    """Yield a part's row groups, with the position after each."""
    import pyarrow.parquet

    covered = range_of(part.path)
    with pyarrow.parquet.ParquetFile(part.path) as file:
        for group in range(file.num_row_groups):
            position = covered.positions[group] if covered is not None else part.end
            yield file.read_row_group(group).to_batches(), position


def _schema(file: pyarrow.parquet.ParquetFile) -> pyarrow.Schema:
    """Return a file's schema without metadata."""
    return file.schema_arrow.remove_metadata()


def _release() -> None:
    """Release Arrow's unused memory: otherwise each writing thread keeps as much as the largest row took."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()


def _dictionary(fields: list[str]) -> list[str]:
    """Return the columns with recurring values; a dictionary of bodies or URLs would only cost time."""
    recurring = {"status", "error", "address", "content_type", "charset", "depth", "attempt"}
    return [field for field in fields if field in recurring]
