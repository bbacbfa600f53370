"""Signals of a crawl: pages, pauses and their end, in the thread that iterates; an exception ends nothing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import lycosa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa import HostSlowed, JobPaused, JobResumed, PageFetched
from lycosa.errors import StorageFull
from lycosa.signals import LOOK, REASONS, Looks, Signals
from lycosa.simnet import SimulatedInternet
from lycosa.store.patient import PatientLog


@pytest.fixture(scope="module")
def job() -> Iterator[str]:
    """A job for a simulated Internet that lives as long as the tests of this file."""
    with SimulatedInternet(hosts=10, pages=5, seed=3, speed=200) as net:
        yield str(net.job_file())


@pytest.mark.parametrize("shards", [1, 2])
def test_each_page_is_signalled_once_in_the_thread_that_iterates(job: str, shards: int) -> None:
    crawl = lycosa.crawl(job=job, frontier={"shards": shards})
    seen: list[PageFetched] = []
    threads = set()

    def fetched(page: PageFetched) -> None:
        seen.append(page)
        threads.add(threading.get_ident())

    crawl.on(PageFetched, fetched)
    pages = [outcome for outcome in crawl if outcome.status is not None]
    assert sorted((one.url, one.status, one.source) for one in seen) == sorted(
        (page.url, page.status, page.source) for page in pages
    )
    assert len(pages) > 10
    assert threads == {threading.get_ident()}
    assert all(one.outcome.url == one.url for one in seen)


def test_asynchronous_crawls_send_signals(job: str) -> None:
    crawl = lycosa.crawl(job=job, max_pages=12)
    seen: list[PageFetched] = []
    crawl.on(PageFetched, seen.append)

    async def collect() -> int:
        return len([page async for page in crawl if page.status is not None])

    assert asyncio.run(collect()) == len(seen)


def test_an_exception_is_told_once_with_the_name_and_the_crawl_goes_on(
    job: str, caplog: pytest.LogCaptureFixture
) -> None:
    def careless(page: PageFetched) -> None:
        raise ValueError("of no use")

    crawl, seen = lycosa.crawl(job=job, max_pages=12), list[PageFetched]()
    crawl.on(PageFetched, careless)
    crawl.on(PageFetched, seen.append)
    with caplog.at_level(logging.WARNING, "lycosa"):
        assert len([page for page in crawl if page.status is not None]) == 12 == len(seen)
    (told,) = [record.message for record in caplog.records if "careless" in record.message]
    assert "which listens to PageFetched, raised: Traceback" in told
    assert "ValueError: of no use" in told


def test_subscribing_too_late_or_to_something_else_is_refused(job: str) -> None:
    crawl = lycosa.crawl(job=job, max_pages=1)
    with pytest.raises(
        lycosa.SettingError, match=r"on: 'str' .* lycosa.PageFetched, HostSlowed, JobPaused, JobResumed"
    ):
        crawl.on(str, print)  # type: ignore[type-var]
    with pytest.raises(lycosa.SettingError, match="a function with one argument"):
        crawl.on(PageFetched, "print")  # type: ignore[arg-type]
    list(crawl)
    with pytest.raises(lycosa.SettingError, match="before the iteration"):
        crawl.on(PageFetched, print)


def test_a_crawl_without_subscribers_looks_for_no_pause(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.running.Running.pauses", lambda self: pytest.fail("it looks"))
    crawl = lycosa.crawl(job=job, max_pages=2)
    crawl.on(PageFetched, lambda page: None)
    assert len([page for page in crawl if page.status is not None]) == 2


@pytest.mark.parametrize("shards", [1, 2])
def test_what_changed_just_before_the_end_is_told(job: str, shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, float | None]] = [{"disk": None}]
    monkeypatch.setattr("lycosa.signals.LOOK", 1_000.0)
    monkeypatch.setattr("lycosa.running.Running.pauses", lambda self: found.pop() if found else {})
    crawl = lycosa.crawl(job=job, frontier={"shards": shards}, max_pages=5)
    told: list[Any] = []
    crawl.on(JobPaused, told.append)
    crawl.on(JobResumed, told.append)
    list(crawl)
    assert [type(one) for one in told] == [JobPaused, JobResumed]


def test_a_crawl_whose_resolver_is_silent_pauses_and_resumes() -> None:
    signals: list[Any] = []
    with SimulatedInternet(hosts=12, pages=4, seed=3, speed=200) as net:
        net.trouble("resolver-silent")
        crawl = lycosa.crawl(job=str(net.job_file()))

        def paused(signal: JobPaused) -> None:
            signals.append(signal)
            net.calm()

        crawl.on(JobPaused, paused)
        crawl.on(JobResumed, signals.append)
        pages = [page for page in crawl if page.status is not None]
    assert len(pages) > 10
    assert [type(one) for one in signals] == [JobPaused, JobResumed]
    assert (signals[0].reason, signals[0].text) == ("names", REASONS["names"])
    assert signals[1].reasons == ("names",)
    assert signals[1].seconds > 0


@pytest.mark.parametrize("shards", [1, 2])
def test_a_crawl_whose_disk_is_full_pauses_and_resumes(
    job: str, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_space, is_full, append = threading.Event(), threading.Event(), PatientLog.append

    def full(log: PatientLog, outcomes: lycosa.Outcomes) -> None:
        def write() -> None:
            is_full.set()
            if not has_space.is_set():
                raise StorageFull("no space")

        if not is_full.is_set():
            log._patience.insist(log._place, write)
        append(log, outcomes)

    monkeypatch.setattr(PatientLog, "append", full)
    signals: list[Any] = []
    crawl = lycosa.crawl(job=job, max_pages=8, frontier={"shards": shards})

    def paused(signal: JobPaused) -> None:
        signals.append(signal)
        has_space.set()

    crawl.on(JobPaused, paused)
    crawl.on(JobResumed, signals.append)
    assert len(list(crawl)) >= 8
    assert [(type(one), getattr(one, "reason", None)) for one in signals] == [(JobPaused, "disk"), (JobResumed, None)]


@given(
    st.lists(st.tuples(st.sampled_from([0.01, LOOK, 5.0]), st.sets(st.sampled_from(sorted(REASONS)))), max_size=30)
)
def test_every_reason_is_told_as_it_begins_and_the_end_when_none_is_left(steps: list[tuple[float, set[str]]]) -> None:
    signals, now, reasons = Signals(), 100.0, set[str]()
    told: list[Any] = []
    signals.on(JobPaused, told.append)
    signals.on(JobResumed, told.append)
    pauses = Looks(signals, lambda: dict.fromkeys(sorted(reasons)), clock=lambda: now)
    expected: list[Any] = []
    before: set[str] = set()
    began: dict[str, float] = {}
    looked = -1.0
    for passed, given_now in steps:
        now, reasons = now + passed, given_now
        pauses.look()
        if now < looked + LOOK:
            continue
        looked = now
        for reason in sorted(given_now - before):
            began.setdefault(reason, now)
            expected.append(JobPaused(reason, REASONS[reason], now))
        if before and not given_now:
            expected.append(JobResumed(tuple(began), now - min(began.values())))
            began = {}
        before = given_now
    assert told == expected


def test_a_host_that_is_asked_more_slowly_is_told_with_its_intervals() -> None:
    signals, now, told = Signals(), 100.0, list[Any]()
    slowed: list[list[tuple[str, float, float]]] = [[("before.example", 1, 2)], [("a.example", 1.0, 2.0)], []]
    signals.on(HostSlowed, told.append)
    looks = Looks(signals, dict, lambda: slowed.pop(0), clock=lambda: now)
    looks.look()
    now += LOOK
    looks.look()
    assert told == [HostSlowed("a.example", 1.0, 2.0)], "what was before the crawl is not told"


class Overloaded(BaseHTTPRequestHandler):
    """A page that cannot be had at first."""

    statuses: list[int]

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/robots.txt" else self.statuses.pop(0))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize("shards", [1, 2])
def test_hosts_in_trouble_are_told(shards: int) -> None:
    handler = type("Handler", (Overloaded,), {"statuses": [503, 429, 200]})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        crawl = lycosa.crawl(
            f"http://127.0.0.1:{server.server_port}/",
            user_agent="t/1 (t@example.org)",
            allow_addresses=["127.0.0.0/8"],
            speed=50,
            # How long an answer takes is the machine's affair here.
            politeness={"host_interval": 2, "response_multiple": 0},
            frontier={"shards": shards},
        )
        told: list[HostSlowed] = []
        crawl.on(HostSlowed, told.append)
        assert [outcome.status for outcome in crawl] == [200]
        server.shutdown()
    assert [(one.host, one.before, one.interval) for one in told] == [("127.0.0.1", 2, 4), ("127.0.0.1", 4, 8)]
