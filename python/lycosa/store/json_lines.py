"""JSON lines (one object per row, in UTF-8) and CSV (RFC 4180); both also compressed by gzip or zstd.

Compressed rows are one member for each batch: readers of both compressions read members as one text.
"""

from __future__ import annotations

from typing import Literal

from lycosa.records import Outcomes
from lycosa.store.appended import AppendedSink

#: Compressions by the last extension of a name.
COMPRESSIONS: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}


class RowsSink(AppendedSink):
    """Writes rows as text."""

    form: Literal["lines", "csv"] = "lines"

    def append(self, outcomes: Outcomes, offset: int) -> int:
        """Write a line for each outcome: streamed, since an escaped body is up to six times as long."""
        compression = COMPRESSIONS.get(self.path.suffix)
        return outcomes.write_rows(self.path, offset, self.fields, self.form, compression)


class JsonLinesSink(RowsSink):
    """Writes ``.jsonl``, ``.ndjson``, and these with ``.gz`` or ``.zst``."""


class CsvSink(RowsSink):
    """Writes ``.csv``, ``.csv.gz`` and ``.csv.zst``: names first; lists and objects are JSON."""

    form = "csv"
