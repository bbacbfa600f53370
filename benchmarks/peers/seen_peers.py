"""Contestants of the `seen` benchmark that are written in Python: add new keys, add them again, say what it cost.

They are given the keys of `seen_bench`, made outside the time that is measured: URLs for the sets, digests for the
databases, which are told of a whole batch in one transaction and never sync.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

BATCH = 10_000
WORD = (1 << 64) - 1
STATEMENT = 500  # keys in a statement of SQLite's: more are not quicker
CACHE = 1 << 30  # bytes of memory that a database may use, as Lycosa


class Peer(Protocol):
    """A set of known keys."""

    urls: bool  # whether it takes URLs; others take digests

    def add(self, keys: Sequence[Any]) -> list[bool]:
        """Add keys; tell of each whether it was new."""


class PythonSet:
    """A set of strings."""

    urls = True

    def __init__(self, folder: Path) -> None:
        """Begin empty."""
        self.known: set[str] = set()

    def add(self, keys: Sequence[str]) -> list[bool]:
        """Look and add."""
        known, new = self.known, []
        for key in keys:
            new.append(key not in known)
            known.add(key)
        return new


class DupeFilter:
    """Scrapy's RFPDupeFilter; its requests are made outside the time that is measured."""

    urls = True

    def __init__(self, folder: Path) -> None:
        """Make the filter as Scrapy makes it."""
        from scrapy import Request  # not needed by the others, and slow to import
        from scrapy.dupefilters import RFPDupeFilter
        from scrapy.utils.request import RequestFingerprinter

        self.request = Request
        self.filter = RFPDupeFilter(fingerprinter=RequestFingerprinter())

    def prepare(self, keys: Sequence[str]) -> list[Any]:
        """Make requests."""
        return [self.request(key) for key in keys]

    def add(self, keys: Sequence[Any]) -> list[bool]:
        """Ask for each request."""
        seen = self.filter.request_seen
        return [not seen(key) for key in keys]


class Sqlite:
    """A table of keys and nothing else, without a journal; a statement takes many keys and gives the new ones."""

    urls = False

    def __init__(self, folder: Path) -> None:
        """Make the table."""
        self.connection = sqlite3.connect(folder / "seen.sqlite", isolation_level=None)
        for setting in (
            "journal_mode=OFF",
            "synchronous=OFF",
            "locking_mode=EXCLUSIVE",
            f"cache_size=-{CACHE >> 10}",
        ):
            self.connection.execute(f"PRAGMA {setting}")
        self.connection.execute("CREATE TABLE seen (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, keys: Sequence[bytes]) -> list[bool]:
        """Insert in one transaction."""
        new: set[bytes] = set()
        self.connection.execute("BEGIN")
        for start in range(0, len(keys), STATEMENT):
            some = keys[start : start + STATEMENT]
            places = ",".join(["(?)"] * len(some))
            statement = f"INSERT INTO seen VALUES {places} ON CONFLICT DO NOTHING RETURNING key"  # noqa: S608
            new.update(key for (key,) in self.connection.execute(statement, some))
        self.connection.execute("COMMIT")
        return [key in new for key in keys]


class Lmdb:
    """An LMDB of keys without values, in a writable map."""

    urls = False

    def __init__(self, folder: Path) -> None:
        """Open the environment."""
        import lmdb  # only this contestant needs it

        self.environment = lmdb.open(
            str(folder / "lmdb"),
            map_size=1 << 36,
            sync=False,
            metasync=False,
            writemap=True,
            map_async=True,
            lock=False,
        )

    def add(self, keys: Sequence[bytes]) -> list[bool]:
        """Put in one transaction."""
        with self.environment.begin(write=True) as transaction:
            put = transaction.put
            return [put(key, b"", overwrite=False) for key in keys]


PEERS: dict[str, Callable[[Path], Peer]] = {
    "python-set": PythonSet,
    "scrapy": DupeFilter,
    "sqlite": Sqlite,
    "lmdb": Lmdb,
}


def mix(number: int) -> int:
    """Spread a number over all bits (splitmix64)."""
    number = ((number ^ number >> 30) * 0xBF58476D1CE4E5B9) & WORD
    number = ((number ^ number >> 27) * 0x94D049BB133111EB) & WORD
    return number ^ number >> 31


def digest(number: int) -> bytes:
    """Make the digest that `seen_bench` makes of a number."""
    high, low = mix(number * 0x9E3779B97F4A7C15 & WORD), mix(~number & WORD)
    return (high << 64 | low).to_bytes(16, "little")


def url(number: int) -> str:
    """Make the URL that `seen_bench` makes of a number."""
    return f"https://www.site-{mix(number // 50) % 1_000_000}.example/articles/{number % 97}/item-{number}.html"


def resident(name: str) -> int:
    """Give a size of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(name: str, count: int, known: int, folder: Path) -> dict[str, float | None]:
    """Add `count` keys, then `known` of them again; costs are nanoseconds of CPU a key."""
    before = resident("VmRSS")
    peer = PEERS[name](folder)
    make: Callable[[int], Any] = url if peer.urls else digest
    prepare = getattr(peer, "prepare", list)
    costs, wrong, size = [], 0, 0.0
    for keys, expected in ((count, count), (known, 0)):
        spent, new = 0, 0
        for start in range(0, count, count // keys * BATCH):
            batch = prepare([make(number) for number in range(start, min(start + BATCH, count))])
            begin = time.process_time_ns()
            told = peer.add(batch)
            spent += time.process_time_ns() - begin
            new += sum(told)
            del batch
        costs.append(spent / keys)
        wrong += abs(new - expected)
        size = size or (resident("VmRSS") - before) / count
    files = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
    return {"new": costs[0], "known": costs[1], "delete": None, "bytes": size, "false": wrong,
            "peak": resident("VmHWM"), "file_bytes": files / count}  # fmt: skip


def main() -> None:
    """Read the command line, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("count", type=int)
    parser.add_argument("known", type=int)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        print(json.dumps(measure(args.peer, args.count, args.known, Path(folder))))


if __name__ == "__main__":
    main()
