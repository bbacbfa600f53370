"""Which bodies a crawl receives, how it goes on with those that break off, and which passwords it sends for them."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest

AGENT = "t/1 (t@example.org)"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"x" * 100
LARGE = bytes(range(256)) * 12_000
SECRET = "s3cret-9173"  # noqa: S105  # of a site of this test

#: Path to Content-Type and body; "" sends no such field.
PAGES = {
    "/": (
        "text/html",
        b"".join(b"<a href=/%s>x</a>" % name for name in (b"page", b"bare", b"image", b"pdf", b"plain")),
    ),
    "/page": ("text/html; charset=utf-8", b"<title>page</title>"),
    "/bare": ("application/octet-stream", b"<!doctype html><title>bare</title>"),
    "/image": ("", PNG),
    "/pdf": ("application/pdf", b"%PDF-1.4"),
    "/plain": ("text/plain", b"just words"),
}


class Site(BaseHTTPRequestHandler):
    """Serves pages, a large body that breaks off at first, and two rooms behind a password."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        """Answer."""
        self.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.path == "/large":
            self.large()
        elif self.path in ("/hall", "/room") and "authorization" not in self.headers:
            self.reply(401, {"WWW-Authenticate": "Basic"}, b"")
        elif self.path == "/hall":
            self.reply(200, {"Content-Type": "text/html"}, b"<a href=/room>x</a>")
        elif self.path == "/room":
            elsewhere = f"http://other.example:{self.headers['Host'].rpartition(':')[2]}/page"
            self.reply(302, {"Location": elsewhere}, b"")
        elif self.path in PAGES:
            kind, body = PAGES[self.path]
            self.reply(200, {"Content-Type": kind} if kind else {}, body)
        else:
            self.reply(404, {}, b"")

    def large(self) -> None:
        """Send 2 MiB of a body and close; then what is asked for."""
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        fields = {"ETag": '"1"', "Accept-Ranges": "bytes", "Content-Type": "text/plain"}
        if start:
            fields["Content-Range"] = f"bytes {start}-{len(LARGE) - 1}/{len(LARGE)}"
            self.reply(206, fields, LARGE[start:])
            return
        self.reply(200, fields, LARGE, sent=2 << 20)
        self.close_connection = True

    def reply(self, status: int, fields: dict[str, str], body: bytes, sent: int | None = None) -> None:
        """Send a response, or a part of it."""
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:sent])

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """The origin of a site."""
    Site.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def crawled(url: str, **settings: Any) -> dict[str, lycosa.Outcome]:
    """The outcomes of a crawl by path."""
    polite = {"host_interval": 0, "address_interval": 0}
    given: dict[str, Any] = {"allow_addresses": ["127.0.0.0/8"], "speed": 100, "user_agent": AGENT}
    given |= {"politeness": polite} | settings
    return {f"/{outcome.url.split('/', 3)[3]}": outcome for outcome in lycosa.crawl(url, **given)}


def test_only_wanted_media_types_are_received(site: str) -> None:
    pages = crawled(f"{site}/", fetch={"content_types": ["text/html"]})
    assert {path: page.status or page.error for path, page in pages.items()} == {
        "/": 200,
        "/page": 200,
        "/bare": 200,
        "/image": "content-type",
        "/pdf": "content-type",
        "/plain": "content-type",
    }
    assert str(pages["/image"].error_detail).startswith("image/png by its first bytes")
    assert len(Site.asked) == len(PAGES) + 1, "nothing is asked for again"


def test_a_body_that_breaks_off_is_gone_on_with(site: str) -> None:
    page = crawled(f"{site}/large")["/large"]
    assert (page.status, page.wire_body) == (200, LARGE)
    asked = [(path, fields.get("range"), fields.get("if-range")) for path, fields in Site.asked[1:]]
    assert asked == [("/large", None, None), ("/large", f"bytes={2 << 20}-", '"1"')]
    failed = crawled(
        f"{site}/large", fetch={"resume_bytes": None}, frontier={"patience": 0}, politeness={"retries": 0}
    )
    assert failed["/large"].error == "connection-closed"


def test_a_password_is_sent_to_its_origin_and_written_nowhere(
    site: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "credentials"
    file.write_text(f"# the rooms\n{site} basic me:{SECRET}\n")
    file.chmod(0o600)
    reports: list[Any] = []
    outcomes = crawled(
        f"{site}/hall",
        scope="any",
        fetch={"credentials": file},
        names={"local_data": ["other.example A 127.0.0.1"]},
        directory=tmp_path / "job",
        output=[tmp_path / "pages.jsonl", tmp_path / "pages.parquet"],
        store={"retain": "all", "fields": ["url", "status", "error", "request_head"]},
        progress=reports.append,
    )
    assert {path: outcome.status for path, outcome in outcomes.items()} == {"/hall": 200, "/page": 200}
    coded = base64.b64encode(f"me:{SECRET}".encode()).decode()
    seen = {(fields["host"].split(":")[0], path): fields.get("authorization") for path, fields in Site.asked}
    assert seen["127.0.0.1", "/room"] == f"Basic {coded}"
    assert seen["other.example", "/page"] is None, "the redirect leads to another origin"
    assert b"authorization: ***" in outcomes["/hall"].request_head
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != file]
    texts = [*written, caplog.text.encode(), repr(reports).encode()]
    assert not [text for text in texts if SECRET.encode() in text or coded.encode() in text]


@pytest.mark.parametrize(
    ("mode", "text", "told"),
    [
        (0o644, "https://a.example basic a:s3cret", "others may read it"),
        (0o600, "\nhttps://a.example basic s3cret", "line 2: basic has USER:PASSWORD"),
        (0o600, "a.example basic a:s3cret", "line 1: expected an origin"),
    ],
)
def test_a_bad_file_of_passwords_is_told_before_anything_is_written(
    mode: int, text: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(lycosa.SettingError, match=r"fetch\.credentials") as caught:
        lycosa.crawl("https://a.example/", user_agent=AGENT, directory=tmp_path / "job", fetch={"credentials": file})
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert not (tmp_path / "job").exists()
