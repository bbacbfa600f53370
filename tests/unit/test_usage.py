"""What sites say about uses and licences of their pages: in outcomes, columns and outputs, with the signal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import lycosa
import pyarrow
from lycosa import Outcome, Outcomes, Request, Responses, _core
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import Use, make_job
from lycosa.settings import PolitenessSettings

UsagePolicy = dict[Use, Literal["drop", "mark", "ignore"]]

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


def crawled(
    tmp_path: Path,
    answers: dict[str, Answer] = ANSWERS,
    fields: Sequence[str] = _core.USUAL_FIELDS,
    tdmrep: bool = False,
    usage: UsagePolicy | None = None,
) -> dict[str, Outcome]:
    """The pages of a scripted site, which is crawled into a file of JSON lines."""
    tmp_path.mkdir(exist_ok=True)
    fetch = ScriptedFetch(lambda url: answers.get(url.removeprefix(SITE), "connection-closed"))
    politeness: PolitenessSettings = {"host_interval": 0, "address_interval": 0, "retries": 0, "tdmrep": tdmrep}
    crawl = lycosa.crawl(
        f"{SITE}/",
        user_agent="mybot/1.0 (me@example.org)",
        politeness=politeness,
        usage=usage or {},
        frontier={"patience": 0},
        output=tmp_path / "pages.jsonl",
        store={"fields": fields},
        stages=lambda stages: lycosa.Stages(stages.frontier, fetch, stages.parse, stages.log),
    )
    return {outcome.url.removeprefix(SITE): outcome for outcome in crawl}


def written(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The lines of its output."""
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    return {line["url"].removeprefix(SITE): line for line in lines}


def test_of_all_signals_the_most_restrictive_counts_and_is_named(tmp_path: Path) -> None:
    assert {path: page.usage for path, page in crawled(tmp_path).items()} == {
        "/": [("search", True, "robots.txt"), ("train-ai", True, "robots.txt")],
        "/press/a": [
            ("tdm", False, "tdm-reservation"),
            ("train-ai", False, "meta robots"),
            ("search", True, "robots.txt"),
        ],
        "/art/b": [("train-ai", False, "robots.txt"), ("search", False, "content-usage")],
        "/gone": [],
    }
    assert written(tmp_path)["/art/b"]["usage"] == [
        {"usage": "train-ai", "allowed": False, "source": "robots.txt"},
        {"usage": "search", "allowed": False, "source": "content-usage"},
    ]


def test_licences_are_named_with_their_signals_and_leave_out_no_page(tmp_path: Path) -> None:
    link = '</link.xml>; rel="license"; type="application/rsl+xml"'
    element = b"<base href=/dir/><link rel=license href=element>"
    answers: dict[str, Answer] = {
        "/robots.txt": (200, [], b"User-agent: other\nLicense: https://a.example/1\nLicense: https://a.example/2\n"),
        "/": (200, [HTML, ("Link", link)], element + b"<a href=/plain>p</a><a href=/gone>g</a>"),
        "/plain": (200, [HTML], b""),
    }
    pages = crawled(tmp_path, answers, ["url", "license", "licenses"])
    site = [("https://a.example/1", "robots.txt"), ("https://a.example/2", "robots.txt")]
    of_page = [(f"{SITE}/link.xml", "link"), (f"{SITE}/dir/element", "link element")]
    assert {path: page.licenses for path, page in pages.items()} == {
        "/": of_page + site,
        "/plain": site,
        "/gone": site,
    }
    assert (pages["/"].license, pages["/plain"].license) == (f"{SITE}/link.xml", "https://a.example/1")
    lines = written(tmp_path)
    assert lines["/plain"]["licenses"] == [{"url": url, "source": source} for url, source in site]
    assert lines["/"]["license"] == f"{SITE}/link.xml"
    batch = Outcomes([pages["/"]])
    assert pyarrow.table(Outcomes.decode(batch.encode()).columns(["licenses"]))["licenses"].to_pylist() == [
        [{"url": url, "source": source} for url, source in of_page + site]
    ]


def test_tdmrep_json_reserves_pages_by_path_if_the_job_has_it_requested(tmp_path: Path) -> None:
    file = b'[{"location": "/art/", "tdm-reservation": 1}, {"location": "/*.pdf$", "tdm-reservation": 0}]'
    answers: dict[str, Answer] = {
        "/robots.txt": (200, [], b""),
        "/.well-known/tdmrep.json": (200, [], file),
        "/": (200, [HTML], b"<a href=/art/a>a</a><a href=/art/b>b</a><a href=/c.pdf>c</a>"),
        "/art/a": (200, [HTML, ("TDM-Reservation", "0")], b""),
        "/art/b": (200, [HTML, ("TDM-Reservation", "1")], b""),
        "/c.pdf": (200, [], b"%PDF"),
    }
    pages = crawled(tmp_path / "mark", answers, tdmrep=True)
    assert {path: page.usage for path, page in pages.items()} == {
        "/": [],
        "/art/a": [("tdm", False, "tdmrep.json")],
        "/art/b": [("tdm", False, "tdm-reservation")],
        "/c.pdf": [("tdm", True, "tdmrep.json")],
    }
    assert crawled(tmp_path / "off", answers)["/c.pdf"].usage == []
    dropped = crawled(tmp_path / "drop", answers, tdmrep=True, usage={"tdm": "drop"})
    assert {path: (page.error, page.address) for path, page in dropped.items() if page.error} == {
        "/art/a": ("usage-refused", None),
        "/art/b": ("usage-refused", None),
    }


def test_preferences_are_a_column_and_travel() -> None:
    response = Request(f"{SITE}/").respond(200, headers=[("X-Robots-Tag", "noai")], body=b"")
    outcomes = _core.Parser(make_job({"seeds": [SITE]})).parse(Responses([response]))
    expected = [{"usage": "train-ai", "allowed": False, "source": "x-robots-tag"}]
    for batch in (outcomes, Outcomes.decode(outcomes.encode())):
        assert pyarrow.table(batch.columns(["usage"]))["usage"].to_pylist() == [expected]
        assert batch[0].usage == [("train-ai", False, "x-robots-tag")]
