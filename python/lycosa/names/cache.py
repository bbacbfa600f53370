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

#: Settings of the compact cache alone, beside those that a job has for one design.
COMPACT = dict.fromkeys(("negative_capacity", "false_positives", "negative_ttl", "min_ttl", "max_ttl"), ("compact",))

#: Seconds that the compact cache holds addresses at least, unless it is told otherwise.
MIN_TTL = 300

#: Settings that are checked as a job's, by the same names.
OF_A_JOB = ("slow", *DESIGNS)

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
        """Open a cache, which is made if it is not there.

        ``path``: the file that processes share (compact only); without one it lies in the memory of this process, and
        so it does when the disk is full: ``fallen_back`` then tells why.
        ``design``: the compact cache, or one of the published designs (SYSTEMS.md sections 2, 3, 5) of one process.
        ``capacity``: names; by default 1,000,000 for the compact cache, what the publications give for the others.
        ``slow``: seconds from which on a name counts as slow to resolve, by default 0.5.

        What follows is for some designs, and refused with the others. Of the compact cache:
        ``verify``: ``keyed`` (default), or ``published``, which compares by the 76 bits of the publication and gives
        wrong answers.
        ``negative``: what does not resolve is forgotten by ``generations`` (default), or all at once as published.
        ``negative_capacity``: names that do not resolve, by default a fifth of ``capacity``.
        ``false_positives``: the share of other names that a full negative filter takes for one of these: 1e-6.
        ``negative_ttl``, ``min_ttl``, ``max_ttl``: 3,600, 300, 86,400 s; addresses are held between the last two.

        Of the published designs, as in ``[names]`` of a job (docs/settings.md):
        ``buckets``: async-lru: of the hash table; by default as many to a name as published.
        ``period``: seconds; async-lru: that an answer holds (1,800); regions: after which light names go (3,600);
        optimiser: half of what an address holds, after which a crawl asks for names in use again (3,600).
        ``levels``, ``weight``, ``light``: regions: what makes a level of names (public-suffix), what a slow name is
        worth (cost), the weight below which names that nobody refreshed go (100).

        Raises SettingError for a value beyond its limits and for a setting of another design, StorageError for a file
        that cannot be used and for a capacity that does not fit: what is needed, what there is, what to do.
        """
        if design not in ALL:
            raise SettingError("design", design, ", ".join(ALL))
        if path is not None and design != "compact":
            raise SettingError("design", design, "compact, the only design that lies in a file")
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


def _checked(design: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, checked by the rules of ``[names]`` in a job."""
    refuse_other_designs(settings, design, "design", designs={**DESIGNS, **COMPACT})
    given = {key: settings[key] for key in OF_A_JOB if settings[key] is not None}
    if not given:
        return settings
    # Here, since the defaults need no model of a job.
    from pydantic import ValidationError

    from lycosa.explain import explain
    from lycosa.job import Names

    try:
        names = Names.model_validate({"cache": design, **given})
    except ValidationError as error:
        raise explain(error, Names) from None
    return settings | {key: getattr(names, key) for key in OF_A_JOB}
