"""Arrow streams (``.arrows``): columns as they are in memory, which pyarrow and Polars read without a conversion.

A file has a schema and batches, as Arrow's IPC format has them (its section on streams), and can be read while the
crawl runs: it ends where the last batch ends, since the mark of a stream's end may be missing.
"""

from __future__ import annotations

from lycosa.records import Outcomes
from lycosa.store import parts
from lycosa.store.appended import AppendedSink
from lycosa.store.parquet import require_library


class ArrowSink(AppendedSink):
    """Writes ``.arrows``."""

    rows: int = parts.GROUP_ROWS
    bytes: int = parts.GROUP_BYTES

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without pyarrow, too; see ``lycosa.sink.Sink``."""
        require_library(self.url)
        super().check(fresh=fresh, is_ours=is_ours)

    def open(self, first: int, end: int) -> int:
        """See ``lycosa.sink.Sink``. The schema is there before the first row, so that the file can be read."""
        import pyarrow

        position = super().open(first, end)
        if self._written[1] == 0:
            assert self._file is not None, "opened before"
            with pyarrow.RecordBatchReader.from_stream(Outcomes().columns(self.fields)) as reader:
                self._file.write(reader.schema.serialize())
            self._file.flush()
            self._written = (position, self._file.tell())
        return position

    def append(self, outcomes: Outcomes, offset: int) -> int:
        """Write batches."""
        import pyarrow

        assert self._file is not None, "opened before"
        with pyarrow.RecordBatchReader.from_stream(outcomes.take_columns(self.fields)) as reader:
            self._file.seek(offset)
            for batch in reader:
                if batch.num_rows > 0:
                    self._file.write(batch.serialize())
        return self._file.tell() - offset
