"""What of a master survives it: the key that signs grants, and the number of its life, by which serials are new."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import NamedTuple, TextIO

from lycosa import _core
from lycosa.errors import JobInUse, SettingError, StorageError


class Life(NamedTuple):
    """One run of a master."""

    number: int  # greater than that of each run before
    key: _core.SigningKey
    lock: TextIO  # held while it runs


def begin_life(directory: Path) -> Life:
    """Begin a run with the state of a directory, which is created if it is missing.

    Raises JobInUse if another master uses it, SettingError for a key that others may read, StorageError for a damaged
    file.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (directory / "life").open("a+", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise JobInUse(f"{directory}: another master uses it") from None
    lock.seek(0)
    lines = lock.read().split()
    if not all(line.isdecimal() for line in lines):
        lock.close()
        raise StorageError(f"{directory / 'life'}: not a number a line; serial numbers would not be unique")
    number = max(map(int, lines), default=0) + 1
    key = _core.SigningKey(_key(directory / "key"))
    # One line each, appended: what a power failure cuts off was not used yet. A number that is not on the disk must
    # not be used, or the next life would use it again.
    lock.write(f"{number}\n")
    lock.flush()
    os.fsync(lock.fileno())
    return Life(number, key, lock)


def _key(path: Path) -> bytes:
    """Return the private key of a file, which is created if it is missing."""
    if not path.exists():
        beside = path.with_suffix(".new")
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_core.new_identity_key())
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    if path.stat().st_mode & 0o077:
        raise SettingError("--state", path, "a key that its owner alone can read: chmod 600")
    return path.read_bytes()
