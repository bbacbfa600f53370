"""JSON of the protocol, by orjson: it takes a tenth of the time of `json`, a third of what a grant cost."""

from __future__ import annotations

from typing import Any

import orjson


def write_json(given: object) -> bytes:
    """Return a value as JSON."""
    return orjson.dumps(given)


def read_json(text: bytes) -> Any:
    """Return the value of JSON; raises ValueError, also for NaN, infinities and text that is no Unicode."""
    return orjson.loads(text)
