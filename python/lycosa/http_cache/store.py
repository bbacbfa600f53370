"""Stored responses in files: one each, replaced atomically, the least recently used ones removed.

Guarantees (the tests repeat them):
1. A file that is damaged, cut off or of another version is a miss, and is removed; the others stay.
2. A killed process leaves complete files, and temporary ones that the next look removes.
3. The files of one process never take more than ``max_bytes``, with those that are written and not kept yet; with
   several processes, each counts its own since its last look at the directory.
4. All that is stored of a URL can be removed, whatever tells its entries apart.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import tempfile
import threading
import time
import zlib
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lycosa.http_cache.rules import Stored

#: The beginning of a file: format with its version, length and CRC-32 of the head, those of the body.
START = struct.Struct("<8sIIQI")
FORMAT = b"lycache1"

#: The longest head that is stored, in bytes: header fields are limited by ``fetch.max_header_bytes``.
LONGEST_HEAD = 8 << 20

#: A file's name: what those of a method and URL begin with; what else tells it apart, if anything does; its variant.
NAME = re.compile(r"[0-9a-f]{30}(-[0-9a-f]{16})?-[0-9a-f]{16}")

#: What the names of temporary files begin with.
TEMPORARY = "tmp-"

#: Responses of one key at most, by the fields that Vary names; the oldest ones make room.
VARIANTS = 16

#: What is left of ``max_bytes`` after a removal: so many tenths.
LEFT = 9

#: Seconds after which a temporary file is one of a process that was killed.
ABANDONED = 3_600.0

#: Bytes of a block of the file system, of which a file takes whole ones.
BLOCK = 4_096


class Entry(NamedTuple):
    """A stored response, and where it is."""

    stored: Stored
    path: Path
    start: bytes  # of the file


class Written(NamedTuple):
    """A response that is on disk under a temporary name, until `Store.keep` or `Store.drop`."""

    key: str
    begin: str  # of the names of its key's files
    temporary: Path
    path: Path
    size: int  # in whole blocks


class Store:
    """The files of a cache. For any thread, and for several processes.

    A key is a method and a URL, and behind another space what tells its entries apart from others of the two.
    """

    def __init__(self, directory: Path, max_bytes: int) -> None:
        """Create the directory; raises OSError."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory, self._max_bytes = directory, max_bytes
        self._lock = threading.Lock()
        self._bytes: int | None = None  # of what is kept; `None`: not counted yet
        self._open = 0  # bytes of what is written, and neither kept nor dropped yet

    def find(self, key: str) -> list[Entry]:
        """Return what is stored under a key."""
        folder, begin = self._place(key)
        return [entry for path in _paths(folder, begin) if (entry := self._head(path)) is not None]

    def body(self, entry: Entry) -> bytes | None:
        """Return the body of an entry, which counts as used; `None` if it is damaged or gone."""
        try:
            with entry.path.open("rb") as file:
                if file.read(START.size) != entry.start:
                    return None  # another process has replaced it meanwhile
                _, head, _, length, check = START.unpack(entry.start)
                file.seek(head, os.SEEK_CUR)
                body = file.read(length)
        except OSError:
            return None
        with contextlib.suppress(OSError):  # of a directory that cannot be written
            _use(entry.path)
        if zlib.crc32(body) != check:
            self._remove(entry.path)
            return None
        return body

    def put(self, key: str, stored: Stored, body: bytes) -> bool:
        """Store a response, in place of one with the same varied fields; returns whether it fits. Raises OSError."""
        written = self.write(key, stored, body)
        if written is not None:
            self.keep(written)
        return written is not None

    def write(self, key: str, stored: Stored, body: bytes) -> Written | None:
        """Write a response that is not found yet; `None` if it does not fit. Raises OSError.

        Its bytes count until `keep` or `drop`, of which one is called once.
        """
        head = json.dumps([key, *stored_values(stored)], ensure_ascii=True, separators=(",", ":")).encode()
        start = START.pack(FORMAT, len(head), zlib.crc32(head), len(body), zlib.crc32(body))
        size = _in_blocks(len(start) + len(head) + len(body))
        folder, begin = self._place(key)
        path = folder / f"{begin}-{sha256(json.dumps(stored.varied).encode()).hexdigest()[:16]}"
        if len(head) > LONGEST_HEAD or not self._reserve(size):
            self._remove(path)
            return None
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            return Written(key, begin, _write(folder, start, head, body), path, size)
        except BaseException:
            self._release(size)
            raise

    def keep(self, written: Written) -> None:
        """Put a response in place of one with the same varied fields. Raises OSError."""
        with self._lock:
            self._open -= written.size
            before = _size(written.path)
            try:
                os.replace(written.temporary, written.path)
            except OSError:
                _unlink(written.temporary)
                raise
            self._bytes = (self._bytes or 0) + written.size - before
        if len(_paths(written.path.parent, written.begin)) > VARIANTS:
            for entry in sorted(self.find(written.key), key=lambda entry: entry.stored.received_at)[:-VARIANTS]:
                self._remove(entry.path)

    def drop(self, written: Written) -> None:
        """Remove a response that was written."""
        _unlink(written.temporary)
        self._release(written.size)

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""
        self._remove(entry.path)

    def remove_all(self, key: str) -> None:
        """Remove what is stored under a key that tells nothing apart, and under all that begin with it."""
        folder, begin = self._place(key)
        for path in _paths(folder):
            if path.name.startswith(f"{begin}-"):
                self._remove(path)

    def _place(self, key: str) -> tuple[Path, str]:
        """The folder of a key's files, and what their names have before the variant."""
        method, _, rest = key.partition(" ")
        url, _, apart = rest.partition(" ")
        digest = sha256(f"{method} {url}".encode()).hexdigest()
        begin = f"{digest[2:32]}-{sha256(apart.encode()).hexdigest()[:16]}" if apart else digest[2:32]
        return self._directory / digest[:2], begin

    def _reserve(self, size: int) -> bool:
        """Make room for so many bytes, which are counted as open; returns whether there is."""
        with self._lock:
            if size > self._max_bytes or not self._make_room(size):
                return False
            self._open += size
        return True

    def _release(self, size: int) -> None:
        """Count so many bytes as open no more."""
        with self._lock:
            self._open -= size

    def _head(self, path: Path) -> Entry | None:
        """Return an entry without its body; what is no valid one is removed."""
        try:
            with path.open("rb") as file:
                start, stored = _read_head(file)
        except OSError:
            return None
        except (ValueError, TypeError, struct.error):
            self._remove(path)
            return None
        return Entry(stored, path, start)

    def _remove(self, path: Path) -> None:
        """Remove a file."""
        with self._lock:
            size = _size(path)
            with contextlib.suppress(OSError):
                path.unlink()
                if self._bytes is not None:
                    self._bytes = max(self._bytes - size, 0)

    def _make_room(self, size: int) -> bool:
        """Remove what was used least recently until so many bytes fit; returns whether they do. With the lock."""
        size += self._open
        if self._bytes is not None and self._bytes + size <= self._max_bytes:
            return True
        files, temporary = self._files()
        # Temporary ones that are not open here are of other processes.
        self._bytes = sum(length for _, length, _ in files) + max(temporary - self._open, 0)
        if self._bytes + size <= self._max_bytes:
            return True
        for _, length, path in sorted(files):
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue
            self._bytes -= length
            if self._bytes + size <= self._max_bytes * LEFT // 10:
                break
        return self._bytes + size <= self._max_bytes

    def _files(self) -> tuple[list[tuple[int, int, Path]], int]:
        """The files (when they were used, size, path), and the size of temporary ones; abandoned ones are removed."""
        files, temporary = [], 0
        for folder in self._directory.glob("[0-9a-f][0-9a-f]"):
            for found in os.scandir(folder):
                with contextlib.suppress(OSError):
                    facts = found.stat(follow_symlinks=False)
                    size = _in_blocks(facts.st_size)
                    if NAME.fullmatch(found.name):
                        files.append((facts.st_mtime_ns, size, Path(found.path)))
                    elif found.name.startswith(TEMPORARY):
                        temporary += size
                        if facts.st_mtime < time.time() - ABANDONED:
                            os.unlink(found.path)
                            temporary -= size
        return files, temporary


