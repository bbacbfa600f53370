"""Atomic replacement of files: written under another name, synced, renamed."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path

#: Error numbers for a full file system, and a full quota.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException) -> bool:
    """Return whether an error means a full disk."""
    return isinstance(error, OSError) and error.errno in FULL


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace a file's content: after a crash it has either the old or the new one. Raises OSError.

    content: may be pieces, of which one at a time is in memory.
    """
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.writelines((content,) if isinstance(content, bytes) else content)
            file.flush()
            sync_file(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_file(descriptor: int) -> None:
    """Sync a file's content."""
    os.fsync(descriptor)


def sync_directory(path: Path) -> None:
    """Sync a directory's entries."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
