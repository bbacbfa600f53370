"""JSON of the protocol: compact, and in bytes."""

from __future__ import annotations

import json

#: The media type.
JSON = "application/json"

#: One for all: `json.dumps` makes one a call where separators are given.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)


def write_json(given: object) -> bytes:
    """Return a value as JSON."""
    return _ENCODER.encode(given).encode()
