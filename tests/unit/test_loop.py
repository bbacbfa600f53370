"""The loop with a scripted fetch: the real frontier, parser and log, and no network."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.records import Outcome
from lycosa.stages import Stages

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html; charset=utf-8")]
LICENSE = '</license.xml>; rel="license"; type="application/rsl+xml"'


def stages(tmp_path: Path, answers: dict[str, Answer], **settings: Any) -> Stages:
    """Stages over a scripted site; what it does not have is a 404. Addresses as hosts need no DNS."""
    politeness = {"host_interval": 0, "address_interval": 0, "retry_delay": 0, **settings.pop("politeness", {})}
    job = make_job({"seeds": [f"{SITE}/"], "politeness": politeness, **settings})
    made = Stages(
        frontier=_core.Frontier(job, _core.Names(job)),
        fetch=ScriptedFetch(lambda url: answers.get(url.removeprefix(SITE), (404, [], b""))),
        parse=_core.Parser(job),
        log=_core.Log(tmp_path / "log", job.store.segment_bytes),
    )
    made.frontier.add(list(job.seeds))
    return made


def crawl(made: Stages, control: Control | None = None) -> list[Outcome]:
    """Every URL's last outcome."""
    return [page for batch in run(made, control or Control()) for page in batch.last()]


def paths(pages: list[Outcome]) -> list[str]:
    """Where the outcomes are."""
    return [page.url.removeprefix(SITE) for page in pages]


def test_links_lead_on_until_nothing_is_left(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "/": (
            200,
            HTML,
            b"<title>Start</title><a href=/a>a</a><a href=/b>b</a><a href=http://203.0.113.9/>elsewhere</a>",
        ),
        "/a": (200, HTML, b"<a href=/>back</a><a href=/b#part>again</a>"),
    }
    made = stages(tmp_path, answers)
    pages = crawl(made)
    assert paths(pages) == ["/", "/a", "/b"]
    assert [page.status for page in pages] == [200, 200, 404]
    assert [page.depth for page in pages] == [0, 1, 1]
    assert pages[0].title == "Start"
    assert made.frontier.counts()["links_out_of_scope"] == 1


def test_a_redirect_is_a_request_of_its_own_and_stands_in_the_chain(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"/": (301, [("Location", "/new")], b""), "/new": (200, HTML, b"<title>New</title>")}
    (page,) = crawl(stages(tmp_path, answers))
    assert (page.url, page.chain) == (f"{SITE}/new", [(f"{SITE}/", 301)])


def test_bounds_that_are_reached_are_told_with_the_first_urls(tmp_path: Path) -> None:
    links = b"".join(b"<a href=/%d>x</a>" % number for number in range(4))
    long = b"<title>%s</title>" % (b"x" * 2_000)
    answers: dict[str, Answer] = {
        "/": (200, HTML, links + b"<a href=http://93.184.216.34:25/>mail</a><a href=/far>far</a>"),
        **{f"/{number}": (200, HTML, long + b"<a href=/far>far</a>") for number in range(4)},
        "/far": (200, [*HTML, ("Content-Encoding", "gzip")], gzip.compress(b"x" * 200_000)),
    }
    made = stages(tmp_path, answers, parse={"max_links": 5, "max_title_bytes": 1_000, "max_decoded_bytes": 100_000})
    pages = {page.url.removeprefix(SITE): page for page in crawl(made)}
    assert pages["/"].bounds == ["links"]
    assert pages["/0"].bounds == ["title-bytes"]
    assert pages["/0"].title == "x" * 1_000
    assert (pages["/far"].error, pages["/far"].bounds) == ("body-too-large", [])
    assert made.log.summary()["bounds"] == {
        "body-too-large": {"count": 1, "first": [f"{SITE}/far"]},
        "links": {"count": 1, "first": [f"{SITE}/"]},
        "title-bytes": {"count": 4, "first": [f"{SITE}/0", f"{SITE}/1", f"{SITE}/2"]},
    }
    assert made.frontier.counts()["links_port_blocked"] == 1


def test_robots_txt_is_obeyed(tmp_path: Path) -> None:
    robots = b"User-agent: *\nDisallow: /private\n"
    answers: dict[str, Answer] = {
        "/robots.txt": (200, [], robots),
        "/": (200, HTML, b"<a href=/private/x>x</a>"),
    }
    pages = crawl(stages(tmp_path, answers))
    assert [(page.status, page.error) for page in pages] == [(200, None), (None, "robots-disallowed")]


