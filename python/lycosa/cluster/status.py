"""How partitions stand, as their owners tell with each commit, and whether a job is over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Status:
    """How a partition stands, with all that its journal has up to the commit that tells it."""

    is_idle: bool  # nothing waits, nothing is in flight
    read: int  # the position up to which links are accepted
    counts: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0  # the end of its pages

    def differs(self, before: Status | None) -> bool:
        """Whether something is idle now that was not, or has accepted more since."""
        return before is None or self.is_idle != before.is_idle or (self.is_idle and self.read != before.read)

    def encode(self) -> bytes:
        """Return it as bytes."""
        found = {"idle": self.is_idle, "read": self.read, "counts": dict(self.counts), "pages": self.pages}
        return json.dumps(found).encode()

    @classmethod
    def decode(cls, data: bytes) -> Status:
        """Return the status of bytes; raises ValueError if they are none."""
        found = json.loads(data)
        try:
            return cls(bool(found["idle"]), int(found["read"]), dict(found["counts"]), int(found["pages"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no status of a partition: {error}") from None


def is_over(statuses: Mapping[int, Status], ends: Mapping[int, int]) -> bool:
    """Return whether a job is over: all partitions are idle and have accepted all links.

    ends: of the links of all partitions, looked up after the statuses. A partition that found links told that it is
    idle only after these were committed, so that they are before these ends.
    """
    return all(
        partition in statuses and statuses[partition].is_idle and statuses[partition].read >= end
        for partition, end in ends.items()
    )
