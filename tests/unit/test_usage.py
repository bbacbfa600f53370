"""What sites say about the uses of their pages: in outcomes, columns and outputs, with the signal that says so."""

from __future__ import annotations

import json
from pathlib import Path

import lycosa
import pyarrow
from lycosa import Outcomes, Request, Responses, _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import make_job
from lycosa.settings import PolitenessSettings

SITE = "http://93.184.216.34"
HTML = ("Content-Type", "text/html")
ROBOTS = b"""User-agent: *
Content-Signal: search=yes, ai-train=yes
Content-Usage: /press/ train-ai=y
Content-Usage: /art/ train-ai=n
"""
ANSWERS: dict[str, Answer] = {
    "/robots.txt": (200, [], ROBOTS),
    "/": (200, [HTML], b"<a href=/press/a>p</a><a href=/art/b>a</a><a href=/gone>g</a>"),
    "/press/a": (200, [HTML, ("TDM-Reservation", "1")], b'<meta name="robots" content="noai">'),
    "/art/b": (200, [HTML, ("Content-Usage", "train-ai=y, search=n")], b""),
}


def crawled(tmp_path: Path) -> dict[str, list[tuple[str, bool, str]]]:
    """The preferences of each page of a scripted site, which is crawled into a file of JSON lines."""
    fetch = ScriptedFetch(lambda url: ANSWERS.get(url.removeprefix(SITE), "connection-closed"))
    politeness: PolitenessSettings = {"host_interval": 0, "address_interval": 0, "retries": 0}
    crawl = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness=politeness,
        frontier={"patience": 0},
        output=tmp_path / "pages.jsonl",
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
    )
    return {outcome.url.removeprefix(SITE): outcome.usage for outcome in crawl}


def test_of_all_signals_the_most_restrictive_counts_and_is_named(tmp_path: Path) -> None:
    usage = crawled(tmp_path)
    assert usage == {
        "/": [("search", True, "robots.txt"), ("train-ai", True, "robots.txt")],
        "/press/a": [
            ("tdm", False, "tdm-reservation"),
            ("train-ai", False, "meta robots"),
            ("search", True, "robots.txt"),
        ],
        "/art/b": [("train-ai", False, "robots.txt"), ("search", False, "content-usage")],
        "/gone": [],
    }
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    written = {line["url"].removeprefix(SITE): line["usage"] for line in lines}
    assert written["/art/b"] == [
        {"usage": "train-ai", "allowed": False, "source": "robots.txt"},
        {"usage": "search", "allowed": False, "source": "content-usage"},
    ]


def test_preferences_are_a_column_and_travel() -> None:
    response = Request(f"{SITE}/").respond(200, headers=[("X-Robots-Tag", "noai")], body=b"")
    outcomes = _core.Parser(make_job({"seeds": [SITE]})).parse(Responses([response]))
    expected = [{"usage": "train-ai", "allowed": False, "source": "x-robots-tag"}]
    for batch in (outcomes, Outcomes.decode(outcomes.encode())):
        assert pyarrow.table(batch.columns(["usage"]))["usage"].to_pylist() == [expected]
        assert batch[0].usage == [("train-ai", False, "x-robots-tag")]
