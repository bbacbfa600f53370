"""Snapshots of partitions in a directory that all workers share (NFS, a volume that many may mount).

A snapshot is a directory ``PARTITION/POSITION`` with the file that the frontier has written and those that it names.
It is complete when it has its name. Nothing in it changes any more, so that whoever has written it, an earlier owner
included, has written the same view of the journal up to that position.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
from pathlib import Path

from lycosa.cluster.broker import Unavailable
from lycosa.errors import SettingError
from lycosa.store.replace import sync_directory, sync_file

#: The file that a frontier has written, by the position; it names others.
SNAPSHOT = "snapshots/{:020}.snapshot"

#: Marks in a state directory: a job is being imported into it, and was imported.
IMPORTING, IMPORTED = "importing", "imported"

#: Snapshots of a partition that are kept, since the newest may be damaged.
KEPT = 2


class SharedSnapshots:
    """The snapshots of all partitions of a job."""

    def __init__(self, directory: Path) -> None:
        """directory: exists, and is shared by all workers of the job."""
        self._directory = directory

    def positions(self, partition: int) -> list[int]:
        """Return the positions of a partition's snapshots, in order. Raises Unavailable."""
        try:
            names = os.listdir(self._directory / str(partition))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Unavailable(f"the snapshots of partition {partition} cannot be listed: {error}") from None
        return sorted(int(name) for name in names if name.isdigit())

    def fetch(self, partition: int, position: int, into: Path) -> None:
        """Copy a snapshot into an empty directory of this machine."""
        shutil.copytree(self._directory / str(partition) / str(position), into, dirs_exist_ok=True)

    def store(self, partition: int, position: int, source: Path) -> None:
        """Copy a snapshot that is complete, with the files beside it, and give it its name; older ones are removed.

        Files that the last one has already are not copied again: they are linked.
        """
        if not (source / SNAPSHOT.format(position)).is_file():
            raise FileNotFoundError(f"snapshot {position} of partition {partition} is gone")
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
            # On the disk before it counts: the journal before it may be removed then.
            for directory in [aside, *(path for path in aside.rglob("*") if path.is_dir())]:
                sync_directory(directory)
            aside.rename(target)
            sync_directory(folder)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        for old in self.positions(partition)[:-KEPT]:
            shutil.rmtree(folder / str(old), ignore_errors=True)

    def is_imported(self) -> bool:
        """Whether each partition began with a snapshot."""
        return (self._directory / IMPORTED).exists()

    def passed(self, partition: int) -> int:
        """Return the position up to which a partition's journal is not needed: that of the older of two snapshots."""
        positions = self.positions(partition)
        return positions[-KEPT] if len(positions) >= KEPT else 0


def claim(directory: Path, job: str, number: str, *, imports: bool = False) -> None:
    """Make a state directory that of a job. Raises SettingError if it is that of another one, or OSError.

    number: of the job: another job of the same name has another one. imports: whether this is the import, which
    nobody else may disturb.
    """
    if not imports and (directory / IMPORTING).exists():
        raise SettingError("--state", directory, "a directory whose import is complete: run lycosa job import again")
    file, own = directory / "job.json", {"job": job, "number": number}
    aside = directory / f"job.{uuid.uuid4().hex}.new"
    if not file.exists():
        if any(name.isdigit() for name in os.listdir(directory)):
            raise SettingError("--state", directory, "an empty directory, or that of this job")
        aside.write_text(json.dumps(own))
        try:
            os.link(aside, file)  # of two workers that begin at one time, one succeeds
        except FileExistsError:
            pass
        except OSError:
            aside.replace(file)  # a file system without links
        aside.unlink(missing_ok=True)
        sync_directory(directory)
    found = json.loads(file.read_text())
    if found != own:
        whose = "an earlier job of this name" if found.get("job") == job else f"job {found.get('job')}"
        allowed = f"the directory of job {job}; this one is that of {whose}: give another, or remove what is in it"
        raise SettingError("--state", directory, allowed)


def time_of(directory: Path) -> float:
    """Return the time by the clock of a directory's file system, in s: files in it are as old as that says."""
    with tempfile.TemporaryFile(dir=directory) as file:
        return os.fstat(file.fileno()).st_mtime


def remove_old_bodies(directory: Path, seconds: float) -> None:
    """Remove bodies that were written so many seconds ago: no message names them any more. Raises OSError."""
    limit = time_of(directory) - seconds
    for folder in directory.iterdir():
        for file in folder.iterdir() if folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < limit:
                    file.unlink()
        with contextlib.suppress(OSError):  # one that has files stays; an empty one is made again if it is needed
            if folder.stat().st_mtime < limit:
                folder.rmdir()


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
    with copy.open("rb") as copied:
        sync_file(copied.fileno())
