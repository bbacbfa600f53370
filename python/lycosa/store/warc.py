"""WARC 1.1 files, with an index (CDXJ) beside them; of WET files the texts that pages say.

A record is compressed by itself, so that readers begin at any of them. While a crawl runs the lines of the index are
in ``NAME.cdxj.part``, in the order of the file; they are sorted when it is complete.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import sys
import tempfile
from pathlib import Path
from typing import IO

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.records import Outcomes
from lycosa.sink import SinkJob
from lycosa.store.appended import AppendedSink
from lycosa.store.json_lines import COMPRESSIONS
from lycosa.store.replace import replace_file, sync_file

#: Bytes of lines of an index that are sorted at once: of more, parts that are sorted are merged.
SORTED = 64 << 20


class WarcSink(AppendedSink):
    """Writes ``.warc``, ``.warc.gz`` and ``.warc.zst``, and ``.wet`` with the same ends."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self._writer: _core.WarcWriter | None = None
        self._lines = self.path.with_name(f"{self.path.name}.cdxj.part")
        self._index = self.path.with_name(f"{self.path.name}.cdxj")
        self._with_texts = ".wet" in self.path.suffixes

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; its columns do not matter. Raises SettingError for texts of a job that reads none."""
        super().attach(job)
        self.fields, self.with_body = ["main_text"] if self._with_texts else [], not self._with_texts
        if self._with_texts and "main_text" not in job.fields:
            allowed = "main_text among store.fields, whose texts it has; or a .warc.gz file"
            raise SettingError("output", self.url, allowed)

    def open(self, first: int, end: int) -> int:
        """Cut the file to what was committed, and its index with it; see ``lycosa.sink.Sink``."""
        position = super().open(first, end)
        compression = COMPRESSIONS.get(self.path.suffix)
        self._writer = _core.WarcWriter(self.job.id, compression, self._with_texts)
        self._cut_index(self._written[1])
        return position

    def append(self, outcomes: Outcomes, offset: int) -> int:
        """Write records, and lines of the index."""
        assert self._writer is not None, "opened before"
        length, lines = self._writer.write(outcomes, self.path, offset, self.path.name)
        with self._lines.open("ab") as index:
            index.write(lines)
        return length

    def commit(self, position: int) -> None:
        """Sync the index before the position; see ``lycosa.sink.Sink``."""
        if self._lines.exists():
            with self._lines.open("rb") as lines:
                sync_file(lines.fileno())
        super().commit(position)

    def close(self) -> None:
        """Complete the file and its index."""
        super().close()
        if self._lines.exists():
            sort_lines(self._lines, self._index)
            self._lines.unlink()

    def remove(self) -> None:
        """Remove the file and its index."""
        super().remove()
        for file in (self._lines, self._index):
            file.unlink(missing_ok=True)

    def _cut_index(self, length: int) -> None:
        """Keep the lines of records within the file."""
        source = self._lines if self._lines.exists() else self._index
        with source.open("rb") if source.exists() else io.BytesIO() as lines:
            replace_file(self._lines, (line for line in lines if _offset(line) < length))
        self._index.unlink(missing_ok=True)


def sort_lines(source: Path, into: Path, most: int = SORTED) -> None:
    """Replace a file by the lines of another one, in the order of their bytes. most: bytes of lines in memory."""
    with contextlib.ExitStack() as opened:
        runs = list[IO[bytes]]()
        with source.open("rb") as file:
            while lines := file.readlines(most):
                run = opened.enter_context(tempfile.TemporaryFile(dir=into.parent))
                run.writelines(sorted(lines))
                run.seek(0)
                runs.append(run)
        replace_file(into, heapq.merge(*runs))


def _offset(line: bytes) -> int:
    """Where a line's record is; behind any file if the line is torn."""
    _, _, rest = line.partition(b'"offset": "')
    digits, quote, _ = rest.partition(b'"')
    return int(digits) if quote and digits.isdigit() and line.endswith(b"\n") else sys.maxsize
