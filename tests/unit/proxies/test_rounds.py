"""Rounds of checks: whether the proxies fail or the pages do."""

from __future__ import annotations

import threading

import pytest
from lycosa.proxies import Proxy
from lycosa.proxies.check import Checker
from lycosa.proxies.keeper import Keeper
from lycosa.proxies.known import FIRST_PAUSE
from lycosa.proxies.pool import Pool
from lycosa.records import Request, Requests, Response

from tests.unit.proxies.test_pool import Clock
from tests.unit.proxies.test_proxy_fetch import ScriptedFetch

PAGE = "http://192.0.2.99/"


class Checks:
    """Ten proxies with checks, whose pages are down where a name is in `down`; `None` is no proxy."""

    def __init__(self) -> None:
        self.down: set[str | None] = set()
        self.fetch, self.clock = ScriptedFetch(self._answer), Clock()
        self.pool = Pool(clock=self.clock, recheck=100.0)
        checker = Checker(self.fetch, [PAGE], [["192.0.2.99"]], within=30.0, clock=self.clock)
        self.keeper = Keeper(self.pool, {}, lambda hosts: {}, checker)
        self.checker = checker
        self.names = []
        for number in range(10):
            proxy = Proxy("http", f"192.0.2.{number}", 80)
            self.pool.add(proxy, [proxy.host])
            self.names.append(proxy.name)
        self.check()

    def use(self, fetch: ScriptedFetch) -> None:
        """Have another fetch ask for the pages."""
        self.fetch = self.checker._fetcher = fetch

    def _answer(self, request: Request) -> Response:
        return request.respond(503 if request.proxy in self.down else 200, body=b"hello")

    def check(self, after: float = 0.0) -> int:
        """Check what is due after a time; returns how many proxies work then."""
        self.clock.now += after
        for _ in range(3):
            self.keeper.check()
        return self.pool.working()


def test_a_page_of_checks_that_is_down_ejects_nobody(caplog: pytest.LogCaptureFixture) -> None:
    checks = Checks()
    assert checks.pool.working() == 10
    checks.down = {*checks.names, None}
    assert checks.check(100.0) == 10
    assert checks.check(FIRST_PAUSE) == 10
    assert caplog.text.count("cannot be fetched without a proxy either") == 1
    checks.down = set()
    assert checks.check(FIRST_PAUSE) == 10


def test_proxies_that_fail_while_the_page_answers_leave() -> None:
    checks = Checks()
    asked = checks.fetch.asked.count(None)
    checks.down = set(checks.names[:4])
    assert checks.check(100.0) == 6
    assert checks.fetch.asked.count(None) == asked, "fewer than half may well fail"
    checks.down = set(checks.names)
    assert checks.check(100.0) == 0
    assert checks.fetch.asked.count(None) == asked + 1


class Dribbling(ScriptedFetch):
    """Answers no request through the proxies named in `dribbles`, until `end`."""

    def __init__(self, fetch: ScriptedFetch) -> None:
        super().__init__(fetch._answer)
        self.dribbles, self.held = set[str | None](), list[Request]()

    def submit(self, requests: Requests) -> None:
        """Answer the others."""
        self.held += [request for request in requests if request.proxy in self.dribbles]
        super().submit(Requests([request for request in requests if request.proxy not in self.dribbles]))

    def end(self) -> None:
        """Answer all."""
        self.dribbles = set()
        super().submit(Requests(self.held))


def test_a_proxy_that_dribbles_holds_up_nobody() -> None:
    checks = Checks()
    fetch = Dribbling(checks.fetch)
    checks.use(fetch)
    failing, dribbling = checks.names[0], checks.names[1]
    checks.down, fetch.dribbles = {failing}, {dribbling}
    assert checks.check(100.0) == 10, "the failure waits for the round to end"
    checks.pool.add(Proxy("http", "192.0.2.50", 80), ["192.0.2.50"])
    assert checks.check(1.0) == 11, "a first check does not wait"
    assert checks.check(28.0) == 11
    assert checks.check(1.0) == 9
    assert not checks.pool.works(dribbling)
    fetch.end()
    assert checks.check() == 9, "what comes too late counts for nothing"
    checks.down = set()
    assert checks.check(FIRST_PAUSE) == 11


def test_the_end_of_a_crawl_does_not_wait_for_the_page_of_checks() -> None:
    class Silent(ScriptedFetch):
        def submit(self, requests: object) -> None:
            """Answer nothing."""

    stopped = threading.Event()
    checker = Checker(Silent(lambda request: request.respond(200)), [PAGE], [["192.0.2.99"]], stopped)
    threading.Timer(0.2, stopped.set).start()
    checker.begin([Proxy("http", "192.0.2.1", 80)])
    assert not checker.answers_directly()
