"""JSON lines: one object a row, in UTF-8."""

from __future__ import annotations

from pathlib import Path

from lycosa.errors import StorageError
from lycosa.records import Rows


class JsonLinesSink:
    """Writes ``.jsonl``; what has been written can be read while the crawl goes on."""

    #: Rows and bytes of bodies taken at once.
    rows: int = 1_000
    bytes: int = 8 << 20

    @staticmethod
    def check(path: Path) -> None:
        """Nothing beyond the package is needed."""

    def __init__(self, path: Path, fields: list[str]) -> None:
        """Open the file; raises StorageError where that is not possible."""
        self.path = path
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None

    def write(self, rows: Rows) -> None:
        """Write rows."""
        self._file.write(rows.lines())
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
