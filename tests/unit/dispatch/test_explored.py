"""The protocol, explored: every order of events of a small world, with messages lost, doubled and late.

The world is a master, a download server or two, and a client with two URLs; each plays by its real rules. Whatever
happens, no URL is delivered twice and none disappears, and from every state the client gets all its results once the
trouble is over.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from lycosa import _core
from lycosa.dispatch.desk import Desk
from lycosa.dispatch.grant import Grant, digest_of
from lycosa.dispatch.master import Master, Part
from lycosa.dispatch.pending import Pending
from lycosa.dispatch.protocol import SITE
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Kept
from lycosa.records import Request, Requests

from tests.unit.dispatch.helpers import KEY, START, own, quotas

PUBLIC = _core.VerifyingKey(KEY.public)

#: The client's URLs.
URLS = ["http://one.example/", "http://two.example/"]

#: URLs of sites that rings divide.
SOME = Requests(Request(f"http://site{number}.example/") for number in range(12))

PERIOD, GRANT, HOLD = 1.0, 6.0, 8.0


def serial_of(grant: str) -> int:
    """The serial number of a grant."""
    payload = grant.partition(".")[0]
    serial: int = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["serial"]
    return serial


class World:
    """All processes, and what is on its way between them."""

    def __init__(self, servers: tuple[str, ...], placement: str) -> None:
        self.placement, self.servers = placement, servers
        self.now, self.life, self.processes = START, 0, 0
        self.desks: dict[str, Desk] = {}
        self.queues: dict[str, list[tuple[int, int]]] = {name: [] for name in servers}
        self.kept: Kept | None = None  # what outlives a master
        self.start_master()
        for name in servers:
            self.start_desk(name)
        self.pending: Pending[str] = Pending()
        self.pending.add(URLS)
        self.delivered: list[str] = []
        self.sent: list[tuple[str, str, Requests]] = []  # submissions on their way: server, grant, requests
        self.answers: list[list[tuple[int, int]]] = []  # results on their way
        self.after: dict[tuple[str, str], int] = {}
        self.accepted: list[tuple[str, int]] = []
        self.unsure: list[int] = []

    def start_master(self) -> None:
        self.life += 1
        service: dict[str, Any] = {"rate": 1_000, "placement": self.placement}
        settings = {"period": PERIOD, "grant_seconds": GRANT, "hold": HOLD, "handover": 0.5}
        self.master = Master(quotas(news=service), KEY, self.life, self.now, **settings, kept=self.kept)

    def start_desk(self, name: str) -> None:
        self.processes += 1
        self.queues[name] = []
        self.desks[name] = Desk(name, f"p{self.processes}", PUBLIC, self.now, wall=self.now, places=10, keep=60.0)

    def beat(self, name: str) -> None:
        desk = self.desks[name]
        answer = self.master.heartbeat(desk.beat("http://d.example", 128, 1.0), self.now)
        self.kept = self.master.registry.kept()
        desk.answered(answer, self.now, self.now)

    # The events.

    def events(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """What may happen now."""
        if self.pending.waiting():
            yield "ask", self.ask
            yield "ask, and the answer is lost", partial(self.ask, is_lost=True)
        for number in range(len(self.sent)):
            yield f"submission {number} arrives", partial(self.arrive, number, stays=False)
            yield (
                f"submission {number} arrives, and again later",
                partial(self.arrive, number, stays=True),
            )
            yield f"submission {number} is lost", partial(self.lose, number)
        for name in self.servers:
            if self.queues[name]:
                yield f"{name} finishes", partial(self.finish, name)
            yield f"{name} collects", partial(self.collect, name)
            if self.processes < len(self.servers) + 1:
                yield f"{name} is killed", partial(self.start_desk, name)
        for number in range(len(self.answers)):
            yield f"results {number} come again", partial(self.take, self.answers[number])
        yield "watch", self.watch
        yield "a period", self.period
        if self.now < START + 20:
            yield "silence", self.silence
        if self.life == 1:
            yield "the master is killed", self.start_master

    def ask(self, is_lost: bool = False) -> None:
        urls = self.pending.take(2)
        batch = Requests(Request(url) for url in urls)
        ring = self.master.registry.ring()
        parts: dict[str | None, Requests] = {None: batch}
        if self.placement == "owner":
            if ring is None:
                self.pending.put_back(urls)
                return
            parts = dict(batch.split(_core.Ring(dict(ring.members)), SITE).items())
        asked = [
            Part(server, len(part), digest_of(part.declared().encode()))
            for server, part in sorted(parts.items(), key=str)
        ]
        decided = self.master.ask("news", "c", asked, self.now)
        for part, one in zip((part for _, part in sorted(parts.items(), key=str)), decided, strict=True):
            listed = [request.url for request in part]
            if is_lost or isinstance(one, Refusal):
                self.pending.put_back(listed)
                continue
            assert isinstance(one, Grant)
            self.pending.granted(one.serial, (one.server, one.process), listed)
            self.sent.append((one.server, self.master.signed(one), part.declared()))

    def arrive(self, number: int, stays: bool) -> None:
        server, text, batch = self.sent[number] if stays else self.sent.pop(number)
        desk = self.desks[server]
        serial = serial_of(text)
        try:
            grant = desk.verify(text, "news", "c", digest_of(batch.encode()), 100, self.now)
            mailbox, batches = desk.accept(grant, batch, 100, self.now)
        except Refusal as refusal:
            if refusal.code != "spent-serial":
                self.pending.failed(serial)
            return
        assert (desk.process, grant.serial) not in self.accepted
        self.accepted.append((desk.process, grant.serial))
        self.pending.accepted(grant.serial, mailbox)
        self.queues[server] += [ticket for _, part in batches for ticket in part.tickets()]

    def lose(self, number: int) -> None:
        """The client tries again and again, and gives up; what it sent may have arrived all the same, by then."""
        _, text, _ = self.sent.pop(number)
        serial = serial_of(text)
        self.pending.failed(serial)

    def finish(self, name: str) -> None:
        serial, index = self.queues[name].pop(0)
        self.desks[name].done(serial, index, b"%d/%d" % (serial, index), True)

    def collect(self, name: str) -> None:
        desk = self.desks[name]
        place = (name, desk.process)
        try:
            results = desk.results(("news", "c"), self.after.get(place, 0), 1 << 20)
        except Refusal:
            self.pending.lost(place)
            return
        if results:
            tickets = [(result.serial, result.place) for result in results]
            if len(self.answers) < 2:
                self.answers.append(tickets)
            self.take(tickets)
            self.after[place] = results[-1].sequence

    def take(self, tickets: list[tuple[int, int]]) -> None:
        for serial, index in tickets:
            url = self.pending.settle(serial, index)
            if url is not None:
                self.delivered.append(url)

    def watch(self) -> None:
        members = self.master.members("news", self.now)
        if members["settled"]:
            self.pending.live({name: one["process"] for name, one in members["servers"].items()})

    def period(self) -> None:
        self.now += PERIOD
        for name in self.servers:
            self.beat(name)

    def silence(self) -> None:
        for _ in range(6):
            self.now += PERIOD / 2
            self.master.registry.look(self.now)

    # What holds.

    def check(self) -> None:
        assert len(self.delivered) == len(set(self.delivered)), "delivered twice"
        assert len(self.pending) + len(self.delivered) == len(URLS), "lost"
        if self.placement == "owner":
            starting = [url for desk in self.desks.values() for url in self.own(desk)]
            assert len(starting) == len(set(starting)), "two servers may start a site"

    def own(self, desk: Desk) -> set[str]:
        """The URLs of some sites that a server may start now."""
        return own(desk, self.now, SOME) if desk.may_start(self.now) else set()

    def recover(self) -> None:
        """The trouble is over: messages arrive, time passes."""
        for _ in range(40):
            self.period()
            self.watch()
            if self.pending.waiting():
                self.ask()
            while self.sent:
                self.arrive(0, stays=False)
            for name in self.servers:
                while self.queues[name]:
                    self.finish(name)
                self.collect(name)
            self.check()
            if len(self.delivered) == len(URLS):
                return
        raise AssertionError("the client does not get its results")

    def state(self) -> object:
        """What tells states apart; numbers that only grow are taken relative to each other."""
        grants = self.pending._grants
        order = {serial: place for place, serial in enumerate(sorted(grants))}
        desks = tuple(
            (
                name,
                desk.process,
                round(self.now - desk._heard, 1) if desk._heard > 0 else None,
                tuple(
                    sorted(
                        (order.get(serial, -1), tuple(sorted(one.left))) for serial, one in desk._submissions.items()
                    )
                ),
                tuple((order.get(r.serial, -1), r.place) for box in desk._mailboxes.values() for r in box.results),
                len(self.queues[name]),
                desk._owners.version,
            )
            for name, desk in self.desks.items()
        )
        return (
            self.pending.waiting(),
            tuple(sorted((order[s], g.place, tuple(r is None for r in g.requests)) for s, g in grants.items())),
            desks,
            len(self.sent),
            tuple(tuple(order.get(serial, -1) for serial, _ in answer) for answer in self.answers),
            tuple(sorted(self.delivered)),
            self.life,
            tuple(
                sorted((name, round(self.now - one.heard, 1)) for name, one in self.master.registry.servers.items())
            ),
            self.master.registry._proposed.version,
            min(self.now - START, 20),
        )


def explore(servers: tuple[str, ...], placement: str, depth: int, begin: int) -> int:
    """Explore breadth-first by replaying; returns the number of states. begin: periods before the exploration."""

    def replay(path: tuple[int, ...]) -> World:
        world = World(servers, placement)
        for _ in range(begin):
            world.period()
        for choice in path:
            list(world.events())[choice][1]()
        return world

    seen: set[object] = set()
    level: list[tuple[int, ...]] = [()]
    states = 0
    for _ in range(depth + 1):
        after: list[tuple[int, ...]] = []
        for path in level:
            world = replay(path)
            world.check()
            state = world.state()
            if state in seen:
                continue
            seen.add(state)
            states += 1
            after += [(*path, choice) for choice in range(len(list(world.events())))]
            world.recover()
        level = after
    return states


def test_one_server_every_order_of_events() -> None:
    assert explore(("d1",), "idlest", depth=7, begin=1) > 2_000


def test_two_servers_that_share_sites_every_order_of_events() -> None:
    assert explore(("d1", "d2"), "owner", depth=4, begin=3) > 400


@pytest.mark.soak
def test_one_server_every_longer_order_of_events() -> None:
    assert explore(("d1",), "idlest", depth=10, begin=1) > 10_000
