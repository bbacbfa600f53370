"""Contestants of the `names_cache` benchmark in Python: take names and addresses, then look names up.

They are given the files that `names_cache_peers files` writes. Reading them is outside the time that is measured;
each name is looked up once, as a string whose hash nobody has asked for yet.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

BATCH = 1_000  # names of one `get_many`
TAKEN = 1_000  # names that are put in at once
ROUNDS = 5
TTL = 86_400  # seconds
LYCOSA, SHARED = "lycosa", "lycosa-file"


class Peer(Protocol):
    """A cache of names."""

    def put(self, entries: Sequence[tuple[str, int]]) -> None:
        """Take names with their addresses, as numbers."""

    def get(self, names: Sequence[str]) -> int:
        """Look names up one by one; tell how many are known."""

    def address(self, name: str) -> int | None:
        """Give the address of a name."""

    def held(self) -> int:
        """Tell how many names are held."""


class Dict:
    """A dict; the value is the second of expiry above the address: one int, the least that Python can keep."""

    def __init__(self, count: int, folder: Path) -> None:
        """Begin empty."""
        self.known: dict[str, int] = {}
        self.now = int(time.time())

    def put(self, entries: Sequence[tuple[str, int]]) -> None:
        """Put in."""
        expires = self.now + TTL << 32
        for name, address in entries:
            self.known[name] = expires | address

    def get(self, names: Sequence[str]) -> int:
        """Look up, and see whether it still holds."""
        get, now, found = self.known.get, self.now << 32, 0
        for name in names:
            value = get(name)
            if value is not None and value > now:
                found += 1
        return found

    def address(self, name: str) -> int | None:
        """Take the lower bits."""
        value = self.known.get(name)
        return None if value is None else value & 0xFFFFFFFF

    def held(self) -> int:
        """All."""
        return len(self.known)


class TtlCache:
    """`cachetools.TTLCache`, name to int."""

    def __init__(self, count: int, folder: Path) -> None:
        """Make room for all."""
        from cachetools import TTLCache  # only this contestant needs it

        self.known: Any = TTLCache(maxsize=count, ttl=TTL)

    def put(self, entries: Sequence[tuple[str, int]]) -> None:
        """Put in."""
        for name, address in entries:
            self.known[name] = address

    def get(self, names: Sequence[str]) -> int:
        """Look up."""
        get, found = self.known.get, 0
        for name in names:
            if get(name) is not None:
                found += 1
        return found

    def address(self, name: str) -> int | None:
        """Look up."""
        found: int | None = self.known.get(name)
        return found

    def held(self) -> int:
        """All that hold."""
        return len(self.known)


class Lycosa:
    """The compact cache, in the memory of this process."""

    def __init__(self, count: int, folder: Path) -> None:
        """Begin empty."""
        from lycosa.names import Cache  # only this contestant needs it

        self.cache: Any = Cache(capacity=count, negative_capacity=0)

    def put(self, entries: Sequence[tuple[str, int]]) -> None:
        """Put in."""
        self.cache.put_many([(name, [str(ipaddress.IPv4Address(address))], TTL) for name, address in entries])

    def get(self, names: Sequence[str]) -> int:
        """Look up."""
        get, found = self.cache.get, 0
        for name in names:
            if get(name) is not None:
                found += 1
        return found

    def get_batches(self, names: Sequence[str]) -> int:
        """Look up by batches."""
        get_many, found = self.cache.get_many, 0
        for start in range(0, len(names), BATCH):
            found += get_many(names[start : start + BATCH]).known()
        return found

    def read_batches(self, names: Sequence[str]) -> int:
        """Look up by batches, and make Python objects of all addresses."""
        get_many, found = self.cache.get_many, 0
        for start in range(0, len(names), BATCH):
            for answer in get_many(names[start : start + BATCH]):
                if answer is not None and answer.addresses:
                    found += 1
        return found

    def address(self, name: str) -> int | None:
        """Read the text."""
        found = self.cache.get(name)
        return None if found is None else int(ipaddress.IPv4Address(found.addresses[0]))

    def held(self) -> int:
        """All with addresses."""
        held: int = self.cache.count()
        return held


class LycosaFile(Lycosa):
    """The compact cache in a mapped file that another process has filled."""

    def __init__(self, count: int, folder: Path) -> None:
        """Open it."""
        from lycosa.names import Cache  # only this contestant needs it

        self.cache = Cache.open(folder / "names.cache")

    def put(self, entries: Sequence[tuple[str, int]]) -> None:
        """They are there."""


PEERS: dict[str, Callable[[int, Path], Peer]] = {
    "dict": Dict,
    "cachetools": TtlCache,
    LYCOSA: Lycosa,
    SHARED: LycosaFile,
}


def entries(file: Path) -> Iterator[tuple[str, int]]:
    """Read names with their addresses."""
    with file.open(encoding="ascii") as lines:
        for line in lines:
            name, _, address = line.partition(" ")
            yield name, int(address)


def resident() -> int:
    """Give the resident bytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def measure(name: str, count: int, folder: Path) -> dict[str, Any]:
    """Put all names in, look the drawn ones up; costs are nanoseconds of CPU a name."""
    spent, source = 0, entries(folder / "names")
    PEERS[name](1_000, folder).put(
        list(islice(entries(folder / "names"), TAKEN))
    )  # what it imports is not its memory
    before = resident()
    peer = PEERS[name](count, folder)
    while name != SHARED and (some := list(islice(source, TAKEN))):
        begin = time.process_time_ns()
        peer.put(some)
        spent += time.process_time_ns() - begin
        del some
    size = resident() - before
    if not 0.98 * count <= peer.held() <= count:
        raise SystemExit(f"{name}: holds {peer.held():,} of {count:,} names; {folder} may be for another number")
    made: dict[str, Any] = {"cache": name, "names": count, "held": peer.held(), "bytes_a_name": size / peer.held()}
    made["insertion_nanoseconds"] = spent / count
    drawn = list(entries(folder / "draws"))
    ways = {"one": peer.get}
    if isinstance(peer, Lycosa):
        ways |= {"batches": peer.get_batches, "read": peer.read_batches}
    step = len(drawn) // ROUNDS
    for way, look in ways.items():
        costs, found = [], 0
        for start in range(0, step * ROUNDS, step):
            # Copies, so that no way finds hashes that another one has made.
            names = [bytes(text, "ascii").decode() for text, _ in drawn[start : start + step]]
            begin = time.process_time_ns()
            found += look(names)
            costs.append((time.process_time_ns() - begin) / step)
        made[way] = {"nanoseconds": costs, "lookups": step * ROUNDS, "found": found}
    told = [(peer.address(text), address) for text, address in drawn]
    made["wrong"] = sum(answer is not None and answer != address for answer, address in told)
    made["unknown"] = sum(answer is None for answer, _ in told)
    return made


def main() -> None:
    """Read the command line, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("count", type=int)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    print(json.dumps(measure(args.peer, args.count, args.folder)))


if __name__ == "__main__":
    main()
