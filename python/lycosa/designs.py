"""Settings of the name cache's designs: one rule for ``[names]`` of a job and ``lycosa.names.Cache``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lycosa.errors import SettingError

#: The designs that have a setting.
DESIGNS = {
    "verify": ("compact",),
    "negative": ("compact",),
    "buckets": ("async-lru",),
    "period": ("async-lru", "regions", "optimiser"),
    "levels": ("regions",),
    "weight": ("regions",),
    "light": ("regions",),
}

#: Parameters of a weight: resolution time, remaining share of the TTL, time of the last lookup.
Parameter = Literal["time", "ttl", "recency"]
PARAMETERS: tuple[Parameter, ...] = ("time", "ttl", "recency")

#: Weights that have a name.
WEIGHTS = ("cost", "time", "recency")

#: Maximum power of a parameter of a weight: with it no weight is infinite.
MAX_POWER = 10

#: Description of the allowed weights.
ALLOWED_WEIGHTS = (
    f"{', '.join(WEIGHTS)}, or a table of powers of {', '.join(PARAMETERS)}, from 0 to {MAX_POWER} and one above 0, "
    "such as {time = 1, recency = 0.5}"
)


def refuse_other_designs(
    given: Mapping[str, Any],
    design: str,
    setting: str,
    section: str = "",
    designs: Mapping[str, tuple[str, ...]] = DESIGNS,
) -> None:
    """Raise SettingError for a setting that the design does not have; one that is `None` was not given.

    ``setting``: the setting that chooses the design. ``section``: prefix of the settings: ``names.`` in a job.
    """
    for key, owners in designs.items():
        value = given.get(key)
        if value is not None and design not in owners:
            allowed = f"none with {setting} = {design}; it is a setting of {' and '.join(owners)}"
            raise SettingError(f"{section}{key}", value, allowed)


def check_weight(given: object) -> object:
    """Return a named weight or all powers; raises ValueError otherwise (pydantic adds the setting's name)."""
    if isinstance(given, Mapping):
        numbers = [
            value for value in given.values() if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        known = len(numbers) == len(given) and given.keys() <= set(PARAMETERS)
        if known and max(numbers, default=0) > 0 and all(0 <= number <= MAX_POWER for number in numbers):
            return {parameter: given.get(parameter, 0) for parameter in PARAMETERS}
    elif given is None or given in WEIGHTS:
        return given
    raise ValueError(ALLOWED_WEIGHTS)
