"""A master's server: no download server is told a ring before it is kept."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lycosa.dispatch.life import Life
from lycosa.dispatch.master_server import MasterServer
from lycosa.dispatch.protocol import PROTOCOL
from lycosa.dispatch.registry import HEEDED, Kept
from lycosa.errors import StorageError

from tests.unit.dispatch.helpers import KEY, START, beat, master, quotas


class Memory(Life):
    """A life whose state is in memory, or cannot be written."""

    def __init__(self) -> None:
        super().__init__(1, KEY, "")
        self.is_full = False

    async def note_ring(self, ring: str) -> None:
        await asyncio.sleep(0)
        if self.is_full:
            raise StorageError("No space left on device")
        self.ring = ring


class Master:
    """A master's server, and download servers that heed it."""

    def __init__(self) -> None:
        self.now, self.life = START, Memory()
        self.rules = master(quotas(news=10), period=1.0)
        self.server = MasterServer(self.rules, self.life, lambda: self.now)
        self.known: dict[str, dict[str, Any]] = {}

    async def beat(self, *names: str) -> None:
        """Heartbeats at one time."""
        await asyncio.gather(*(self._beat(name) for name in names))

    async def _beat(self, name: str) -> None:
        ring = self.known.get(name, {"version": 0, "members": {}})
        given = beat(name, ring=ring["version"], members=ring["members"])
        told = {**given._asdict(), "accepted": [], "protocol": PROTOCOL}
        answer = await self.server._heartbeat(cast("Any", SimpleNamespace(json=lambda: told)))
        self.known[name] = json.loads(answer.body)["ring"]
        kept = Kept.read(self.life.ring)
        assert kept is not None
        assert self.known[name]["version"] <= kept.version, "told before it was kept"


def test_a_ring_is_kept_before_it_is_told() -> None:
    async def story() -> None:
        one = Master()
        for _ in range(4):
            await one.beat("d1", "d2", "d3")
        kept = Kept.read(one.life.ring)
        assert kept is not None
        assert set(kept.members) == set(kept.processes) == {"d1", "d2", "d3"}
        assert {ring["version"] for ring in one.known.values()} == {kept.version}

    asyncio.run(story())


def test_while_the_state_cannot_be_written_no_site_moves_and_servers_go_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="lycosa")

    async def story() -> None:
        one = Master()
        for _ in range(4):
            await one.beat("d1", "d2")
        before = one.known["d1"]
        one.life.is_full = True
        for _ in range(3 * HEEDED):
            one.now += 1.0
            await one.beat("d1")  # d2 is gone
        assert one.known["d1"]["version"] == before["version"]
        assert set(one.rules.registry.servers) == {"d1"}, "it is not its fault"
        assert len(caplog.records) == 1
        one.life.is_full = False
        for _ in range(3):
            one.now += 1.0
            await one.beat("d1")
        assert set(one.known["d1"]["members"]) == {"d1"}
        assert one.rules.registry.ring() is not None

    asyncio.run(story())
