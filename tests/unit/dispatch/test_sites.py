"""No two download servers may start one site, whatever is lost, late, killed, cut off or restarted.

A master and up to four servers play by their real rules; each server has clocks of its own. A process that is
replaced by another one of its name may be alive, and cut off.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from lycosa import _core
from lycosa.dispatch.desk import Desk
from lycosa.dispatch.master import Master
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Kept
from lycosa.records import Request, Requests

from tests.unit.dispatch.helpers import KEY, START, own, quotas

NAMES = st.sampled_from(["d1", "d2", "d3", "d4"])

PERIOD, HOLD, HANDOVER = 1.0, 6.0, 0.5

#: URLs of sites that rings divide.
SOME = Requests(Request(f"http://site{number}.example/") for number in range(24))


class Sites(RuleBasedStateMachine):
    """Each site may be started by one process at a time, and by another one after a pause."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.life, self.processes = START, 0, 0
        self.desks: dict[str, Desk] = {}  # the last process of each name
        self.alive: list[Desk] = []
        self.late: dict[str, tuple[Desk, Any, float]] = {}  # answers on their way, and when their questions were sent
        self.last: dict[str, tuple[str, float]] = {}  # by URL: the process that might start it last, and when
        self.kept: Kept | None = None  # what outlives a master
        self.step = 0.0  # of the master's clock
        self.restart_master(0.0)

    @initialize(count=st.integers(2, 3))
    def begin(self, count: int) -> None:
        """Some servers share the sites."""
        for name in ["d1", "d2", "d3"][:count]:
            self.start(name, stays=False)
        for _ in range(5):
            self.period(set())

    @rule(name=NAMES, stays=st.booleans())
    def start(self, name: str, stays: bool) -> None:
        """Another process of a name, or the first one; the one before may be cut off and stay."""
        if not stays:
            self.end(name)
        self.processes += 1
        self.late.pop(name, None)
        public = _core.VerifyingKey(KEY.public)
        desk = Desk(name, f"p{self.processes}", public, self.now, wall=self.now, places=10, keep=60.0)
        self.desks[name] = desk
        self.alive.append(desk)

    @rule(name=NAMES)
    def end(self, name: str) -> None:
        """A server is killed."""
        if name in self.desks:
            gone = self.desks.pop(name)
            self.alive = [desk for desk in self.alive if desk is not gone]

    @rule(step=st.sampled_from([0.0, 0.0, 60.0, -60.0]))
    def restart_master(self, step: float) -> None:
        """Another master, which knows of the one before what was kept; its clock may be another one."""
        self.life += 1
        self.step += step
        times = {"period": PERIOD, "grant_seconds": 5.0, "hold": HOLD, "handover": HANDOVER}
        service = {"rate": 1_000, "placement": "owner"}
        self.master = Master(quotas(news=service), KEY, self.life, self.now + self.step, **times, kept=self.kept)

    @rule(name=NAMES, is_late=st.booleans())
    def beat(self, name: str, is_late: bool = False) -> None:
        """A heartbeat arrives; its answer comes at once, or is late."""
        desk = self.desks.get(name)
        if desk is None or name in self.late:
            return
        answer = self.asked(desk)
        if answer is not None and is_late:
            self.late[name] = (desk, answer, self.now)
        elif answer is not None:
            desk.answered(answer, self.now, self.now)

    @rule(number=st.integers(0, 3))
    def beat_of_old(self, number: int) -> None:
        """A process that was cut off and replaced is heard of again."""
        old = [desk for desk in self.alive if self.desks.get(desk.name) is not desk]
        if number < len(old) and (answer := self.asked(old[number])) is not None:
            old[number].answered(answer, self.now, self.now)

    def asked(self, desk: Desk) -> Any:
        """The master's answer to a heartbeat; a process that is refused ends."""
        try:
            answer = self.master.heartbeat(desk.beat("http://d.example", 128, 1.0), self.now + self.step)
        except Refusal:
            self.alive = [one for one in self.alive if one is not desk]
            self.desks = {name: one for name, one in self.desks.items() if one is not desk}
            return None
        self.kept = self.master.registry.kept()
        return answer

    @rule(name=NAMES, is_lost=st.booleans())
    def answer(self, name: str, is_lost: bool) -> None:
        """A late answer arrives, or is lost."""
        if name in self.late:
            desk, answer, sent = self.late.pop(name)
            if not is_lost:
                desk.answered(answer, sent, self.now)

    @rule(by=st.sampled_from([0.1, 0.4, 1.0, 2.5]))
    def later(self, by: float) -> None:
        """Time passes in silence."""
        self.now += by
        self.master.registry.look(self.now + self.step)

    @rule(silent=st.sets(NAMES, max_size=2), deaf=st.sets(NAMES, max_size=2), count=st.integers(1, 3))
    def period(self, silent: Set[str], deaf: Set[str] = frozenset(), count: int = 1) -> None:
        """Some periods pass; all but some are heard, and some of them hear nothing."""
        for _ in range(count):
            self.later(PERIOD)
            for name in sorted(set(self.desks) - silent):
                self.beat(name, is_late=name in deaf)
                if name in deaf:
                    self.late.pop(name, None)
            self.no_site_may_be_started_twice()

    def own(self, desk: Desk) -> set[str]:
        """The URLs that a server may start now."""
        return own(desk, self.now, SOME) if desk.may_start(self.now) else set()

    @invariant()
    def no_site_may_be_started_twice(self) -> None:
        """Where another process might start a site before, the pause is over."""
        found = {desk.process: self.own(desk) for desk in self.alive}
        assert sum(map(len, found.values())) == len(set().union(*found.values())), "two may start a site now"
        for process, urls in found.items():
            for url in urls:
                before, when = self.last.get(url, (process, 0.0))
                assert before == process or self.now - when > HANDOVER - 0.001, f"{before} and {process}: {url}"
        self.last |= {url: (process, self.now) for process, urls in found.items() for url in urls}

    def teardown(self) -> None:
        """Once all are heard again, each site is somebody's."""
        self.late.clear()
        for _ in range(40):
            self.period(set())
            self.no_site_may_be_started_twice()
        current = list(self.desks.values())
        if current:
            assert set.union(*(self.own(desk) for desk in current)) == {request.url for request in SOME}


Sites.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestSites = Sites.TestCase


def test_servers_that_are_heard_of_go_on_while_others_come_and_go() -> None:
    names = ("d1", "d2", "d3", "d4")
    one = Sites()
    for name in names:
        one.start(name, stays=False)
    for _ in range(60):
        one.later(0.25)
        for name in names:
            one.beat(name)
    own = {name: one.own(one.desks[name]) for name in names}
    assert set().union(*own.values()) == {request.url for request in SOME}
    # Each is heard of in another tenth of the second; two of them restart and are silent for a little longer than it
    # takes to be excluded, so that some servers hear of one ring in two.
    for tick in range(120):
        if tick in (10, 13):
            one.end("d3" if tick == 10 else "d4")
        if tick in (33, 37):
            one.start("d3" if tick == 33 else "d4", stays=False)
        one.later(0.1)
        for number, name in enumerate(names):
            if tick % 10 == 3 * number and name in one.desks:
                one.beat(name)
        one.no_site_may_be_started_twice()
        assert all(one.own(one.desks[name]) >= own[name] for name in ("d1", "d2")), f"after {tick / 10} s"
