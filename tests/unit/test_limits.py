"""Limits of requests and of bytes a second: never more than that, never less than could be. Time is advanced."""

from __future__ import annotations

import itertools
import time
from typing import Any

import lycosa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa import BandwidthLimit, Middleware, Outcome, RateLimit, Request, Requests, Response, Responses, Way, _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.limits import AHEAD, FIRST_BYTES, Turns

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html")]


class Clock:
    """A time that is set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


#: Steps of a story: seconds that pass, a key, an amount.
STEPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 1.0, 7.0]), st.sampled_from("ab"), st.integers(1, 4)), max_size=60
)


@given(STEPS, st.sampled_from([0.5, 1.0, 4.0]), st.integers(4, 9))
def test_a_key_is_given_its_burst_and_its_rate_and_not_later_than_that(
    steps: list[tuple[float, str, int]], rate: float, burst: int
) -> None:
    turns, now = Turns(rate, burst), 0.0
    taken: dict[str, list[tuple[float, int]]] = {"a": [], "b": []}
    # The plain model: a bucket of tokens by key, and requests that wait in a row.
    tokens, filled = {"a": float(burst), "b": float(burst)}, {"a": 0.0, "b": 0.0}
    for passed, key, amount in steps:
        now += passed
        start = now + turns.wait(key, amount, now)
        turns.take(key, amount, now)
        taken[key].append((start, amount))
        at = max(now, filled[key])
        tokens[key] = min(tokens[key] + (at - filled[key]) * rate, burst)
        needed = max(amount - tokens[key], 0.0) / rate
        tokens[key], filled[key] = tokens[key] + needed * rate - amount, at + needed
        assert start == pytest.approx(filled[key]), "as early as the model allows"
    for starts in taken.values():
        assert [start for start, _ in starts] == sorted(start for start, _ in starts)
        for first in range(len(starts)):
            sums = 0
            for start, amount in starts[first:]:
                sums += amount
                assert sums <= burst + rate * (start - starts[first][0]) + 1e-6


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0.0, 0.5, 3.0])), max_size=60))
def test_no_more_keys_are_remembered_than_the_limit(limit: int, steps: list[tuple[int, float]]) -> None:
    turns, now = Turns(1.0, 1.0, limit), 0.0
    for number, passed in steps:
        now += passed
        if turns.wait(str(number), 1, now) < 60:
            turns.take(str(number), 1, now)
        assert len(turns._full_at) <= limit
    assert turns.wait("new", 1, now + 1_000) == 0, "what is idle makes room"


def test_how_many_may_start_soon_is_told() -> None:
    turns = Turns(2.0, 3.0)
    assert turns.count("a", 1, 0.0, 0.0) == 3
    assert turns.count("a", 1, 1.0, 0.0) == 5
    for _ in range(5):
        turns.take("a", 1, 0.0)
    assert (turns.count("a", 1, 0.0, 0.0), turns.count("a", 1, 1.0, 0.0), turns.count("a", 1, 1.5, 0.0)) == (0, 0, 1)
    assert turns.count("b", 100, 0.0, 0.0) == 1, "more than the burst needs a full bucket, no more"


def requests(*urls: str) -> list[Request]:
    """Requests as on lease, with numbers of their own."""
    return [_core.Proxies.request(url, number, ["192.0.2.1"]) for number, url in enumerate(urls, 1)]


def passed(limit: Middleware, batch: list[Request]) -> tuple[list[str], dict[str, float], list[str]]:
    """What goes on at once, what is delayed for how long, what goes back, by path."""
    way, began = Way(), time.monotonic()
    going = limit.requests(Requests(batch), way)
    delayed = {one.path: round(due - began, 1) for due, some in way.delayed for one in some}
    return [one.path for one in going], delayed, [one.path for _, some in way.returned for one in some]


def test_requests_of_the_crawl_are_held_back_until_their_turn() -> None:
    clock = Clock()
    limit = RateLimit(2.0, burst=2, clock=clock)
    batch = requests("http://a.com/1", "http://b.com/2", "http://c.com/3", "http://d.com/4")
    assert passed(limit, batch) == (["/1", "/2"], {"/3": 0.5, "/4": 1.0}, [])
    clock.now += 100
    assert passed(limit, batch[:1]) == (["/1"], {}, [])


def test_hosts_domains_and_keys_of_a_function_have_limits_of_their_own() -> None:
    urls = "http://a.example.com/1", "http://b.example.com/2", "http://a.example.com/3", "http://b.com/4"
    batch = requests(*urls)
    assert passed(RateLimit(0.5, by="host", clock=Clock()), batch) == (["/1", "/2", "/4"], {"/3": 2.0}, [])
    assert passed(RateLimit(0.5, by="domain", clock=Clock()), batch) == (["/1", "/4"], {"/2": 2.0, "/3": 4.0}, [])
    by_path = RateLimit(0.5, by=lambda request: None if request.path == "/1" else "others", clock=Clock())
    assert passed(by_path, batch) == (["/1", "/2"], {"/3": 2.0, "/4": 4.0}, [])


def test_what_would_wait_for_more_than_a_minute_goes_back_and_takes_no_turn() -> None:
    clock = Clock()
    limit = RateLimit(1 / 50, by="host", clock=clock)
    batch = requests(*(f"http://a.com/{number}" for number in range(4)))
    assert passed(limit, batch) == (["/0"], {"/1": 50.0}, ["/2", "/3"])
    clock.now += 60
    assert passed(limit, batch[2:]) == ([], {"/2": 40.0}, ["/3"])


def test_a_limit_of_the_crawl_leaves_requests_in_the_frontier() -> None:
    clock = Clock()
    limit = RateLimit(3.0, clock=clock)
    assert limit.free() == 3 * AHEAD + 1
    passed(limit, requests("http://a.com/1", "http://a.com/2", "http://a.com/3", "http://a.com/4"))
    assert limit.free() == 0
    clock.now += 1
    assert limit.free() == 3
    assert RateLimit(3.0, by="host").free() is None
    slow = RateLimit(0.01, clock=clock)
    assert slow.free() == 1
    passed(slow, requests("http://a.com/1"))
    assert slow.free() == 0


def received(request: Request, size: int, source: str = "http/1.1") -> Response:
    """A response of so many bytes."""
    empty = request.respond(200, source=source)
    return request.respond(200, body=bytes(size - len(empty.head)), source=source)


@pytest.mark.parametrize(("size", "wait"), [(FIRST_BYTES + 30_000, 9.6), (5_536, 0.0)])
def test_bytes_are_paid_for_once_their_number_is_known(size: int, wait: float) -> None:
    clock = Clock()
    limit = BandwidthLimit(10_000.0, burst=FIRST_BYTES, clock=clock)
    one, two, three = requests("http://a.com/1", "http://a.com/2", "http://a.com/3")
    assert passed(limit, [one]) == (["/1"], {}, [])
    limit.responses(Responses([received(one, size)]))
    assert passed(limit, [two]) == ((["/2"], {}, []) if wait == 0 else ([], {"/2": wait}, []))
    clock.now += 1_000
    assert passed(limit, [three]) == (["/3"], {}, [])


def test_what_was_not_received_costs_nothing() -> None:
    clock = Clock()
    limit = BandwidthLimit(1.0, burst=FIRST_BYTES, by="host", clock=clock)
    batch = requests(*(f"http://a.com/{number}" for number in range(4)))
    answers = [received(batch[0], 5_000, "cache"), batch[1].fail("dropped"), batch[2].fail("cancelled")]
    for request, answer in zip(batch, answers, strict=False):
        assert passed(limit, [request])[0] == [request.path]
        limit.responses(Responses([answer]))
    assert passed(limit, [batch[3]])[0] == ["/3"]
    limit.responses(Responses([batch[3].fail("read-timeout")]))
    assert passed(limit, [batch[0]])[2] == ["/0"], "how much of it came is not known: it counts as one"


@given(st.lists(st.tuples(st.integers(200, 40_000), st.floats(0, 2)), min_size=1, max_size=60))
def test_in_the_long_run_no_more_bytes_come_than_the_rate_allows(steps: list[tuple[int, float]]) -> None:
    clock, rate, burst = Clock(), 10_000.0, 20_000.0
    limit = BandwidthLimit(rate, burst=burst, clock=clock)
    began, sums = clock.now, 0
    for size, passes in steps:
        clock.now += passes
        (request,) = requests("http://a.com/")
        _going, delayed, back = passed(limit, [request])
        if back:
            continue
        clock.now += delayed.get("/", 0.0) + 0.05 * bool(delayed)
        # All that came before this one has been paid for, but for the burst.
        assert sums <= burst + rate * (clock.now - began) + 1
        limit.responses(Responses([received(request, size)]))
        sums += size


@pytest.mark.parametrize(
    ("kind", "rate", "others", "told"),
    [
        (RateLimit, 0, {}, "RateLimit rate: '0' is not allowed; allowed: a number above 0"),
        (RateLimit, 1, {"burst": 0.5}, "RateLimit burst: '0.5' is not allowed; allowed: a number from 1"),
        (RateLimit, 1, {"by": "site"}, "RateLimit by: 'site' is not allowed; allowed: crawl, host, domain, or a"),
        (RateLimit, 1, {"max_keys": 0}, "RateLimit max_keys: '0' is not allowed; allowed: a whole number from 1"),
        (BandwidthLimit, float("inf"), {}, "BandwidthLimit rate: 'inf'"),
        (BandwidthLimit, "1M", {}, "BandwidthLimit rate: '1M'"),
        (BandwidthLimit, 1, {"burst": -1}, "BandwidthLimit burst: '-1'"),
    ],
)
def test_wrong_settings_are_refused_by_name(kind: Any, rate: Any, others: dict[str, Any], told: str) -> None:
    with pytest.raises(lycosa.SettingError) as raised:
        kind(rate, **others)
    assert told in str(raised.value)


class Timed(ScriptedFetch):
    """A site of linked pages that notes when each request for one comes."""

    def __init__(self, pages: int) -> None:
        super().__init__(self._answered)
        self._links = "".join(f"<a href=/{number}>{number}</a>" for number in range(1, pages)).encode()
        self.came: dict[str, float] = {}

    def _answered(self, url: str) -> Answer:
        if url.endswith("/robots.txt"):
            return 404, [], b""
        return 200, HTML, self._links

    def submit(self, requests: Requests) -> None:
        now = time.monotonic()
        self.came.update((request.path, now) for request in requests if request.purpose == "page")
        super().submit(requests)

    def gaps(self) -> list[float]:
        """The seconds between two requests."""
        times = sorted(self.came.values())
        return [later - earlier for earlier, later in itertools.pairwise(times)]


def crawl(fetch: Timed, *middleware: Middleware, **politeness: Any) -> list[Outcome]:
    """Crawl the scripted site."""
    usual: Any = {"host_interval": 0, "address_interval": 0, "share_clocks": False, "host_concurrency": 8}
    outcomes = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness=usual | {"address_concurrency": 8} | politeness,
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
        middleware=middleware,
    )
    return list(outcomes)


@pytest.mark.parametrize("by", ["crawl", "host"])
def test_a_crawl_has_all_its_pages_at_the_rate(by: Any) -> None:
    fetch = Timed(12)
    outcomes = crawl(fetch, RateLimit(20.0, by=by))
    assert [outcome.status for outcome in outcomes] == [200] * 12
    assert sum(fetch.gaps()) >= 11 / 20 - 0.02
    assert min(fetch.gaps()) >= 1 / 20 - 0.03


def test_a_limit_never_shortens_the_intervals_of_a_host() -> None:
    fetch = Timed(4)
    crawl(fetch, RateLimit(10_000.0), host_interval=0.1, host_concurrency=1)
    assert min(fetch.gaps()) >= 0.095


def test_what_goes_back_comes_again_and_counts_as_no_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.limits.LONGEST_DELAY", 0.05)
    fetch = Timed(5)
    outcomes = crawl(fetch, RateLimit(5.0, by="host"))
    assert [(outcome.status, outcome.attempt) for outcome in outcomes] == [(200, 0)] * 5
    assert min(fetch.gaps()) >= 1 / 5 - 0.03


def test_bandwidth_of_a_crawl() -> None:
    fetch = Timed(8)
    size = len(fetch._links)
    began = time.monotonic()
    outcomes = crawl(fetch, BandwidthLimit(size * 40.0, burst=size))
    assert len(outcomes) == 8
    # The first request takes what one is expected to have, and is given back the rest.
    assert time.monotonic() - began >= 6 / 40