def stored_values(stored: Stored) -> list[object]:
    """Return a stored response as JSON values."""
    times = [stored.asked_at, stored.received_at]
    return [stored.status, stored.reason, stored.fields, stored.varied, *times]


def _read_head(file: BinaryIO) -> tuple[bytes, Stored]:
    """Read the start and the head of a file; raises ValueError, TypeError or struct.error for any other content."""
    start = file.read(START.size)
    kind, length, check, body, _ = START.unpack(start)
    if kind != FORMAT or START.size + length + body != os.fstat(file.fileno()).st_size:
        raise ValueError("another format, or cut off")
    head = file.read(length)
    if zlib.crc32(head) != check:
        raise ValueError("damaged")
    _, status, reason, fields, varied, asked_at, received_at = json.loads(head)
    return start, Stored(
        status=int(status),
        reason=str(reason),
        fields=tuple((str(name), str(value)) for name, value in fields),
        varied=None if varied is None else tuple((str(name), value) for name, value in varied),
        asked_at=float(asked_at),
        received_at=float(received_at),
    )


def _write(folder: Path, *parts: bytes) -> Path:
    """Write a file under a temporary name: renamed, it is the old or the new one also where a process is killed."""
    descriptor, name = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(parts)
        _use(Path(name))
    except BaseException:
        _unlink(Path(name))
        raise
    return Path(name)


def _unlink(path: Path) -> None:
    """Remove a file, if that can be."""
    with contextlib.suppress(OSError):
        path.unlink()


def _use(path: Path) -> None:
    """Set when a file was used last: by this clock, since that of file systems moves every few milliseconds."""
    os.utime(path, ns=(time.time_ns(),) * 2)


def _size(path: Path) -> int:
    """The space that a file takes, in bytes; 0 if there is none."""
    try:
        return _in_blocks(path.stat().st_size)
    except OSError:
        return 0


def _in_blocks(size: int) -> int:
    """Bytes in whole blocks."""
    return -(-size // BLOCK) * BLOCK


def _paths(folder: Path, begin: str | None = None) -> list[Path]:
    """The files of a folder: of the key whose names have this before the variant, or all."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [name for name in names if NAME.fullmatch(name)]
    return [folder / name for name in found if begin is None or name.rpartition("-")[0] == begin]
