"""Middleware fills in a form: requests that it adds are sent with their body, and with keys of their own."""

from __future__ import annotations

import re
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest

AGENT = "t/1 (t@example.org)"
FORM = b'<title>log in</title><form method=post action=/login><input type=hidden name=token value="t-%d"></form>'


class Shop(BaseHTTPRequestHandler):
    """Shows other things to those who have logged in; a login needs the token of its form, which is used once."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str, str]]
    tokens: set[str]

    def do_GET(self) -> None:
        """Show a page."""
        is_user = "session=ours" in self.headers.get("Cookie", "")
        self.asked.append(("GET", self.path, "user" if is_user else "guest"))
        if self.path == "/robots.txt":
            self.reply(404, b"")
        elif self.path == "/login":
            self.tokens.add(f"t-{len(self.tokens)}")
            self.reply(200, FORM % (len(self.tokens) - 1))
        elif self.path == "/" and is_user:
            self.reply(200, b"<title>hello</title><a href=/orders>orders</a>")
        elif self.path == "/":
            self.reply(200, b"<title>shop</title><a href=/login>log in</a>")
        else:
            self.reply(200 if is_user else 403, b"<title>orders</title>")

    def do_POST(self) -> None:
        """Log in."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(("POST", self.path, self.headers["Content-Type"]))
        fields = dict(urllib.parse.parse_qsl(body))
        if fields.get("user") == "me & you" and fields.get("token") in self.tokens:
            self.reply(303, b"", [("Location", "/"), ("Set-Cookie", "session=ours")])
        else:
            self.reply(403, b"<title>no</title>")

    def reply(self, status: int, body: bytes, fields: list[tuple[str, str]] | None = None) -> None:
        """Send a page."""
        self.send_response(status)
        for name, value in [("Content-Type", "text/html"), ("Content-Length", str(len(body))), *(fields or [])]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


@pytest.fixture
def shop() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """The shop's URL, and what it is asked."""
    asked: list[tuple[str, str, str]] = []
    handler = type("Handler", (Shop,), {"asked": asked, "tokens": set()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


class Login(lycosa.Middleware):
    """Posts the form of the login page, and asks for the first page once more as a user."""

    def outcomes(self, outcomes: lycosa.Outcomes) -> lycosa.Outcomes:
        """Add requests to the outcomes of the login."""
        return outcomes.map(self.one)

    def one(self, outcome: lycosa.Outcome) -> lycosa.Outcome:
        """Add requests to one."""
        form = re.search(r'name=token value="([^"]+)"', outcome.text or "")
        if outcome.url.endswith("/login") and form:
            fields = [("user", "me & you"), ("token", form[1])]
            return outcome.replace(requests=[lycosa.Request(outcome.url, form=fields, metadata={"step": "login"})])
        if outcome.metadata.get("step") == "login" and outcome.status == 303:
            first = urllib.parse.urljoin(outcome.url, "/")
            return outcome.replace(requests=[lycosa.Request(first, key="as a user")])
        return outcome


def settings(tmp_path: Path) -> dict[str, Any]:
    """Settings of a crawl of the shop."""
    return {
        "user_agent": AGENT,
        "allow_addresses": ["127.0.0.0/8"],
        "politeness": {"host_interval": 0, "address_interval": 0, "share_clocks": False},
        "store": {"fields": ["url", "status", "title", "method", "metadata", "requests"]},
        "directory": tmp_path / "job",
    }


def test_a_form_is_filled_in_and_what_only_users_see_is_crawled(
    shop: tuple[str, list[tuple[str, str, str]]], tmp_path: Path
) -> None:
    url, asked = shop
    crawl = lycosa.crawl(f"{url}/", middleware=[Login()], **settings(tmp_path))
    titles = {(outcome.request.method, outcome.url.removeprefix(url), outcome.title) for outcome in crawl}
    assert titles == {
        ("GET", "/", "shop"),
        ("GET", "/login", "log in"),
        ("GET", "/", "hello"),
        ("GET", "/orders", "orders"),
    }
    assert ("POST", "/login", "application/x-www-form-urlencoded") in asked
    assert asked[-2:] == [("GET", "/", "user"), ("GET", "/orders", "user")]


def test_requests_that_were_added_before_a_stop_are_sent_after_it(
    shop: tuple[str, list[tuple[str, str, str]]], tmp_path: Path
) -> None:
    url, asked = shop
    # The login is the second page: by default it is none, and does not count.
    wanted: dict[str, Any] = {"max_pages": 2, "parse": {"refusals": False}}
    list(lycosa.crawl(f"{url}/", middleware=[Login()], **wanted, **settings(tmp_path)))
    assert [path for _, path, _ in asked] == ["/robots.txt", "/", "/login"]
    resumed = lycosa.crawl(directory=tmp_path / "job", middleware=[Login()], max_pages=10)
    assert [(outcome.request.method, outcome.title) for outcome in resumed] == [
        ("GET", "hello"),
        ("GET", "orders"),
    ]


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ([lycosa.Request("http://a.example/")] * 1001, "1,000 requests"),
        ([lycosa.Request("http://a.example/", body=bytes(1 << 20), method="POST")] * 9, "8 MiB"),
        (["http://a.example/"], "a list of Request"),
        (7, "a list of Request"),
    ],
)
def test_what_cannot_be_added_is_refused(
    given: Any, allowed: str, shop: tuple[str, list[tuple[str, str, str]]], tmp_path: Path
) -> None:
    url, _ = shop
    (outcome,) = lycosa.crawl(f"{url}/login", **settings(tmp_path))
    with pytest.raises(lycosa.SettingError, match=allowed):
        outcome.replace(requests=given)
    assert outcome.replace(requests=[]).requests == []
    added = lycosa.Request("http://a.example/", key="k")
    assert outcome.replace(requests=[added]).requests == [added]


def test_a_form_is_sent_alone_and_a_key_is_short() -> None:
    request = lycosa.Request("http://a.example/", form=[("q", "a b"), ("q", "ü")])
    assert (request.method, request.body) == ("POST", b"q=a+b&q=%C3%BC")
    assert request.headers == [("Content-Type", "application/x-www-form-urlencoded")]
    with pytest.raises(lycosa.SettingError, match="form"):
        lycosa.Request("http://a.example/", form=[("q", "a")], body=b"x")
    with pytest.raises(lycosa.SettingError, match="form"):
        lycosa.Request("http://a.example/", form=[("q", "a")], method="PUT")
    with pytest.raises(lycosa.SettingError, match="1024 bytes"):
        lycosa.Request("http://a.example/", key="k" * 1025)
    assert request.replace(key="search").key == "search"
    assert request.key == ""
