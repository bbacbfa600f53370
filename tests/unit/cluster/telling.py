"""What partitions tell each other of addresses, without brokers."""

from __future__ import annotations

from collections.abc import Mapping

from lycosa.cluster.part import Part


def pass_on(parts: Mapping[int, Part]) -> list[tuple[int, bytes]]:
    """Bring to partitions what others tell them of addresses; returns the records of that."""
    records = []
    for partition, part in parts.items():
        record, messages = part.tell()
        records += [(partition, record)] * bool(record)
        records += [(to, parts[to].accept(message)) for to, message in messages]
    return records
