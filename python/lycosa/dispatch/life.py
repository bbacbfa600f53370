"""What of a master survives it: the key that signs grants, the ring, and the number of its life, for new serials.

It is kept in a directory (here), or in a database that several masters share (``standby``).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol, TextIO

from lycosa import _core
from lycosa.dispatch.clock import now
from lycosa.dispatch.refusal import Refusal
from lycosa.errors import JobInUse, LycosaError, SettingError, StorageError
from lycosa.store.replace import replace_file


class LifeLost(LycosaError):
    """Another master may serve by now: this one has to end, and may be started again."""


class Life(ABC):
    """One run of a master."""

    def __init__(self, number: int, key: _core.SigningKey, ring: str) -> None:
        """number: greater than that of each run before. key: signs grants. ring: ``Kept`` as text, or ""."""
        self.number, self.key, self.ring = number, key, ring
        self.until = math.inf  # of `clock.now`: from then on another master may serve

    def check(self) -> None:
        """Raise Refusal (unavailable) if another master may serve: then nothing may be decided, nor answered."""
        if now() >= self.until:
            raise Refusal("unavailable", "this master has lost its database; ask another one", after=1.0)

    @abstractmethod
    async def note_ring(self, ring: str) -> None:
        """Have a ring survive this run; raises StorageError, LifeLost, OSError."""

    async def keep(self) -> None:
        """Keep it until this is cancelled; raises LifeLost as soon as another master may serve."""
        await asyncio.Event().wait()


class OwnLife(Life):
    """A run of a master that has a directory."""

    def __init__(self, number: int, key: _core.SigningKey, directory: Path) -> None:
        """directory: has the ring in a file."""
        self._file = directory / "ring"
        super().__init__(
            number, key, self._file.read_text(encoding="utf-8", errors="replace") if self._file.exists() else ""
        )

    async def note_ring(self, ring: str) -> None:
        """Write it to the file."""
        await asyncio.to_thread(replace_file, self._file, ring.encode())


class State(Protocol):
    """Where lives begin."""

    def life(
        self, *, period: float, hold: float, standing_by: Callable[[], None]
    ) -> contextlib.AbstractAsyncContextManager[Life]:
        """Begin a run, and end it with the context.

        period, hold: of ``Master``. standing_by: is called if another master serves, before that one's end is waited
        for.
        """


class Directory:
    """A directory for one master."""

    def __init__(self, path: Path) -> None:
        """path: is created if it is missing."""
        self._path = path

    @contextlib.asynccontextmanager
    async def life(self, *, period: float, hold: float, standing_by: Callable[[], None]) -> AsyncIterator[Life]:
        """Begin a run.

        Raises JobInUse if another master uses the directory, SettingError for a key that others may read,
        StorageError for a damaged file.
        """
        life, lock = _begin_life(self._path)
        try:
            yield life
        finally:
            lock.close()


def _begin_life(directory: Path) -> tuple[Life, TextIO]:
    """Begin a run with the state of a directory; returns the file whose lock it holds, too."""
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
    return OwnLife(number, key, directory), lock


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


@contextlib.asynccontextmanager
async def kept(life: Life) -> AsyncIterator[None]:
    """Keep a life while the body runs; where it is lost the body is cancelled, and LifeLost raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(life.keep())
            try:
                yield
            finally:
                keeping.cancel()
    except BaseExceptionGroup as errors:
        lost, others = errors.split(LifeLost)
        if lost is None or others is not None:
            raise
        raise LifeLost(*_first(lost).args) from None


def _first(errors: BaseExceptionGroup[LifeLost]) -> LifeLost:
    """Return the first exception of a group of groups."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
