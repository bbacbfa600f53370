"""Outputs that are files or directories of this machine: where they may be, and what may stand there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lycosa.errors import LycosaError, SettingError, StorageError
from lycosa.sink import Sink, scheme_of
from lycosa.store.replace import is_full


def path_of(output: str) -> str:
    """The path of an output on this machine: as given, or a ``file:`` URL's (RFC 8089).

    Raises SettingError for the URL of another machine's file.
    """
    if scheme_of(output) != "file":
        return output
    url = urlsplit(output)
    if url.netloc not in ("", "localhost") or url.query or url.fragment or not url.path:
        raise SettingError("output", output, "file: with a path of this machine, such as file:///data/pages.parquet")
    return unquote(url.path)


class FileSink(Sink):
    """An output in a file, or in a directory where its name ends in ``/``."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. url: a path, or a ``file:`` URL."""
        super().__init__(path_of(url))
        self.path, self._is_directory = Path(self.url), self.url.endswith("/")
        #: What was there before it was opened first: whether something, a file, an output.
        self._before: tuple[bool, bool, bool] | None = None

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Refuse places that cannot be written, or that hold something of others; see ``lycosa.sink.Sink``."""
        path = self.path
        if self._is_directory:
            if path.exists() and not path.is_dir():
                raise SettingError("output", self.url, "a directory, since it ends in /")
        elif path.is_dir():
            raise SettingError("output", self.url, "a file; a directory of Parquet files is given with / at its end")
        if not fresh and not is_ours and path.exists() and not self._is_empty():
            raise SettingError("output", self.url, "a file that does not exist yet, or fresh to replace it")
        # The job directory is made with the crawl.
        if not path.parent.is_dir() and path.parent.absolute() != self.job.folder.parent.absolute():
            raise SettingError("output", self.url, "a file in a directory that exists")
        check_writable("output", path)

    def check_creatable(self) -> None:
        """Refuse an output that cannot be created, by creating it where it is not there, and removing it again.

        Raises StorageError. A full disk is no reason: it is waited for. An output in a folder that is yet to be made
        is not looked at.
        """
        path = self.path
        if path.exists() or not path.parent.is_dir():
            return
        try:
            if self._is_directory:
                path.mkdir()
                path.rmdir()
            else:
                path.touch(exist_ok=False)
                path.unlink()
        except OSError as error:
            if not is_full(error):
                raise StorageError(f"{self.url}: {error.strerror or error}") from error

    def exists(self) -> bool:
        """Whether something stands there."""
        return self.path.exists()

    def note(self) -> None:
        """Note what is there before the first :meth:`open`, for :meth:`undo`."""
        if self._before is None:
            self._before = self.path.exists(), self.path.is_file(), self.committed() is not None

    def undo(self) -> None:
        """Remove what was not there; complete a file again that was taken apart to be gone on with."""
        if self._before is None:
            return
        existed, was_file, was_output = self._before
        with contextlib.suppress(OSError, LycosaError):
            if not existed and not was_output:
                self.remove()
                if self._is_directory:
                    self.path.rmdir()
            elif was_file:
                self.close()

    def _is_empty(self) -> bool:
        """Whether it is a directory with nothing in it."""
        return self.path.is_dir() and not any(self.path.iterdir())


def needs_bodies(fields: Collection[str]) -> bool:
    """Whether bodies are read for these columns."""
    return "body" in fields or "text" in fields


def check_writable(name: str, path: Path) -> None:
    """Refuse a path whose nearest existing part cannot be written to."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        raise SettingError(name, path, "a place that can be written to")
