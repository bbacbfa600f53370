"""Parquet: columns with zstd, read by DuckDB, Polars, pandas, Spark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa import _core
from lycosa.errors import SettingError, StorageError
from lycosa.records import Rows

if TYPE_CHECKING:
    import pyarrow.parquet


class ParquetSink:
    """Writes ``.parquet``; the file takes its name when it is complete, until then it is ``NAME.part``."""

    #: Rows and bytes of bodies of one row group: what a reader holds in memory at once.
    rows: int = 10_000
    bytes: int = 8 << 20

    @staticmethod
    def check(path: Path) -> None:
        """Raise SettingError without pyarrow."""
        if importlib.util.find_spec("pyarrow") is None:
            raise SettingError("output", path, "a .jsonl file; for Parquet: pip install 'lycosa[parquet]'")

    def __init__(self, path: Path, fields: list[str]) -> None:
        """Open the file; raises StorageError where it cannot be written."""
        import pyarrow
        import pyarrow.parquet

        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._reader = pyarrow.RecordBatchReader
        schema = self._reader.from_stream(_core.empty_rows(fields)).schema
        try:
            self._writer: pyarrow.parquet.ParquetWriter = pyarrow.parquet.ParquetWriter(
                self._part,
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=_dictionary(fields),
            )
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from None

    def write(self, rows: Rows) -> None:
        """Write one row group."""
        for batch in self._reader.from_stream(rows):
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer and give the file its name."""
        self._writer.close()
        self._part.replace(self.path)


def _dictionary(fields: list[str]) -> list[str]:
    """The columns whose values recur; a dictionary of bodies or URLs would only cost time."""
    recurring = {"status", "error", "address", "content_type", "charset", "depth", "attempt"}
    return [field for field in fields if field in recurring]
