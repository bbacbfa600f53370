"""What pages say, from a crawl to its outputs: columns of text, refusals in the report, other sources of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lycosa
import pyarrow.parquet
import pytest
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer

SITE = "http://93.184.216.34"
PARAGRAPH = (
    "The harbour was rebuilt after the flood of 1953, and ships of up to ninety metres can enter it at any tide. Two "
    "cranes stand on the eastern quay, and the western one belongs to the fishing boats, of which eleven are left."
)
MENU = "".join(f"<li><a href=/topic/{number}>Topic {number}</a></li>" for number in range(12))
PAGE = (
    "<html lang=en><head><title>The harbour - News</title><meta property=og:site_name content=News>"
    "<meta name=description content='How the harbour was rebuilt.'><meta name=author content='Ann Lee'>"
    "<meta property=article:published_time content=2024-05-13>"
    "<meta property=article:modified_time content=2024-06-01>"
    f"</head><body><nav><ul>{MENU}</ul></nav><article><h1>The harbour</h1>"
    + "".join(f"<p>{number}. {PARAGRAPH}</p>" for number in range(8))
    + "<p><a href=/challenge>Visitors</a> <a href=/gone>Ships</a><img src=/crane.png></p></article></body></html>"
)

#: All columns that are made of a page's text, with what this page has in them.
COLUMNS: dict[str, Any] = {
    "main_text": "rebuilt",
    "markdown": "# The harbour",
    "kind": "article",
    "confidence": None,
    "headline": "The harbour",
    "author": "Ann Lee",
    "published": "2024-05-13",
    "modified": "2024-06-01",
    "language": "en",
    "description": "How the harbour was rebuilt.",
    "site": "News",
    "simhash": None,
    "text_digest": None,
}


def answer(url: str) -> Answer:
    """What the site says."""
    html = [("Content-Type", "text/html; charset=utf-8")]
    path = url.removeprefix(SITE)
    if path == "/":
        return (200, html, PAGE.encode())
    if path == "/challenge":
        return (200, html, b"<title>Just a moment...</title><p>Verify you are human by completing the action below.")
    if path == "/gone":
        return (200, html, b"<title>Page not found</title><h1>Page not found</h1><p>This page does not exist.")
    return (404, html, b"")


def crawl(folder: Path, fields: Sequence[str], **settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Crawl the site; returns its rows and the report."""
    run = lycosa.crawl(
        f"{SITE}/",
        output=folder / "pages.parquet",
        stages=lambda stages: replace(stages, fetch=ScriptedFetch(answer)),
        user_agent="test/1.0 (me@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "share_clocks": False},
        store={"fields": list(fields)},
        **settings,
    )
    for _ in run:
        pass
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder / "pages.parquet").to_pylist()
    return rows, run.report()


def of(rows: list[dict[str, Any]], path: str) -> dict[str, Any]:
    """The row of a page."""
    return next(row for row in rows if row["url"] == f"{SITE}{path}")


@pytest.mark.parametrize("column", COLUMNS)
def test_each_column_alone_has_its_value(column: str, tmp_path: Path) -> None:
    # A column that is forgotten among those for which text is looked at would be null without a word.
    rows, _ = crawl(tmp_path, ["url", column])
    found, expected = of(rows, "/")[column], COLUMNS[column]
    assert found is not None
    if isinstance(expected, str):
        assert expected in found


def test_all_columns_of_text_are_known_here(tmp_path: Path) -> None:
    rows, _ = crawl(tmp_path, ["url", "error", *COLUMNS])
    main = of(rows, "/")
    assert main["main_text"].count("rebuilt") == 8
    assert "Topic 3" not in main["main_text"]
    assert 0 < main["confidence"] <= 1_000, "in thousandths"
    refused = of(rows, "/challenge")
    assert refused["error"] == "page-challenge"
    assert not any(refused[column] for column in COLUMNS), "no output has its text"


def test_refusals_are_told_with_examples(tmp_path: Path) -> None:
    _, report = crawl(tmp_path, ["url", "error", "main_text"])
    told = {kind: (one["count"], one["first"]) for kind, one in report["refusals"].items()}
    assert told == {
        "page-challenge": (1, [f"{SITE}/challenge"]),
        "page-not-found": (1, [f"{SITE}/gone"]),
    }
    assert report["failures"]["page-challenge"] == 1


def test_without_refusals_all_pages_are_kept(tmp_path: Path) -> None:
    rows, report = crawl(tmp_path, ["url", "error"], parse={"refusals": False})
    assert of(rows, "/challenge")["error"] is None
    assert not any(one["count"] for one in report["refusals"].values())


def test_images_are_links_where_they_are_wanted(tmp_path: Path) -> None:
    rows, _ = crawl(tmp_path, ["url", "links"])
    assert f"{SITE}/crane.png" not in of(rows, "/")["links"]
    (tmp_path / "more").mkdir()
    rows, _ = crawl(tmp_path / "more", ["url", "links"], parse={"link_sources": ["images"]})
    assert f"{SITE}/crane.png" in of(rows, "/")["links"]
