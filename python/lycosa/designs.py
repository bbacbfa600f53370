"""What a design of the cache of names may be told: one rule for ``[names]`` of a job and ``lycosa.names.Cache``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lycosa.errors import SettingError

#: Which designs of the cache of names have a setting.
DESIGNS = {
    "verify": ("compact",),
    "negative": ("compact",),
    "buckets": ("async-lru",),
    "period": ("async-lru", "regions", "optimiser"),
    "levels": ("regions",),
    "weight": ("regions",),
    "light": ("regions",),
}

#: What a weight is made of: how long resolving took, the share of its TTL that is left, when it was asked for last.
Parameter = Literal["time", "ttl", "recency"]
PARAMETERS: tuple[Parameter, ...] = ("time", "ttl", "recency")

#: Weights that have a name.
WEIGHTS = ("cost", "time", "recency")

#: The largest power of a parameter of a weight: with it no weight is infinite.
MAX_POWER = 10

#: What is allowed as a weight.
ALLOWED_WEIGHTS = (
    f"{', '.join(WEIGHTS)}, or a table of powers of {', '.join(PARAMETERS)}, from 0 to {MAX_POWER} and one above 0, "
    "such as {time = 1, recency = 0.5}"
)


def refuse_other_designs(
    given: Mapping[str, Any],
    design: str,
    setting: str,
    room: str = "",
    designs: Mapping[str, tuple[str, ...]] = DESIGNS,
) -> None:
    """Raise SettingError for a setting that the design does not have; one that is None was not given.

    ``setting``: what the design is chosen by. ``room``: where the settings stand, such as ``names.`` of a job.
    """
    for key, owners in designs.items():
        value = given.get(key)
        if value is not None and design not in owners:
            allowed = f"none with {setting} = {design}; it is a setting of {' and '.join(owners)}"
            raise SettingError(f"{room}{key}", value, allowed)


def check_weight(given: object) -> object:
    """A word, or all powers; refuses what is no weight. For pydantic, which names the setting."""
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