def test_a_failure_that_may_pass_has_one_last_outcome(tmp_path: Path) -> None:
    # Without patience the retries alone count.
    settings: dict[str, Any] = {"politeness": {"retries": 2, "robots": False}, "frontier": {"patience": 0}}
    made = stages(tmp_path, {"/": "read-timeout"}, **settings)
    (page,) = crawl(made)
    assert (page.error, page.attempt, page.status, page.body) == ("read-timeout", 2, None, b"")
    assert made.log.summary()["retries"] == 2


def test_max_pages_is_never_exceeded(tmp_path: Path) -> None:
    links = b"".join(b"<a href=/%d>x</a>" % number for number in range(100))
    assert len(crawl(stages(tmp_path, {"/": (200, HTML, links)}, max_pages=7))) == 7


def test_a_stopped_crawl_finishes_what_is_in_flight(tmp_path: Path) -> None:
    links = b"".join(b"<a href=/%d>x</a>" % number for number in range(100))
    made, control = stages(tmp_path, {"/": (200, HTML, links)}), Control()
    seen = 0
    for batch in run(made, control):
        seen += len(batch.last())
        control.stop()
    counts = made.frontier.counts()
    assert counts["leased"] == 0
    assert counts["done"] == seen < counts["known"]


def test_a_page_has_everything_that_was_received(tmp_path: Path) -> None:
    body = "<title>Größe</title><link rel=canonical href=/c>".encode("latin-1")
    headers = [
        ("Content-Type", "text/html; charset=iso-8859-1"),
        ("X-Robots-Tag", "noindex"),
        ("X-A", "1"),
        ("X-A", "2"),
    ]
    (page,) = crawl(stages(tmp_path, {"/": (200, headers, body)}))
    assert (page.title, page.charset, page.canonical) == ("Größe", "windows-1252", f"{SITE}/c")
    assert (page.noindex, page.nofollow, page.links) == (True, False, [])
    assert page.body == page.wire_body == body
    assert page.text == body.decode("latin-1")
    assert (page.header("x-a"), page.header("X-Missing")) == ("1", None)
    assert [value for name, value in page.headers if name == "x-a"] == ["1", "2"]
    assert (page.address, set(page.times)) == ("93.184.216.34", {"name", "connect", "tls", "first_byte", "body"})
    assert repr(page) == f"<Outcome 200 {SITE}/>"


def test_pages_that_are_reserved_against_a_use_of_the_job_are_left_out(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "/robots.txt": (200, [], b"User-agent: *\nContent-Usage: /art/ train-ai=n\n"),
        "/": (200, HTML, b"<a href=/art/1>1</a><a href=/meta>2</a><a href=/field>3</a><a href=/free>4</a>"),
        "/meta": (200, HTML, b"<meta name=robots content=noai><a href=/unseen>x</a>"),
        "/field": (200, [*HTML, ("Content-Usage", "train-ai=n, search=n")], b""),
        "/free": (200, [*HTML, ("Content-Usage", "search=n")], b""),
    }
    policy = {"train-ai": "drop", "search": "ignore"}
    pages = {page.url.removeprefix(SITE): page for page in crawl(stages(tmp_path / "drop", answers, usage=policy))}
    refused = {path: page.error for path, page in pages.items() if page.error}
    assert refused == dict.fromkeys(["/art/1", "/meta", "/field"], "usage-refused")
    assert (pages["/free"].usage, pages["/art/1"].address) == ([], None), "it was not asked for"
    assert "/unseen" not in pages
    marked = {page.url.removeprefix(SITE): page for page in crawl(stages(tmp_path / "mark", answers))}
    assert marked["/art/1"].usage == [("train-ai", False, "robots.txt")]
    assert marked["/field"].usage == [("train-ai", False, "content-usage"), ("search", False, "content-usage")]


def test_what_sites_ask_for_is_told_and_never_asked_for_twice(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "/": (200, HTML, b"<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"),
        "/1": (402, [("crawler-price", "USD 0.01")], b""),
        "/2": (402, [("crawler-price", "usd 1.5")], b""),
        "/3": (401, [("WWW-Authenticate", 'License error="invalid_request"'), ("Link", LICENSE)], b""),
    }
    made = stages(tmp_path, answers)
    pages = {page.url.removeprefix(SITE): page for page in crawl(made)}
    summary = made.log.summary()
    assert (summary["prices"], summary["licenses"], summary["retries"]) == ({"USD": 1.51}, 1, 0)
    assert [pages[path].price for path in ("/1", "/2", "/3", "/")] == ["USD 0.01", "USD 1.5", None, None]
    assert pages["/3"].license == f"{SITE}/license.xml"
