"""Middleware: what it changes, drops, delays and answers, in which order, and what its errors come to."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import lycosa
import pytest
from lycosa import ItemMiddleware, Middleware, Outcome, Outcomes, Request, Requests, Response, Responses, Way
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.settings import PolitenessSettings

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html")]
LINKS = b"<title>start</title><a href=/a>a</a><a href=/b>b</a>"
MORE = LINKS + b"<a href=/c>c</a>"


class Recorded(ScriptedFetch):
    """A scripted site that keeps the requests that reach it."""

    def __init__(self) -> None:
        super().__init__(self._answered)
        self.sent: list[Request] = []

    @staticmethod
    def _answered(url: str) -> Answer:
        path = url.removeprefix(SITE)
        if path == "/robots.txt":
            return 404, [], b""
        return 200, HTML, LINKS if path == "/" else f"<title>{path}</title>".encode()

    def submit(self, requests: Requests) -> None:
        self.sent += list(requests)
        super().submit(requests)

    def pages(self) -> list[Request]:
        """The requests for pages."""
        return [request for request in self.sent if request.purpose == "page"]


def crawl(*middleware: Middleware, **settings: Any) -> tuple[Recorded, dict[str, Outcome]]:
    """Crawl the scripted site; returns what reached it, and the outcome of each page."""
    fetch = Recorded()
    politeness: PolitenessSettings = {
        "host_interval": 0,
        "address_interval": 0,
        "retries": 0,
        "share_clocks": False,
    }
    outcomes = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness=politeness,
        frontier={"patience": 0},
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
        middleware=middleware,
        **settings,
    )
    return fetch, {outcome.url.removeprefix(SITE): outcome for outcome in outcomes}


class Tagging(Middleware):
    """Adds a letter to a header field of requests, and to the title of outcomes."""

    def __init__(self, letter: str) -> None:
        self._letter = letter

    def requests(self, requests: Requests, way: Way) -> Requests:
        def tag(request: Request) -> Request:
            before = dict(request.headers).get("x-tags", "")
            return request.replace(headers=[("x-tags", before + self._letter)])

        return requests.map(tag)

    def outcomes(self, outcomes: Outcomes) -> Outcomes:
        return outcomes.replace("title", [f"{outcome.title or ''}{self._letter}" for outcome in outcomes])


class SlowTagging(Tagging):
    """The same, asynchronously."""

    async def requests(self, requests: Requests, way: Way) -> Requests:  # type: ignore[override]
        await asyncio.sleep(0.05)
        return super().requests(requests, way)

    async def outcomes(self, outcomes: Outcomes) -> Outcomes:  # type: ignore[override]
        await asyncio.sleep(0.05)
        return super().outcomes(outcomes)


@pytest.mark.parametrize("kinds", [(Tagging, Tagging), (SlowTagging, SlowTagging), (SlowTagging, Tagging)])
def test_requests_pass_in_order_and_outcomes_in_reverse(kinds: Sequence[type[Tagging]]) -> None:
    first, second = kinds
    fetch, outcomes = crawl(first("1"), second("2"))
    assert {dict(request.headers)["x-tags"] for request in fetch.pages()} == {"12"}
    assert {path: outcome.title for path, outcome in outcomes.items()} == {"/": "start21", "/a": "/a21", "/b": "/b21"}


def test_robots_txt_passes_by_and_middleware_sees_what_it_states() -> None:
    seen: list[tuple[str, str]] = []

    class Watching(Middleware):
        def requests(self, requests: Requests, way: Way) -> Requests:
            seen.extend((request.purpose, request.path) for request in requests)
            return requests

        def outcomes(self, outcomes: Outcomes) -> Outcomes:
            seen.extend((outcome.request.purpose, outcome.request.path) for outcome in outcomes)
            return outcomes

    fetch, _ = crawl(Watching())
    assert "robots" in {request.purpose for request in fetch.sent}
    assert sorted(seen) == sorted([("page", path) for path in ("/", "/a", "/b")] * 2)


def test_middleware_serves_all_shards() -> None:
    class Counting(SlowTagging):
        def __init__(self) -> None:
            super().__init__("1")
            self.count = 0

        async def outcomes(self, outcomes: Outcomes) -> Outcomes:  # type: ignore[override]
            self.count += len(outcomes)
            return await super().outcomes(outcomes)

    counting, fetches = Counting(), []

    def change(stages: lycosa.Stages) -> lycosa.Stages:
        fetches.append(Recorded())
        return lycosa.Stages(stages.frontier, fetches[-1], stages.parse, stages.log)

    sites = [f"http://93.184.216.{number}/" for number in range(34, 42)]
    crawl = lycosa.crawl(
        *sites,
        user_agent="mybot/1.0 (me@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "share_clocks": False},
        frontier={"shards": 2, "shard_by": "host"},
        stages=change,
        middleware=[counting],
    )
    outcomes = {outcome.url: outcome.title for outcome in crawl}
    assert len(fetches) == 2
    assert set(sites) <= set(outcomes)
    assert all((title or "").endswith("1") for title in outcomes.values())
    assert counting.count == len(outcomes)


def test_the_thread_of_asynchronous_middleware_ends_with_the_crawl() -> None:
    crawl(SlowTagging("1"))
    deadline = time.monotonic() + 5
    while any(thread.name == "lycosa-middleware" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Choosing(ItemMiddleware):
    """Answers one page, drops another, delays a third."""

    def request(self, request: Request) -> Request | Response | float | None:
        if request.path == "/":
            return request.respond(200, headers=HTML, body=LINKS + b"<a href=/c>c</a>", source="cache")
        if request.path == "/a":
            return None
        if request.path == "/b" and not dict(request.headers):
            return 0.2
        return request


def test_a_page_is_answered_another_dropped_and_one_delayed() -> None:
    began = time.monotonic()
    fetch, outcomes = crawl(Choosing(), lycosa.DefaultHeaders([("Accept-Language", "en")]))
    assert time.monotonic() - began >= 0.2
    assert sorted(request.path for request in fetch.pages()) == ["/b", "/c"]
    assert all(dict(request.headers)["Accept-Language"] == "en" for request in fetch.pages())
    assert (outcomes["/"].status, outcomes["/"].source) == (200, "cache")
    assert (outcomes["/a"].error, outcomes["/a"].error_detail) == ("dropped", "by Choosing")
    assert (outcomes["/b"].status, outcomes["/c"].status) == (200, 200)


def test_header_fields_for_a_site_go_to_no_other() -> None:
    def sent(hosts: list[str] | None, *, http: bool = False) -> list[str]:
        headers = lycosa.DefaultHeaders([("Authorization", "secret")], hosts, http=http)
        urls = ["http://a.com/", "https://www.a.com/", "https://aa.com/", "https://a.com.b.org/"]
        passed = headers.requests(Requests(Request(url) for url in urls), Way())
        return [request.host for request in passed if request.headers]

    assert sent(["A.com"]) == ["www.a.com"], "never by plain HTTP"
    assert sent(["A.com"], http=True) == ["a.com", "www.a.com"]
    assert sent([]) == []
    assert len(sent(None)) == 4


class Failing(ItemMiddleware):
    """Raises for one request, and delays another for too long."""

    def request(self, request: Request) -> Request | float:
        if request.path == "/a":
            raise ValueError("no letter a")
        return 61.0 if request.path == "/c" else request


class FailingBatches(Middleware):
    """Raises for outcomes that contain a page; answers another one with more links."""

    def requests(self, requests: Requests, way: Way) -> Requests:
        first = [request.path == "/" for request in requests]
        for request in requests.select(first):
            way.answer(request.respond(200, headers=HTML, body=MORE, source="cache"))
        return requests.select([not each for each in first])

    def outcomes(self, outcomes: Outcomes) -> Outcomes:
        if any(outcome.url.endswith("/b") for outcome in outcomes):
            raise RuntimeError("no batch with b")
        return outcomes


class FailingLater(FailingBatches):
    """The same, asynchronously."""

    async def outcomes(self, outcomes: Outcomes) -> Outcomes:  # type: ignore[override]
        return super().outcomes(outcomes)


@pytest.mark.parametrize("late", [FailingBatches, FailingLater])
def test_an_exception_fails_its_url_with_the_traceback_and_the_crawl_goes_on(late: type[Middleware]) -> None:
    _, outcomes = crawl(Failing(), late())
    assert outcomes["/"].status == 200
    told = {"/a": "ValueError: no letter a", "/b": "RuntimeError: no batch with b", "/c": "0 to 60 seconds"}
    for path, text in told.items():
        assert outcomes[path].error == "middleware-failed"
        detail = outcomes[path].error_detail or ""
        assert text in detail
        assert "Traceback" in detail


def test_what_says_something_of_the_site_stays_whatever_a_hook_does() -> None:
    class Busy(Recorded):
        @staticmethod
        def _answered(url: str) -> Answer:
            if url.endswith("/robots.txt"):
                return 404, [], b""
            return (200, HTML, LINKS) if url == f"{SITE}/" else (429, [("Retry-After", "1"), *HTML], b"slow")

    class Raising(Middleware):
        def outcomes(self, outcomes: Outcomes) -> Outcomes:
            raise RuntimeError("always")

    fetch = Busy()
    outcomes = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "retries": 0, "share_clocks": False},
        frontier={"patience": 0},
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
        middleware=[Raising()],
    )
    assert {outcome.url: (outcome.status, outcome.error) for outcome in outcomes} == {
        f"{SITE}/": (None, "middleware-failed")
    }
    requests = [Request(f"{SITE}/{status}").respond(status, body=b"") for status in (200, 404, 429, 503)]
    from lycosa.middleware_stages import _is_of_site

    parsed = lycosa._core.Parser(lycosa.job.make_job({"seeds": [SITE]})).parse(lycosa.Responses(requests))
    assert [_is_of_site(outcome) for outcome in parsed] == [False, False, True, True]


class Losing(Middleware):
    """Loses requests."""

    def requests(self, requests: Requests, way: Way) -> Requests:
        return Requests()


class Wrong(Middleware):
    """Returns no batch."""

    def outcomes(self, outcomes: Outcomes) -> Any:
        return list(outcomes)


@pytest.mark.parametrize(
    ("middleware", "told"),
    [
        (Losing(), "Losing.requests got 1 requests, and returned, answered, dropped or delayed 0"),
        (Wrong(), "Wrong.outcomes returned list; expected: Outcomes"),
    ],
)
def test_what_breaks_the_contract_ends_the_crawl_by_name(middleware: Middleware, told: str) -> None:
    with pytest.raises(lycosa.StageError) as raised:
        crawl(middleware)
    assert told in str(raised.value)


def test_what_is_no_middleware_is_refused() -> None:
    with pytest.raises(lycosa.StageError, match="subclasses of Middleware"):
        crawl("headers")  # type: ignore[arg-type]


class Blocking(Middleware):
    """Blocks the crawl."""

    def requests(self, requests: Requests, way: Way) -> Requests:
        time.sleep(1.1 if requests[0].path == "/" else 0)
        return requests


def test_middleware_that_blocks_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lycosa"):
        crawl(Blocking())
    told = [record.message for record in caplog.records if "middleware Blocking took" in record.message]
    assert len(told) == 1


def test_a_crawl_that_is_stopped_waits_for_no_delayed_request() -> None:
    class Delaying(ItemMiddleware):
        def request(self, request: Request) -> float | Request:
            return 30.0 if request.path == "/a" else request

    fetch = Recorded()
    crawl = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness={
            "host_interval": 0,
            "address_interval": 0,
            "share_clocks": False,
            "host_concurrency": 4,
            "address_concurrency": 4,
        },
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
        middleware=[Delaying()],
    )
    began = time.monotonic()
    for outcome in crawl:
        if outcome.url.endswith("/b"):
            crawl.abort()
    assert time.monotonic() - began < 10
    counts = crawl.report()["frontier"]
    assert counts["waiting"] + counts["leased"] == 1


class Titling(Middleware):
    """Replaces the body of each response by one that has what it had in its title, and a letter."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self.seen: list[tuple[str, str | None]] = []

    def responses(self, responses: Responses) -> Responses:
        self.seen += [(response.request.path, response.source or response.error) for response in responses]

        def change(response: Response) -> Response:
            if response.status is None:
                return response
            return response.replace(body=response.body.replace(b"</title>", self._letter.encode() + b"</title>"))

        return responses.map(change)


