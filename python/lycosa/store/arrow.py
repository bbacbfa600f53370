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

    def append(self, outcomes: Outcomes, offset: int) -> int:
        """Write a batch, behind the schema if it is the first one."""
        import pyarrow

        assert self._file is not None, "opened before"
        with pyarrow.RecordBatchReader.from_stream(outcomes.take_columns(self.fields)) as reader:
            self._file.seek(offset)
            if offset == 0:
                self._file.write(reader.schema.serialize())
            for batch in reader:
                if batch.num_rows > 0:
                    self._file.write(batch.serialize())
        return self._file.tell() - offset

    def close(self) -> None:
        """A crawl without rows has an output without rows."""
        if self._file is not None and self._written[1] == 0:
            self.append(Outcomes(), 0)
        super().close()
