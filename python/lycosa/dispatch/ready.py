"""Results of a client that wait for its caller."""

from __future__ import annotations

import asyncio
from collections import deque

from lycosa.records import Responses

#: Batches of results that wait at most.
READY = 64


class Ready:
    """The results of some requests, in the order in which they came. Who puts them in waits while it is full."""

    def __init__(self) -> None:
        """Have none."""
        self.is_dropped = False  # nobody wants them any more
        self._is_ended = False
        self._batches: deque[Responses] = deque()
        self._changed = asyncio.Event()

    async def put(self, batch: Responses) -> None:
        """Add results, as soon as there is room; they are lost if they were dropped."""
        while len(self._batches) >= READY and not self.is_dropped:
            await self._change()
        if not self.is_dropped:
            self._batches.append(batch)
            self._changed.set()

    async def get(self) -> Responses | None:
        """Return the next results; waits for them. `None`: there are none any more, nor will there be."""
        while not self._batches:
            if self._is_ended:
                return None
            await self._change()
        self._changed.set()
        return self._batches.popleft()

    def drop(self) -> None:
        """Drop them, and what will come."""
        self.is_dropped = True
        self._batches.clear()
        self._changed.set()

    def end(self) -> None:
        """Note that no more will come."""
        self._is_ended = True
        self._changed.set()

    async def _change(self) -> None:
        """Wait until something has changed: all who wait look again."""
        self._changed.clear()
        await self._changed.wait()