class SlowTitling(Titling):
    """The same, asynchronously."""

    async def responses(self, responses: Responses) -> Responses:  # type: ignore[override]
        await asyncio.sleep(0.05)
        return super().responses(responses)


@pytest.mark.parametrize("kinds", [(Titling, Titling), (SlowTitling, SlowTitling), (SlowTitling, Titling)])
def test_responses_pass_in_reverse_before_they_are_parsed(kinds: Sequence[type[Titling]]) -> None:
    first, second = kinds[0]("1"), kinds[1]("2")
    _, outcomes = crawl(first, second)
    assert {path: outcome.title for path, outcome in outcomes.items()} == {"/": "start21", "/a": "/a21", "/b": "/b21"}
    expected = [("/", "http/1.1"), ("/a", "http/1.1"), ("/b", "http/1.1")]
    assert sorted(first.seen) == sorted(second.seen) == expected, "robots.txt passes by"


def test_answers_and_drops_are_responses_as_well() -> None:
    titling = Titling("1")
    _, outcomes = crawl(titling, Choosing())
    assert outcomes["/"].title == "start1"
    assert sorted(titling.seen) == [("/", "cache"), ("/a", "dropped"), ("/b", "http/1.1"), ("/c", "http/1.1")]


def test_responses_that_parse_gives_back_pass_once() -> None:
    titling = Titling("1")

    from lycosa.middleware_hooks import Hooks
    from lycosa.middleware_stages import MiddlewareFetch, _Lane

    class Twice:
        """A fetch that completes the same response twice."""

        def __init__(self) -> None:
            self.response = Request(f"{SITE}/").respond(200, headers=HTML, body=b"<title>a</title>")

        def completed(self, max: int, within: float) -> Responses:
            return Responses([self.response])

    lane, fetch = _Lane(), Twice()
    made = MiddlewareFetch(fetch, Hooks([titling]), lane, 1.0)  # type: ignore[arg-type]
    fetch.response = made.completed(1, 0.0)[0]
    assert fetch.response.body == b"<title>a1</title>"
    assert made.completed(1, 0.0)[0].body == b"<title>a1</title>"
    assert len(titling.seen) == 1


