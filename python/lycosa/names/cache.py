"""A cache of names for any program: ``lycosa.names.Cache``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from types import TracebackType
from typing import Literal, Self

from lycosa import _core
from lycosa.errors import Rejected, SettingError

#: A name; its addresses, or what became of it; its TTL in seconds; how many milliseconds resolving took (default 0).
Entry = (
    tuple[str, "Sequence[str] | Literal['nxdomain', 'nodata', 'servfail', 'timeout']", int]
    | tuple[str, "Sequence[str] | Literal['nxdomain', 'nodata', 'servfail', 'timeout']", int, int]
)


class Cache(_core.NameCache):
    """What names resolve to, about 24 bytes each, shared by all processes that open the same file.

    Names are compared without case and last dot, with IDNA (UTS 46) applied. At most four addresses of each family
    are kept, sorted. Lookups take no lock; processes and threads may read and write at the same time.

    >>> with Cache("names.cache", capacity=1_000_000) as cache:
    ...     cache.put_many([("www.example.org", ["192.0.2.1"], 3600), ("gone.example.org", "nxdomain", 900)])
    ...     cache.get("WWW.example.org.").addresses
    ['192.0.2.1']
    """

    def __new__(
        cls,
        path: str | PathLike[str] | None = None,
        *,
        design: Literal["compact", "async-lru", "regions", "optimiser"] = "compact",
        capacity: int | None = None,
        verify: Literal["keyed", "published"] = "keyed",
        negative: Literal["generations", "clear-all"] = "generations",
        negative_capacity: int | None = None,
        false_positives: float = 1e-6,
        negative_ttl: int = 3600,
        min_ttl: int = 300,
        max_ttl: int = 86400,
    ) -> Self:
        """Open a cache, which is made if it is not there.

        ``path``: the file that processes share (compact only); without one it lies in the memory of this process, and
        so it does when the disk is full: ``fallen_back`` then tells why.
        ``design``: the compact cache, or one of the published designs (SYSTEMS.md sections 2, 3, 5) of one process.
        ``capacity``: names; by default 1,000,000 for the compact cache, what the publications give for the others.

        All that follows is for the compact cache.
        ``verify``: ``published`` compares by the 76 bits of the publication, which gives wrong answers.
        ``negative``: what does not resolve is forgotten generation by generation, or all at once as published.
        ``negative_capacity``: names that do not resolve, by default a fifth of ``capacity``.
        ``false_positives``: the share of other names that a full negative filter takes for one of these.
        ``negative_ttl``, ``min_ttl``, ``max_ttl``: seconds; addresses are held between the last two.

        Raises SettingError for a value beyond its limits, StorageError for a file that cannot be used and for a
        capacity that does not fit: what is needed, what there is, what to do.
        """
        if path is not None and design != "compact":
            raise SettingError("design", design, "compact, the only design that lies in a file")
        settings = {
            "path": path,
            "capacity": capacity,
            "verify": verify,
            "negative": negative,
            "negative_capacity": negative_capacity,
            "false_positives": false_positives,
            "negative_ttl": negative_ttl,
            "min_ttl": min_ttl,
            "max_ttl": max_ttl,
        }
        return super().__new__(cls, design, settings)

    def put_many(
        self,
        entries: Iterable[Entry],
        *,
        families: Literal["v4", "v6", "both"] = "v4",
        now: int | None = None,
    ) -> None:
        """Take resolutions: ``(name, addresses or state, TTL in seconds[, milliseconds it took])``.

        ``families``: what was asked for. Raises Rejected when some were not taken; all others were.
        """
        whole = [_entry(entry) for entry in entries]
        rejected = self.put_entries(whole, families, now)
        if rejected:
            raise Rejected(rejected)

    def __enter__(self) -> Self:
        """The cache."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Bring a file to the disk, as happens too when the object goes. Its memory is given back with the object."""
        self.flush()


def _entry(entry: Entry) -> tuple[str, str | list[str], int, int]:
    """An entry with all its parts, as the core takes it."""
    name, outcome, ttl, *took = entry
    return name, outcome if isinstance(outcome, str) else list(outcome), ttl, took[0] if took else 0
