"""The report as a page: everything that people look for, and nothing that a site has written runs in it."""

from __future__ import annotations

from html.parser import HTMLParser

from lycosa.observe.page import page

from tests.unit.observe.report import make_report


class Reader(HTMLParser):
    """Collects texts and elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(**changed: object) -> Reader:
    reader = Reader()
    reader.feed(page(make_report(**changed), "crawl-a.example"))
    return reader


def test_a_page_says_what_happened() -> None:
    text = read().text
    for told in (
        "finished: nothing is left",
        "connect-timeout",
        "slow.example",
        "1.50 s",
        "text/html",
        "page-challenge",
    ):
        assert told in text
    assert "166,667 µs a page" in text
    assert "2.31" in text, "the cost of a million pages"


def test_what_sites_wrote_is_text() -> None:
    reader = read()
    assert "script" not in reader.elements
    assert "http://a.example/?q=<script>" in reader.text


def test_empty_parts_are_left_out() -> None:
    text = read(slowest=[], refusals={}, price=None, end=None).text
    assert "Slowest hosts" not in text
    assert "million pages" not in text
    assert "It runs." in text
