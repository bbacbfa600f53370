"""`lycosa extract`: a file, standard input or a URL; what it prints, and its exit status."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lycosa.cli import main

TEXT = "The harbour was rebuilt after the flood of 1953, and ships of up to ninety metres can enter it at any tide."
PAGE = (
    "<html lang=en><title>The harbour</title><body><nav><a href=/a>Home</a> <a href=/b>News</a></nav><article>"
    "<h1>The harbour</h1>" + "".join(f"<p>{number}. {TEXT}</p>" for number in range(5)) + "</article></body></html>"
)
CHALLENGE = "<title>Just a moment...</title><body><p>Checking your browser before accessing the site.</p></body>"


class Site(BaseHTTPRequestHandler):
    """Sends a page, a redirect to it, or nothing."""

    def do_GET(self) -> None:
        """Send it."""
        if self.path == "/old":
            self.send_response(301)
            self.send_header("Location", "/page")
            self.end_headers()
            return
        status, body = {
            "/page": (200, PAGE),
            "/gone": (410, PAGE),
            "/challenge": (403, CHALLENGE),
            "/long": (403, PAGE * 200),
        }.get(self.path, (404, ""))
        self.send_response(status)
        if self.path == "/long":
            self.send_header("CF-Mitigated", "challenge")
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """The root of a site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_is_text_markdown_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    assert main(["extract", str(file)]) == 0
    text = capsys.readouterr().out
    assert text.count("rebuilt") == 5
    assert "News" not in text
    assert main(["extract", str(file), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# The harbour\n")
    assert main(["extract", str(file), "--json", "--url", "https://a.example/harbour"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["title"], told["kind"], told["refusal"]) == ("The harbour", "article", None)
    assert {"role": "paragraph", "level": 0, "text": f"1. {TEXT}"} in told["blocks"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PAGE.encode())))
    assert main(["extract", "-"]) == 0
    assert capsys.readouterr().out.count("rebuilt") == 5


def test_what_is_no_content_has_exit_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.html"
    file.write_text(CHALLENGE)
    assert main(["extract", str(file)]) == 1
    assert "this page is no content: challenge" in capsys.readouterr().err
    file.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert main(["extract", str(file)]) == 1
    assert "this is no text" in capsys.readouterr().err


def test_a_url_is_fetched_as_a_crawl_does_it(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    allow = ["--user-agent", "test/1.0 (me@example.org)", "--set", 'allow_addresses=["127.0.0.0/8"]']
    allow += ["--set", f"allow_ports=[{site.rpartition(':')[2]}]", "--set", "politeness.share_clocks=false"]
    assert main(["extract", f"{site}/old", *allow, "--set", "speed=100"]) == 0
    assert capsys.readouterr().out.count("rebuilt") == 5
    assert main(["extract", f"{site}/none", *allow, "--set", "speed=100"]) == 1
    assert "status 404, without a body" in capsys.readouterr().err
    assert main(["extract", f"{site}/gone", *allow, "--set", "speed=100"]) == 1
    told = capsys.readouterr()
    assert told.out.count("rebuilt") == 5
    assert "status 410" in told.err
    assert main(["extract", f"{site}/challenge", *allow, "--set", "speed=100", "--json"]) == 1
    told = capsys.readouterr()
    assert "this page is no content: challenge" in told.err
    assert json.loads(told.out)["refusal"] == "challenge"
    assert main(["extract", f"{site}/long", *allow, "--set", "speed=100", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["refusal"] == "challenge", "by a header field, however long it is"


def test_what_a_terminal_would_obey_is_not_printed_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGE.replace(". The", "&#27;]0;owned&#7;&#8238;\u05d0\u05d1&#8236; The"))
    orders = {"\x1b", "\x07", "\u202e", "\u202c"}
    for form in ("text", "markdown", "json"):
        assert main(["extract", str(file), "--format", form]) == 0
        shown = capsys.readouterr().out
        if form == "json":
            assert not orders & set(shown)
            assert "\u202e\u05d0\u05d1\u202c" in json.loads(shown)["text"], "nothing of it is lost"
        else:
            assert "\u202e\u05d0\u05d1\u202c" in shown, "a file gets what the page says"
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert main(["extract", str(file), "--format", form]) == 0
        assert not orders & set(capsys.readouterr().out)
        monkeypatch.undo()


def test_bad_arguments_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", str(tmp_path / "nothing.html")]) == 2
    assert "a file that can be read" in capsys.readouterr().err
    assert main(["extract", "https://a.example/"]) == 2
    assert "product/version and a contact" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("format", ["text", "json"])
def test_what_programs_read_is_utf_8_whatever_the_locale_is(
    encoding: str, format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("<meta charset=utf-8><p>Größe: 日本</p>", encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding=encoding))
    assert main(["extract", str(tmp_path / "page.html"), "--format", format]) == 0
    sys.stdout.flush()
    assert "Größe: 日本" in written.getvalue().decode()


def test_a_page_without_a_text_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.html").write_text("<meta http-equiv=refresh content='0; url=/x'>")
    assert main(["extract", str(tmp_path / "page.html")]) == 1
    assert "no text was found" in capsys.readouterr().err
