"""Part of `extract`: bytes a second that one thread of the parser reads, of real front pages."""

from __future__ import annotations

import json
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Cores, Options, pinned, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

if TYPE_CHECKING:
    from lycosa import Outcomes, Responses

#: Front pages of 130 sites, of 173 KB in the mean.
PAGES = "scrapy-bench-pages/sites.tar.gz"

#: MB/s of one core, with links and the main text.
BAR = 90.0

ROUNDS, QUICK_ROUNDS = 7, 3

#: The way of pages whose blocks their site has on other pages.
KNOWN = "links, main text and fingerprint, of sites that are known"

#: What is read, and the job's settings.
WAYS: dict[str, dict[str, Any]] = {
    "links": {"parse": {"threads": 1, "refusals": False}},
    "links and refusals": {"parse": {"threads": 1}},
    "links with what is around them": {
        "parse": {"threads": 1, "link_details": ["anchor", "rel", "context", "place"]}
    },
    "links and main text": {"parse": {"threads": 1}, "store": {"fields": ["url", "main_text"]}},
    # Elsewhere each round has other sites; here earlier pages of the site are the same: blocks are chosen twice.
    KNOWN: {"parse": {"threads": 1}, "store": {"fields": ["url", "main_text", "simhash"]}},
    # Metadata and fingerprints are read only where a column needs them.
    "links, main text, Markdown, metadata": {
        "parse": {"threads": 1},
        "store": {"fields": ["url", "main_text", "markdown", "kind", "headline", "author", "published", "simhash"]},
    },
}


def speed(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Read all pages, in each way."""
    from lycosa import _core
    from lycosa.job import make_job

    from tools.text_model import CORPORA  # without numpy, whose threads would cost CPU of this process

    archive = CORPORA.parent / PAGES
    if not archive.is_file():
        raise BenchmarkError(f"{archive} is missing: set LYCOSA_CORPORA to the corpora")
    bodies = read(archive)
    size = sum(map(len, bodies))
    with pinned(cores.client):
        for name, settings in WAYS.items():
            is_known = name == KNOWN
            parser = _core.Parser(make_job({"seeds": ["http://a.example/"], **settings}), 1 << 31)
            speeds = []
            for number in range(QUICK_ROUNDS if options.quick else ROUNDS):
                responses = _responses(bodies, "" if is_known else f"round{number}.", number)
                begin = time.process_time()
                outcomes = parser.parse(responses)
                speeds.append(size / (time.process_time() - begin) / 1e6)
                assert len(outcomes) == len(bodies)
                if "main_text" in settings.get("store", {}).get("fields", ()) and not is_known:
                    _check_texts(outcomes)
            figure = Figure.of(f"{name}, pages of {size / len(bodies) / 1e3:,.0f} KB", "MB/s", speeds)
            progress(f"{name}: {figure.median:,.0f} MB/s")
            report.figures.append(figure)
            if name == "links and main text":
                report.claims.append(
                    Claim.at_least("extract.speed", f"{name}, one thread", figure.median, "MB/s", BAR)
                )


def _check_texts(outcomes: Outcomes) -> None:
    """Raise BenchmarkError unless most pages have a text."""
    rows = [json.loads(line) for line in outcomes.lines(["main_text"]).splitlines()]
    with_text = sum(bool(row["main_text"]) for row in rows)
    if with_text < len(rows) * 0.9:
        raise BenchmarkError(f"{with_text} of {len(rows)} pages have a text: the speed would be of nothing")


def read(archive: Path) -> list[bytes]:
    """Return the pages of an archive."""
    with tarfile.open(archive) as members:
        files = [members.extractfile(member) for member in members if member.name.endswith((".html", ".htm"))]
        return [file.read() for file in files if file is not None]


def _responses(bodies: list[bytes], site: str, turn: int) -> Responses:
    """Responses with these pages: what pages of a site have in common is left out. site: a part of their names."""
    from lycosa import Request, Responses

    fields = [("Content-Type", "text/html")]
    return Responses(
        [
            Request(f"http://site{number}.{site}example/{turn}").respond(200, headers=fields, body=body)
            for number, body in enumerate(bodies)
        ]
    )
