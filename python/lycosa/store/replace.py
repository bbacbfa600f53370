"""Files that are whole or not there: written beside their place, synced, renamed."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

#: What the system says when there is no room: on the file system, and in a quota.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room."""
    return isinstance(error, OSError) and error.errno in FULL


def replace_file(path: Path, content: bytes) -> None:
    """Give a file a new content: after a crash it has either the old or the new one. Raises OSError."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.write(content)
            sync_file(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_file(descriptor: int) -> None:
    """Bring a file's content to the disk."""
    os.fsync(descriptor)


def sync_directory(path: Path) -> None:
    """Bring a directory's names to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
