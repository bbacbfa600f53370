"""What the master tells clients: which download servers are live, how URLs are divided among them, limits."""

from __future__ import annotations

from typing import Any

from lycosa import _core
from lycosa.dispatch.pending import Place


class Members:
    """The master's last word on its download servers, for one service."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.taken = 0  # answers taken over
        self.known: dict[str, Any] = {}  # the last of them
        self.ring: _core.Ring | None = None

    def take(self, answer: dict[str, Any], since: int) -> bool:
        """Take over an answer; returns whether that was done. since: ``taken`` of when the question was sent.

        Two questions may be under way at once. If another answer was taken meanwhile, nobody knows which of both the
        master gave first: an older one would declare servers gone that have come since. The one that was taken stays.
        """
        if since != self.taken:
            return False
        if answer["members"] != self.known.get("members"):
            self.ring = _core.Ring(answer["members"]) if answer["members"] else None
        self.known = {name: value for name, value in answer.items() if name != "grants"}
        self.taken += 1
        return True

    def servers(self) -> dict[str, dict[str, Any]]:
        """Return address and process of each live download server, by name."""
        servers: dict[str, dict[str, Any]] = self.known.get("servers", {})
        return servers

    def processes(self) -> dict[str, str]:
        """Return the process of each live download server."""
        return {name: one["process"] for name, one in self.servers().items()}

    def address(self, place: Place) -> str | None:
        """Return where a process of a download server is reached, `None` if it is not known as live."""
        found = self.servers().get(place[0])
        return None if found is None or found["process"] != place[1] else str(found["address"])

    def most(self) -> int:
        """Return the URLs that the service's quota allows in one grant."""
        return int(self.known["most"])

    def period(self) -> float:
        """Return the seconds between heartbeats."""
        return float(self.known.get("period", 1.0))

    def is_divided(self) -> bool:
        """Return whether each URL has a download server of its own, by the ring."""
        return bool(self.known["divided"])

    def lacks_ring(self) -> bool:
        """Return whether URLs cannot be divided yet."""
        return self.is_divided() and self.ring is None
