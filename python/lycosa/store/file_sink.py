"""Outputs that are local files or directories: checks of their paths and of existing content."""

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
    """Return the local path of an output: as given, or from a ``file:`` URL (RFC 8089).

    Raises SettingError for a URL of another machine's file.
    """
    if scheme_of(output) != "file":
        return output
    url = urlsplit(output)
    if url.netloc not in ("", "localhost") or url.query or url.fragment or not url.path:
        raise SettingError("output", output, "file: with a local path, such as file:///data/pages.parquet")
    return unquote(url.path)


class FileSink(Sink):
    """An output in a file, or in a directory if its name ends in ``/``."""

    is_file = True

    def __init__(self, url: str) -> None:
        """Open nothing yet. url: a path, or a ``file:`` URL."""
        super().__init__(path_of(url))
        self.path, self._is_directory = Path(self.url), self.url.endswith("/")
        #: Whether, before the first opening, the path existed, was a file, was an output.
        self._before: tuple[bool, bool, bool] | None = None

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise for a path that cannot be written, or has other content; see ``lycosa.sink.Sink``."""
        path = self.path
        if self._is_directory:
            if path.exists() and not path.is_dir():
                raise SettingError("output", self.url, "a directory, since it ends in /")
        elif path.is_dir():
            raise SettingError("output", self.url, "a file; a directory of Parquet files has / at its end")
        if not fresh and not is_ours and path.exists() and not self._is_empty():
            raise SettingError("output", self.url, "a file that does not exist yet, or fresh to replace it")
        # The job directory is created with the crawl.
        if path.parent.absolute() != self.job.folder.parent.absolute():
            check_folder(self.url, path)
        check_writable("output", path)

    def check_creatable(self) -> None:
        """Check that a missing output can be created, by creating and removing it.

        Raises StorageError. A full disk is not an error: the sink waits for space. An output in a missing folder is
        not checked.
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
        """Return whether the path exists."""
        return self.path.exists()

    def note(self) -> None:
        """Store the state of the path before the first :meth:`open`, for :meth:`undo`."""
        if self._before is None:
            self._before = self.path.exists(), self.path.is_file(), self.committed() is not None

    def undo(self) -> None:
        """Remove a new output; complete a file again that was turned into a part to resume it."""
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
        """Return whether it is an empty directory."""
        return self.path.is_dir() and not any(self.path.iterdir())


def needs_bodies(fields: Collection[str]) -> bool:
    """Return whether these columns need bodies."""
    return not {"body", "payload_digest", "text"}.isdisjoint(fields)


def set_needs(sink: Sink, fields: Collection[str]) -> None:
    """Note of a sink what its columns need: bodies, and links, which licences are among."""
    sink.with_body = needs_bodies(fields)
    sink.with_links = any(name.startswith(("link", "license")) for name in fields)


def check_folder(url: str, path: Path) -> None:
    """Raise SettingError for a file whose directory does not exist."""
    if not path.parent.is_dir():
        raise SettingError("output", url, "a file in a directory that exists")


def check_writable(name: str, path: Path) -> None:
    """Raise SettingError for a path whose nearest existing ancestor is not writable."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        raise SettingError(name, path, "a path that can be written to")
