"""A cache of names for any program: ``lycosa.names.Cache``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self

from lycosa import _core
from lycosa.designs import DESIGNS, Parameter, refuse_other_designs
from lycosa.errors import Rejected, SettingError

#: The designs.
ALL = ("compact", "async-lru", "regions", "optimiser")

#: Settings of the compact cache that a job does not have.
COMPACT = dict.fromkeys(("negative_capacity", "false_positives", "negative_ttl", "min_ttl", "max_ttl"), ("compact",))

#: Default of ``min_ttl`` of the compact cache, in seconds.
MIN_TTL = 300

#: Settings that are checked by the model of a job, under the same names.
OF_A_JOB = ("slow", *DESIGNS)

#: A name; its addresses or state; its TTL in seconds; the resolution time in milliseconds (default 0).
Entry = (
    tuple[str, "Sequence[str] | Literal['nxdomain', 'nodata', 'servfail', 'timeout']", int]
    | tuple[str, "Sequence[str] | Literal['nxdomain', 'nodata', 'servfail', 'timeout']", int, int]
)


class Cache(_core.NameCache):
    """A cache of names, about 24 bytes each, shared by all processes that open the same file.

    Names are compared without case and final dot, with IDNA (UTS 46) applied. At most four addresses of each family
    are stored, sorted. Lookups take no lock; processes and threads may read and write at the same time.

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
        slow: float | None = None,
        verify: Literal["keyed", "published"] | None = None,
        negative: Literal["generations", "clear-all"] | None = None,
        negative_capacity: int | None = None,
        false_positives: float | None = None,
        negative_ttl: int | None = None,
        min_ttl: int | None = None,
        max_ttl: int | None = None,
        buckets: int | None = None,
        period: float | None = None,
        levels: Literal["public-suffix", "dots"] | None = None,
        weight: Literal["cost", "time", "recency"] | Mapping[Parameter, float] | None = None,
        light: float | None = None,
    ) -> Self:
        """Open a cache; creates it if it does not exist.

        ``path``: the file that processes share (compact only); without one the cache is in the memory of this
        process, and also when the disk is full: ``fallen_back`` is then the reason.
        ``design``: the compact cache, or one of the published designs (SYSTEMS.md sections 2, 3, 5) of one process.
        ``capacity``: names; by default 1,000,000 for the compact cache, the published value for the others.
        ``slow``: resolution time in seconds from which a name counts as slow, by default 0.5.

        The following settings belong to some designs, and are refused with the others. Of the compact cache:
        ``verify``: ``keyed`` (default), or ``published``, which compares names by the 76 bits of the publication and
        returns wrong answers.
        ``negative``: names that do not resolve expire by ``generations`` (default), or all at once as published.
        ``negative_capacity``: names that do not resolve, by default a fifth of ``capacity``.
        ``false_positives``: the rate of false positives of a full negative filter: 1e-6.
        ``negative_ttl``, ``min_ttl``, ``max_ttl``: 3,600, 300, 86,400 s; the last two bound the TTL of addresses.

        Of the published designs, as in ``[names]`` of a job (docs/settings.md):
        ``buckets``: async-lru: buckets of the hash table; by default as many per name as published.
        ``period``: seconds; async-lru: how long an answer is valid (1,800); regions: after how long light names are
        evicted (3,600); optimiser: half the lifetime of an address, after which a crawl resolves names in use again
        (3,600).
        ``levels``, ``weight``, ``light``: regions: how the level of a name is found (public-suffix), the weight of
        a slow name (cost), the weight below which names are evicted unless refreshed (100).

        Raises SettingError for a value beyond its limits and for a setting of another design, StorageError for a file
        that cannot be used and for a capacity that does not fit: what is needed, what is available, what to do.
        """
        if design not in ALL:
            raise SettingError("design", design, ", ".join(ALL))
        if path is not None and design != "compact":
            raise SettingError("design", design, "compact, the only design with a file")
        settings: dict[str, Any] = {
            "slow": slow,
            "verify": verify,
            "negative": negative,
            "negative_capacity": negative_capacity,
            "false_positives": false_positives,
            "negative_ttl": negative_ttl,
            "min_ttl": MIN_TTL if min_ttl is None and design == "compact" else min_ttl,
            "max_ttl": max_ttl,
            "buckets": buckets,
            "period": period,
            "levels": levels,
            "weight": weight,
            "light": light,
        }
        return super().__new__(cls, design, {**_checked(design, settings), "path": path, "capacity": capacity})

    def put_many(
        self,
        entries: Iterable[Entry],
        *,
        families: Literal["v4", "v6", "both"] = "v4",
        now: int | None = None,
    ) -> None:
        """Insert resolutions: ``(name, addresses or state, TTL in seconds[, resolution time in milliseconds])``.

        ``families``: the families that were looked up. Raises Rejected for bad entries; all others are inserted.
        """
        whole = [_entry(entry) for entry in entries]
        rejected = self.put_entries(whole, families, now)
        if rejected:
            raise Rejected(rejected)

    def __enter__(self) -> Self:
        """Return the cache."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Sync the file, as the end of the object does, too. Its memory is freed with the object."""
        self.flush()


def _entry(entry: Entry) -> tuple[str, str | list[str], int, int]:
    """Return an entry with all its parts, for the core."""
    name, outcome, ttl, *took = entry
    return name, outcome if isinstance(outcome, str) else list(outcome), ttl, took[0] if took else 0


def _checked(design: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Check the settings by the rules of ``[names]`` in a job."""
    refuse_other_designs(settings, design, "design", designs={**DESIGNS, **COMPACT})
    given = {key: settings[key] for key in OF_A_JOB if settings[key] is not None}
    if not given:
        return settings
    # Imported here, since the defaults do not need the model of a job.
    from pydantic import ValidationError

    from lycosa.explain import explain
    from lycosa.job import Names

    try:
        names = Names.model_validate({"cache": design, **given})
    except ValidationError as error:
        raise explain(error, Names) from None
    return settings | {key: getattr(names, key) for key in OF_A_JOB}
