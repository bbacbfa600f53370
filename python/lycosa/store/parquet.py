"""Parquet: columns with zstd, read by DuckDB, Polars, pandas, Spark.

While a crawl runs its rows are in parts: complete files, each named by its range of the log, so that the rename that
completes a part commits output and position together. At the crawl's end the parts are merged to one file; an output
that ends in ``/`` stays a directory of parts.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from lycosa.errors import SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import SinkJob
from lycosa.store import parts
from lycosa.store.file_sink import FileSink, set_needs
from lycosa.store.parts import Part, PartWriter
from lycosa.store.replace import sync_directory
from lycosa.store.restart import check_restart

if TYPE_CHECKING:
    import pyarrow


def require_library(url: str) -> None:
    """Raise SettingError if there is no library for Parquet, which an output needs."""
    if importlib.util.find_spec("pyarrow") is None:
        raise SettingError("output", url, "a .jsonl file; for Parquet: pip install 'lycosa[parquet]'")


class ParquetSink(FileSink):
    """Writes ``.parquet``; until it is complete, its parts are in ``NAME.parquet.parts/``."""

    rows: int = parts.GROUP_ROWS
    bytes: int = parts.GROUP_BYTES
    #: Maximum size of a part's rows in memory (as Arrow counts them), and its maximum age: what a crash repeats.
    commit_bytes: int = 256 << 20
    commit_seconds: float = 300.0

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        # Arrow parses a relative path with a colon as a URL.
        self.path, self._one_file = self.path.absolute(), not self.url.endswith("/")
        self._folder = self.path.with_name(self.path.name + ".parts") if self._one_file else self.path
        self._fields: list[str] = []
        self._schema: pyarrow.Schema | None = None
        self._writer: PartWriter | None = None
        self._start = self._position = 0
        self._is_open = False

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        self._fields = list(job.fields)
        set_needs(self, job.fields)

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without pyarrow, too; see ``lycosa.sink.Sink``."""
        require_library(self.url)
        super().check(fresh=fresh, is_ours=is_ours)

    def exists(self) -> bool:
        """Return whether the file or its parts exist."""
        return self.path.exists() or self._folder.exists()

    def open(self, first: int, end: int) -> int:
        """Keep the parts up to the log's end; see ``lycosa.sink.Sink``."""
        import pyarrow

        self.note()
        self._is_open = False
        if self._schema is None:
            self._schema = pyarrow.RecordBatchReader.from_stream(Outcomes().columns(self._fields)).schema
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.glob("*.part"):
            unfinished.unlink()
        self._take_apart()
        kept = self._kept(first, end)
        self._start = self._position = max(kept[-1].end, first) if kept else first
        self._is_open = True
        return kept[-1].end if kept else 0

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Write rows to the part in progress."""
        import pyarrow

        columns = outcomes.take_columns(self._fields)
        batches = [batch for batch in pyarrow.RecordBatchReader.from_stream(columns) if batch.num_rows > 0]
        del columns
        if batches:
            self._part().write(batches, position)
        self._position = position
        written: int = sum(batch.nbytes for batch in batches)
        if written >= parts.LARGE_BYTES:
            self.commit(position)
        return written

    def commit(self, position: int) -> None:
        """Complete the part in progress."""
        self._position = position
        if self._writer is None:
            return
        self._writer.finish(self.job.id, self._start, self._position)
        self._writer, self._start = None, self._position

    def committed(self) -> int | None:
        """Return the end of the last part, or of the complete file."""
        known = parts.parts_in(self._folder)
        if known:
            return known[-1].end
        if self._one_file and self.path.is_file():
            covered = parts.range_of(self.path)
            return covered.end if covered is not None and covered.job == self.job.id else None
        return None

    def close(self) -> None:
        """Merge the parts unless the output is a directory; also after :meth:`open` failed."""
        known = parts.parts_in(self._folder)
        if not known and not self._is_open:
            return
        if not known:
            # A crawl without rows has an output without rows.
            self._part()
            self.commit(self._position)
            known = parts.parts_in(self._folder)
        if not self._one_file:
            return
        if len(known) == 1:
            known[0].path.replace(self.path)
            sync_directory(self.path.parent)
        else:
            parts.merge(known, self.path, self.job.id)
        self._remove_parts()

    def remove(self) -> None:
        """Remove the file and the parts."""
        if self._one_file:
            self.path.unlink(missing_ok=True)
        if self._folder.is_dir():
            self._remove_parts()

    def _part(self) -> PartWriter:
        """Return the part in progress."""
        assert self._schema is not None, "opened before"
        if self._writer is None:
            self._writer = PartWriter(self._folder / f"{self._start:020}.part", self._schema)
        return self._writer

    def _take_apart(self) -> None:
        """Turn a complete file into the first part."""
        if not self._one_file or not self.path.exists():
            return
        covered = parts.range_of(self.path)
        if covered is None or covered.job != self.job.id:
            raise StorageError(f"{self.path}: not written by this crawl; move it away")
        for part in parts.parts_in(self._folder):
            # Left by a crash after the parts were merged.
            if part.end <= covered.end:
                part.path.unlink()
        self.path.replace(self._folder / f"{covered.start:020}-{covered.end:020}.parquet")
        sync_directory(self._folder)
        sync_directory(self.path.parent)

    def _kept(self, first: int, end: int) -> list[Part]:
        """Return the parts to keep: with these columns, of this job, and not beyond the log's end."""
        import pyarrow.parquet

        known = parts.parts_in(self._folder)
        if known and pyarrow.parquet.read_schema(known[-1].path).names != self._fields:
            check_restart(self.path, first, "its columns change")
            for part in known:
                part.path.unlink()
            return []
        kept = []
        for part in known:
            covered = parts.range_of(part.path)
            if covered is None or covered.job != self.job.id:
                raise StorageError(f"{part.path}: not written by this crawl; move it away")
            whole = part if part.end <= end else parts.cut(part, end)
            if whole is not None:
                kept.append(whole)
        return kept

    def _remove_parts(self) -> None:
        """Remove the parts, and their folder unless it has other content or is the output."""
        for part in parts.parts_in(self._folder):
            part.path.unlink()
        for unfinished in self._folder.glob("*.part"):
            unfinished.unlink()
        if self._one_file:
            try:
                self._folder.rmdir()
            except OSError:
                return
