"""Snapshots of partitions in a directory that all workers share (NFS, a volume that many may mount).

A snapshot is a directory ``PARTITION/POSITION`` with the file that the frontier has written and those that it names.
It is complete when it has its name. Nothing in it changes any more, so that whoever has written it, an earlier owner
included, has written the same view of the journal up to that position.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from pathlib import Path

#: Snapshots of a partition that are kept, since the newest may be damaged.
KEPT = 2


class SharedSnapshots:
    """The snapshots of all partitions of a job."""

    def __init__(self, directory: Path) -> None:
        """directory: exists, and is shared by all workers of the job."""
        self._directory = directory

    def positions(self, partition: int) -> list[int]:
        """Return the positions of a partition's snapshots, in order."""
        try:
            names = os.listdir(self._directory / str(partition))
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdigit())

    def fetch(self, partition: int, position: int, into: Path) -> None:
        """Copy a snapshot into an empty directory of this machine."""
        shutil.copytree(self._directory / str(partition) / str(position), into, dirs_exist_ok=True)

    def store(self, partition: int, position: int, source: Path) -> None:
        """Copy a snapshot that is complete, with the files beside it, and give it its name; older ones are removed.

        Files that the last one has already are not copied again: they are linked.
        """
        folder = self._directory / str(partition)
        target = folder / str(position)
        if target.exists():
            return
        earlier = self.positions(partition)
        base = folder / str(earlier[-1]) if earlier else None
        aside = folder / f"{position}.{uuid.uuid4().hex}.new"
        try:
            for file in sorted(path for path in source.rglob("*") if path.is_file()):
                copy = aside / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                # What no snapshot needs any more may go away meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    _link_or_copy(file, copy, None if base is None else base / file.relative_to(source))
            aside.rename(target)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        for old in self.positions(partition)[:-KEPT]:
            shutil.rmtree(folder / str(old), ignore_errors=True)


def _link_or_copy(file: Path, copy: Path, earlier: Path | None) -> None:
    """Link an earlier copy of a file that has not changed since, or copy it."""
    try:
        found = file.stat()
        if earlier is not None:
            known = earlier.stat()
            if (known.st_size, known.st_mtime_ns) == (found.st_size, found.st_mtime_ns):
                os.link(earlier, copy)
                return
    except OSError:
        pass  # there is none, or the file system has no links
    shutil.copy2(file, copy)
