"""`lycosa.HttpCache` in whole crawls of a real server: what reaches it, and what the crawl gets. Time is advanced."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import HttpCache, Middleware, Outcome, Outcomes, Request, Requests, Responses, Way
from lycosa.http_cache import middleware as module
from lycosa.http_cache.store import Store

HTML = ("Content-Type", "text/html")
LINKS = b"<title>start</title><a href=/a>a</a>"

#: What a page is answered with: status, fields, body.
Answer = tuple[int, list[tuple[str, str]], bytes]


def gone(request: dict[str, str]) -> Answer:
    """Answer that there is no such page."""
    return 404, [HTML], b""


class Site(ThreadingHTTPServer):
    """A site of which each page is a function of the request's fields; it answers validations by ETag and date."""

    daemon_threads = True

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__((address, 0), Handler)
        self.pages: dict[str, Callable[[dict[str, str]], Answer]] = {}
        #: Method and path of each request for a page, and the status that it got.
        self.asked: list[tuple[str, str, int]] = []
        self.fields: list[dict[str, str]] = []
        #: Called before a 304 is sent.
        self.before_304: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        """The front page."""
        return "http://{}:{}/".format(*self.server_address[:2])

    def page(self, path: str, body: bytes, *fields: tuple[str, str], status: int = 200) -> None:
        """Set what a page is answered with."""
        self.pages[path] = lambda request: (status, [HTML, *fields], body)

    def took(self) -> list[tuple[str, str, int]]:
        """The requests since the last look."""
        asked, self.asked = self.asked, []
        return asked


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:  # the library's name
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/robots.txt":
            self.answer(404, [], b"")
            return
        request = {name.lower(): value for name, value in self.headers.items()}
        status, fields, body = self.server.pages.get(self.path, gone)(request)
        own = {name.lower(): value for name, value in fields}
        for condition, validator in (("if-none-match", "etag"), ("if-modified-since", "last-modified")):
            if condition in request and validator in own:
                if own[validator] in request[condition] and self.command != "POST":
                    status, body = 304, b""
                    self.server.before_304()
                break
        self.server.asked.append((self.command, self.path, status))
        self.server.fields.append(request)
        self.answer(status, fields, body)

    do_POST = do_HEAD = do_GET  # noqa: N815  # the library's names

    def answer(self, status: int, fields: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[Site]:
    """A site that serves until the end of the block."""
    with Site(address) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    """A site that serves until the test has ended."""
    with serving() as made:
        yield made


class Clock:
    """The time, so many seconds ahead."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def crawl(
    site: Site, *middleware: Middleware, seeds: list[Request | str] | None = None, **settings: Any
) -> dict[str, Outcome]:
    """Crawl the site; returns the outcome of each page by path."""
    polite = {"host_interval": 0, "address_interval": 0, "share_clocks": False, "retries": 0}
    outcomes = lycosa.crawl(
        *(seeds or [site.url]),
        user_agent=settings.pop("user_agent", "mybot/1.0 (me@example.org)"),
        allow_addresses=["127.0.0.0/8"],
        politeness=polite | settings.pop("politeness", {}),
        frontier={"patience": 0} | settings.pop("frontier", {}),
        middleware=middleware,
        **{"allow_ports": [site.server_address[1]]} | settings,
    )
    return {"/" + outcome.url.removeprefix(site.url): outcome for outcome in outcomes}


def test_fresh_pages_do_not_ask_the_site_and_lead_on(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=60"))
    site.page("/a", b"<title>a</title>", ("Cache-Control", "private, max-age=60"))
    clock = Clock()
    first = crawl(site, HttpCache(tmp_path, clock=clock))
    assert len(site.took()) == 2
    assert {outcome.source for outcome in first.values()} == {"http/1.1"}
    clock.ahead = 30
    again = crawl(site, HttpCache(tmp_path, clock=clock))
    assert site.took() == []
    assert {path: (one.status, one.title, one.source) for path, one in again.items()} == {
        "/": (200, "start", "cache"),
        "/a": (200, "a", "cache"),
    }
    assert {path: one.body for path, one in again.items()} == {path: one.body for path, one in first.items()}
    assert 30 <= int(again["/"].header("age") or 0) < 60
    assert again["/"].header("cache-status") == "lycosa; hit"
    clock.ahead = 61
    crawl(site, HttpCache(tmp_path, clock=clock))
    assert len(site.took()) == 2, "they are stale, and have nothing to be validated by"


@pytest.mark.parametrize(
    ("field", "condition"),
    [(("ETag", '"one"'), "if-none-match"), (("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"), "if-modified-since")],
)
def test_a_stale_page_is_validated_and_has_its_body_still(
    field: tuple[str, str], condition: str, site: Site, tmp_path: Path
) -> None:
    clock = Clock()
    site.page("/", LINKS, field, ("Cache-Control", "max-age=10"), ("X-Turn", "1"))
    cache = HttpCache(tmp_path, clock=clock)
    before = crawl(site, cache)["/"]
    site.took()
    clock.ahead = 11
    site.page("/", LINKS, field, ("Cache-Control", "max-age=100"), ("X-Turn", "2"))
    after = crawl(site, cache)
    assert ("GET", "/", 304) in site.took()
    assert any(fields.get(condition) == field[1] for fields in site.fields)
    page = after["/"]
    assert (page.status, page.title, page.body, page.links) == (200, "start", before.body, before.links)
    assert (page.source, page.header("x-turn")) == ("http/1.1", "2"), "the site was asked, and has told more"
    assert page.header("cache-status") == "lycosa; fwd=stale; fwd-status=304"
    assert page.request_head
    clock.ahead = 60
    assert crawl(site, cache)["/"].source == "cache", "the 304 has made it fresh"
    clock.ahead = 500
    site.page("/", b"<title>new</title>", (field[0], "another"))
    assert crawl(site, cache)["/"].title == "new"
    assert crawl(site, cache)["/"].title == "new"


def test_what_may_not_be_stored_is_not(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "no-store, max-age=60"))
    site.page("/a", b"busy", ("Cache-Control", "max-age=60"), status=503)
    for _ in range(2):
        crawl(site, HttpCache(tmp_path))
        assert len(site.took()) == 2
    assert list(tmp_path.rglob("*-*")) == []


def test_languages_are_stored_apart_where_vary_says_so(site: Site, tmp_path: Path) -> None:
    def page(request: dict[str, str]) -> Answer:
        fields = [HTML, ("Vary", "Accept-Language"), ("Cache-Control", "max-age=60")]
        return 200, fields, f"<title>{request['accept-language']}</title>".encode()

    site.pages["/"] = page
    languages = {one: lycosa.DefaultHeaders([("Accept-Language", one)]) for one in ("en", "de")}
    for language, headers in languages.items():
        assert crawl(site, headers, HttpCache(tmp_path))["/"].title == language
    site.took()
    for language, headers in languages.items():
        page_now = crawl(site, headers, HttpCache(tmp_path))["/"]
        assert (page_now.title, page_now.source) == (language, "cache")
    assert site.took() == []


def test_a_page_for_another_user_agent_is_not_used_unasked(site: Site, tmp_path: Path) -> None:
    fields = [HTML, ("Vary", "User-Agent, Accept-Encoding"), ("Cache-Control", "max-age=60"), ("ETag", '"x"')]
    site.pages["/"] = lambda request: (200, fields, LINKS)
    site.pages["/a"] = lambda request: (200, [*fields[:-1], ("ETag", '"y"')], b"a")
    crawl(site, HttpCache(tmp_path))
    site.took()
    again = crawl(site, HttpCache(tmp_path))
    assert site.took() == [("GET", "/", 304)], "which fields it sends is known from its first response on"
    assert (again["/"].title, again["/a"].source) == ("start", "cache")
    other = crawl(site, HttpCache(tmp_path), user_agent="otherbot/1.0 (me@example.org)")
    assert site.took() == [("GET", "/", 304), ("GET", "/a", 304)]
    assert other["/"].title == "start"


def test_a_post_outdates_what_is_stored(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=60"), ("Content-Location", "/a"))
    site.page("/a", b"a", ("Cache-Control", "max-age=60"))
    crawl(site, HttpCache(tmp_path))
    site.took()
    crawl(site, HttpCache(tmp_path), seeds=[Request(site.url, method="POST", body=b"x")], max_depth=0)
    assert site.took() == [("POST", "/", 200)]
    crawl(site, HttpCache(tmp_path))
    assert sorted(site.took()) == [("GET", "/", 200), ("GET", "/a", 200)]


def test_a_post_outdates_what_is_stored_under_every_key(site: Site, tmp_path: Path) -> None:
    site.page("/", b"", ("Cache-Control", "max-age=60"))
    for source in ("http/1.1", "cache"):
        for key in ("one", "two"):
            assert crawl(site, HttpCache(tmp_path), seeds=[Request(site.url, key=key)])["/"].source == source
    crawl(site, HttpCache(tmp_path), seeds=[Request(site.url, method="POST", body=b"x")])
    for key in ("one", "two"):
        assert crawl(site, HttpCache(tmp_path), seeds=[Request(site.url, key=key)])["/"].source == "http/1.1"


def test_the_answer_to_a_head_outdates_another_body(site: Site, tmp_path: Path) -> None:
    site.page("/", b"one", ("Cache-Control", "max-age=60"), ("ETag", '"1"'))
    crawl(site, HttpCache(tmp_path))
    site.page("/", b"other", ("Cache-Control", "max-age=60"), ("ETag", '"2"'))
    crawl(site, HttpCache(tmp_path), seeds=[Request(site.url, method="HEAD")])
    assert crawl(site, HttpCache(tmp_path))["/"].body == b"other"
    assert site.took()[1:] == [("HEAD", "/", 200), ("GET", "/", 200)]


def test_always_uses_whatever_is_stored(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "no-store"), ("Vary", "*"))
    site.page("/a", b"busy", status=503)
    clock = Clock()
    crawl(site, HttpCache(tmp_path, always=True, clock=clock))
    site.took()
    clock.ahead = 10 * 365 * 86_400
    again = crawl(site, HttpCache(tmp_path, always=True, clock=clock))
    assert (again["/"].source, again["/"].title) == ("cache", "start")
    assert site.took() == [("GET", "/a", 503)], "a status that may pass is never stored"


def test_only_if_cached_asks_no_site(site: Site, tmp_path: Path) -> None:
    headers = lycosa.DefaultHeaders([("Cache-Control", "only-if-cached")])
    outcome = crawl(site, headers, HttpCache(tmp_path))["/"]
    assert (outcome.status, outcome.source, site.took()) == (504, "cache", [])


def test_a_request_with_conditions_of_its_own_passes_by(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=60"), ("ETag", '"x"'))
    crawl(site, HttpCache(tmp_path))
    site.took()
    own = Request(site.url, headers=[("If-None-Match", '"x"')])
    outcome = crawl(site, HttpCache(tmp_path), seeds=[own])["/"]
    assert (outcome.status, site.took()) == (304, [("GET", "/", 304)])


def damaged(directory: Path) -> None:
    """Damage all files of a cache."""
    for path in directory.rglob("*-*"):
        path.write_bytes(path.read_bytes()[:-1])


def removed(directory: Path) -> None:
    """Remove all files of a cache."""
    for path in directory.rglob("*-*"):
        path.unlink()


def test_a_damaged_page_is_fetched_again(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=60"), ("ETag", '"x"'))
    crawl(site, HttpCache(tmp_path))
    damaged(tmp_path)
    site.took()
    outcome = crawl(site, HttpCache(tmp_path))["/"]
    assert (outcome.title, outcome.source) == ("start", "http/1.1")
    assert site.took()[0] == ("GET", "/", 200)


@pytest.mark.parametrize("lose", [damaged, removed])
def test_a_page_that_is_lost_while_it_is_validated_is_fetched_again(
    lose: Callable[[Path], None], site: Site, tmp_path: Path
) -> None:
    site.page("/", b"<title>start</title>", ("ETag", '"x"'))
    crawl(site, HttpCache(tmp_path))
    site.took()
    site.before_304 = lambda: lose(tmp_path)
    outcome = crawl(site, HttpCache(tmp_path))["/"]
    assert (outcome.status, outcome.title, outcome.attempt) == (200, "start", 0), "which is no further try"
    assert site.took() == [("GET", "/", 304), ("GET", "/", 200)]


def test_lanes_share_a_cache(tmp_path: Path) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(serving(f"127.0.0.{number}")) for number in range(1, 9)]
        for site in sites:
            site.page("/", f"<title>{site.url}</title>".encode(), ("Cache-Control", "max-age=60"))
        cache = HttpCache(tmp_path)
        for source in ("http/1.1", "cache"):
            outcomes = crawl(
                sites[0],
                cache,
                seeds=[Request(site.url) for site in sites],
                allow_ports=[site.server_address[1] for site in sites],
                frontier={"shards": 2, "shard_by": "host"},
            )
            assert [one.title for one in outcomes.values()] == [one.url for one in outcomes.values()]
            assert [one.source for one in outcomes.values()] == [source] * 8


def test_a_disk_that_cannot_be_written_is_told_once_and_the_crawl_goes_on(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "write", full)
    site.page("/", LINKS, ("Cache-Control", "max-age=60"))
    site.page("/a", b"a", ("Cache-Control", "max-age=60"))
    with caplog.at_level(logging.WARNING, "lycosa"):
        assert {one.status for one in crawl(site, HttpCache(tmp_path)).values()} == {200}
    told = [record.message for record in caplog.records if "HttpCache" in record.message]
    assert len(told) == 1
    assert "No space left" in told[0]


def test_wrong_settings_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(lycosa.SettingError, match=r"HttpCache directory: .* a directory that can be written"):
        HttpCache(tmp_path / "file")
    with pytest.raises(lycosa.SettingError, match=r"HttpCache max_bytes: '5' .* a whole number from 1048576"):
        HttpCache(tmp_path, max_bytes=5)


def test_an_answer_of_other_middleware_is_not_stored(site: Site, tmp_path: Path) -> None:
    class Answering(Middleware):
        def requests(self, requests: Requests, way: Way) -> Requests:
            for request in requests:
                fields = [HTML, ("Cache-Control", "max-age=60")]
                way.answer(request.respond(200, headers=fields, body=b"mine", source="cache"))
            return Requests()

    crawl(site, HttpCache(tmp_path), Answering())
    assert list(tmp_path.rglob("*-*")) == []


def test_a_confirmed_page_does_not_set_old_cookies_or_limits_again(site: Site, tmp_path: Path) -> None:
    once = [("Set-Cookie", "sid=old"), ("Retry-After", "7"), ("RateLimit", '"q";r=0;t=60')]
    tag = ("ETag", '"1"')
    site.pages["/"] = lambda request: (200, [HTML, tag, *([] if "if-none-match" in request else once)], LINKS)
    crawl(site, HttpCache(tmp_path), max_depth=0)
    outcome = crawl(site, HttpCache(tmp_path), max_depth=0)["/"]
    assert outcome.header("cache-status") == "lycosa; fwd=stale; fwd-status=304"
    assert not {"set-cookie", "retry-after", "ratelimit"} & {name for name, _ in outcome.headers}


def test_entries_of_a_directory_that_cannot_be_written_end_no_crawl(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", LINKS, ("ETag", '"1"'))
    crawl(site, HttpCache(tmp_path), max_depth=0)
    monkeypatch.setattr(Store, "body", lambda *_: None)
    monkeypatch.setattr(Store, "_remove", lambda *_: None)
    site.took()
    assert crawl(site, HttpCache(tmp_path), max_depth=0)["/"].status == 200
    assert [status for _, _, status in site.took()] == [304, 200], "and once without a condition"


def test_an_intact_body_is_used_where_its_time_cannot_be_set(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=100"))
    crawl(site, HttpCache(tmp_path), max_depth=0)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr("os.utime", refuse)
    assert crawl(site, HttpCache(tmp_path), max_depth=0)["/"].source == "cache"


def test_always_tells_visitors_and_keys_apart(site: Site, tmp_path: Path) -> None:
    def page(request: dict[str, str]) -> Answer:
        who = request.get("cookie", "nobody")
        return 200, [HTML, ("Vary", "Cookie, Accept-Language")], f"<title>{who}</title>".encode()

    site.pages["/"] = page
    seeds: list[Request | str] = [
        Request(site.url),
        Request(site.url, headers=[("Cookie", "sid=me")], key="as me"),
        Request(site.url, key="again"),
    ]
    for source in ("http/1.1", "cache"):
        titles = []
        for seed in seeds:
            outcome = crawl(site, HttpCache(tmp_path, always=True), seeds=[seed], max_depth=0)["/"]
            titles.append((outcome.title, outcome.source))
        assert titles == [("nobody", source), ("sid=me", source), ("nobody", source)]
    other = Request(site.url, headers=[("Cookie", "sid=you")], key="as me")
    outcome = crawl(site, HttpCache(tmp_path, always=True), seeds=[other], max_depth=0)["/"]
    assert (outcome.title, outcome.source) == ("sid=you", "http/1.1")


@pytest.mark.parametrize("always", [False, True])
def test_a_redirect_that_sets_a_cookie_is_not_stored(site: Site, tmp_path: Path, always: bool) -> None:
    def page(request: dict[str, str]) -> Answer:
        if "cookie" in request:
            return 200, [HTML], b"<title>behind the wall</title>"
        return 302, [("Location", "/"), ("Set-Cookie", "seen=1"), ("Cache-Control", "max-age=100")], b""

    site.pages["/"] = page
    for _ in range(2):
        outcome = crawl(site, HttpCache(tmp_path, always=always), max_depth=0, politeness={"retries": 1})["/"]
        assert (outcome.status, outcome.title) == (200, "behind the wall")


def test_a_response_is_found_once_the_crawl_has_accepted_it(site: Site, tmp_path: Path) -> None:
    site.page("/", LINKS, ("Cache-Control", "max-age=100"))
    cache = HttpCache(tmp_path)
    seen: list[bool] = []

    class Later(Middleware):
        """Looks into the cache as the page's outcome is made."""

        def outcomes(self, outcomes: Outcomes) -> Outcomes:
            seen.extend(bool(list(tmp_path.glob("*/[0-9a-f]*-*"))) for _ in outcomes)
            return outcomes

    crawl(site, cache, Later(), max_depth=0)
    assert seen == [False], "it is not found before the crawl has accepted it"
    assert len(list(tmp_path.glob("*/[0-9a-f]*-*"))) == 1


def test_a_response_that_the_crawl_does_not_accept_within_a_lease_is_removed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = HttpCache(tmp_path, always=True)

    def receive(path: str) -> None:
        received = Request(site.url + path).respond(200, headers=[HTML], body=path.encode(), source="http/1.1")
        cache.responses(Responses([received]))

    def unaccepted() -> int:
        return len(list(tmp_path.glob("*/tmp-*")))

    receive("a")
    receive("b")
    receive("b")
    assert unaccepted() == 2, "another response with the lease and the URL replaces the first"
    monkeypatch.setattr(module, "LEASE", 0.0)
    receive("c")
    assert unaccepted() == 1, "the crawl accepts those before no more"
    cache.settled(Outcomes())
    assert unaccepted() == 0