class FailingResponses(Middleware):
    """Raises for each batch of responses."""

    def responses(self, responses: Responses) -> Any:
        raise RuntimeError("no responses")


class FailingResponsesLater(Middleware):
    """The same, asynchronously."""

    async def responses(self, responses: Responses) -> Any:
        raise RuntimeError("no responses")


@pytest.mark.parametrize("kind", [FailingResponses, FailingResponsesLater])
def test_an_exception_about_responses_fails_them_with_the_traceback(kind: type[Middleware]) -> None:
    _, outcomes = crawl(kind())
    assert outcomes["/"].error == "middleware-failed"
    assert "RuntimeError: no responses" in (outcomes["/"].error_detail or "")


class LosingResponses(Middleware):
    """Loses responses."""

    def responses(self, responses: Responses) -> Any:
        return Responses()


class WrongFree(Middleware):
    """Takes a wrong number of requests."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def free(self) -> Any:
        return 1 / 0 if self._given is None else self._given


@pytest.mark.parametrize(
    ("middleware", "told"),
    [
        (LosingResponses(), "LosingResponses.responses got 1 responses, and returned 0, or others"),
        (WrongFree(-1), "WrongFree.free returned -1; expected: an int from 0, or None"),
        (WrongFree("3"), "WrongFree.free returned '3'"),
        (WrongFree(None), "WrongFree.free raised ZeroDivisionError"),
    ],
)
def test_what_breaks_the_contract_of_responses_and_numbers_ends_the_crawl(middleware: Middleware, told: str) -> None:
    with pytest.raises(lycosa.StageError) as raised:
        crawl(middleware)
    assert told in str(raised.value)


def test_middleware_limits_what_is_taken_from_the_frontier() -> None:
    class One(Middleware):
        """Takes one request at a time."""

        def __init__(self) -> None:
            self.under_way, self.most = 0, 0

        def free(self) -> int:
            return 1 - self.under_way

        def requests(self, requests: Requests, way: Way) -> Requests:
            self.under_way += len(requests)
            self.most = max(self.most, self.under_way)
            return requests

        def outcomes(self, outcomes: Outcomes) -> Outcomes:
            self.under_way -= len(outcomes)
            return outcomes

    one = One()
    _, outcomes = crawl(one)
    assert (len(outcomes), one.most) == (3, 1)


class Returning(Middleware):
    """Gives each request back once, or delays it."""

    def __init__(self, delay: bool) -> None:
        self.came: list[str] = []
        self._delay = delay

    def requests(self, requests: Requests, way: Way) -> Requests:
        is_new = [request.path not in self.came for request in requests]
        self.came += [request.path for request in requests]
        if any(is_new):
            new = requests.select(is_new)
            way.delay(new, 60.0) if self._delay else way.give_back(new, 0.05)
        return requests.select([not new for new in is_new])


def test_requests_that_are_given_back_come_again_and_no_try_is_counted() -> None:
    returning = Returning(delay=False)
    fetch, outcomes = crawl(returning)
    assert sorted(returning.came) == sorted(["/", "/a", "/b"] * 2)
    assert len(fetch.pages()) == 3
    assert [(outcome.status, outcome.attempt) for outcome in outcomes.values()] == [(200, 0)] * 3


def test_a_request_whose_lease_does_not_last_for_its_delay_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.middleware_stages.MARGIN", 100_000.0)
    began, returning = time.monotonic(), Returning(delay=True)
    fetch, outcomes = crawl(returning)
    assert time.monotonic() - began < 30
    assert sorted(returning.came) == sorted(["/", "/a", "/b"] * 2)
    assert (len(fetch.pages()), len(outcomes)) == (3, 3)


class Leaving(Middleware):
    """Wants to end the process."""

    async def outcomes(self, outcomes: Outcomes) -> Outcomes:
        raise SystemExit(3)


def test_an_asynchronous_hook_that_wants_to_end_the_process_ends_the_crawl() -> None:
    with pytest.raises(lycosa.StageError, match=r"Leaving.outcomes raised SystemExit\(3\)"):
        crawl(Leaving())


class Keeping(Middleware):
    """Keeps what the crawl has accepted."""

    def __init__(self) -> None:
        self.accepted: list[tuple[str, int | None]] = []

    def settled(self, outcomes: Outcomes) -> None:
        self.accepted += [(outcome.request.path, outcome.status) for outcome in outcomes]
        raise RuntimeError("once too often")


def test_accepted_outcomes_are_shown_and_an_exception_there_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    keeping = Keeping()
    _, outcomes = crawl(keeping)
    assert sorted(keeping.accepted) == [("/", 200), ("/a", 200), ("/b", 200), ("/robots.txt", 404)]
    assert len(outcomes) == 3
    assert "Keeping.settled" in caplog.text
