"""Outputs of a cluster: directories on shared storage, to which workers add files of rows.

A file is written in ``_incomplete`` there. It gets into the directory once the positions of its rows are committed
with its name: whoever finds that name, its writer or the next owner of one of its partitions, moves it.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from datetime import UTC, datetime
from pathlib import Path

from lycosa.assemble import make_sink
from lycosa.cluster.storage import time_of
from lycosa.errors import SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob, scheme_of
from lycosa.store.file_sink import check_writable, path_of
from lycosa.store.parquet import require_library
from lycosa.store.replace import sync_directory

#: The folder of files that are being written, or were given up. Readers of a directory leave out such a name.
INCOMPLETE = "_incomplete"

#: Seconds after which a file that was given up is removed.
GIVEN_UP = 86_400.0

#: Formats by the ends of directories' names.
FORMATS = {".jsonl": ".jsonl", ".parquet": ".parquet", "": ".parquet"}


class OutputDirectory:
    """One output: a directory of files of one format."""

    def __init__(self, url: str) -> None:
        """Check it; raises SettingError for what is no such directory, or cannot be written.

        url: a path or ``file:`` URL that ends in ``/``; JSON lines for ``NAME.jsonl/``, Parquet for any other name.
        """
        allowed = (
            "a directory that all workers share, with / at its end: NAME.jsonl/, NAME.parquet/ or NAME/ (Parquet)"
        )
        if scheme_of(url) not in (None, "file") or not url.endswith("/"):
            raise SettingError("--output", url, allowed)
        self.url, self.path = url, Path(path_of(url)).absolute()
        suffix = FORMATS.get(self.path.suffix)
        if suffix is None or (self.path.exists() and not self.path.is_dir()):
            raise SettingError("--output", url, allowed)
        self._suffix, self._numbers = suffix, itertools.count(1)
        check_writable("--output", self.path)
        if suffix == ".parquet":
            require_library(url)

    def prepare(self) -> None:
        """Make the directory. Raises StorageError."""
        try:
            (self.path / INCOMPLETE).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror or error}") from None

    def clean(self) -> None:
        """Remove what was given up long ago, once all files of committed rows are published. Raises OSError."""
        limit = time_of(self.path / INCOMPLETE) - GIVEN_UP
        for file in (self.path / INCOMPLETE).iterdir():
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < limit:
                    shutil.rmtree(file) if file.is_dir() else file.unlink()

    def begin(self, worker: str, job: SinkJob) -> OutputFile:
        """Begin a file. worker: a name that no other worker has."""
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        name = f"{now}-{worker}-{next(self._numbers):06}{self._suffix}"
        return OutputFile(self._sink(self.path / INCOMPLETE / name), name, job)

    def publish(self, name: str) -> bool:
        """Move a complete file into the directory; returns whether it was there. Raises OSError."""
        if not name or Path(name).name != name:
            return False
        try:
            (self.path / INCOMPLETE / name).rename(self.path / name)
        except FileNotFoundError:
            return (self.path / name).exists()  # somebody has done so; or taken it away since
        sync_directory(self.path)
        return True

    def _sink(self, path: Path) -> Sink:
        """The sink of one file."""
        return make_sink(path)


class OutputFile:
    """A file that is being written."""

    def __init__(self, sink: Sink, name: str, job: SinkJob) -> None:
        """Open it. Raises OSError."""
        self.name, self.bytes = name, 0
        self._sink, self._batches = sink, 0
        sink.attach(job._replace(name=name))
        sink.open(0, 0)

    def write(self, rows: Outcomes) -> None:
        """Add rows. Raises OSError."""
        self._batches += 1
        self.bytes += self._sink.write(rows, self._batches) or 0

    def complete(self) -> None:
        """Write what is left, and sync it. Raises OSError."""
        self._sink.commit(self._batches)
        self._sink.close()
        self._sink.position_file().unlink(missing_ok=True)

    def abandon(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            self._sink.undo()
