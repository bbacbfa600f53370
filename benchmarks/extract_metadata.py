"""Part of `extract`: title, author and date of pages, beside trafilatura and htmldate."""

from __future__ import annotations

import json
import re
import statistics
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Cores, Options, environment, progress
from benchmarks.peers.page_metadata import READERS
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

#: What is compared, and with which readers.
FIELDS = {"title": ("trafilatura",), "author": ("trafilatura",), "date": ("trafilatura", "htmldate")}


def metadata(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Have each reader read the pages of wcxb."""
    pages = dict(_pages(options))
    found: dict[str, dict[str, dict[str, str | None]]] = {}
    for name, (_, needs) in READERS.items():
        peer = Peer.package(f"{name}: metadata", needs, "its defaults")
        if name != "lycosa":
            report.peers.append(peer)
        if peer.missing is None:
            progress(f"{name}: metadata of {len(pages)} pages")
            found[name] = _read(name, pages)
    for field, others in FIELDS.items():
        known = [row["id"] for row, _ in pages.values() if row.get(field)]
        rates = {
            name: statistics.mean(is_right(field, pages[page][0][field], of[page].get(field)) for page in known)
            for name, of in found.items()
            if name == "lycosa" or name in others
        }
        report.figures += [
            Figure.of(f"{name}: {field} of {len(known)} pages", "part right", [rate]) for name, rate in rates.items()
        ]
        for name in others:
            # Without the peer nothing is shown.
            more = rates["lycosa"] - rates[name] if name in rates else None
            text = f"{field}: part right, ours less {name}'s"
            report.claims.append(Claim.at_least(f"extract.{field}.{name}", text, more, "", 0.0))


def is_right(field: str, gold: str, found: str | None) -> bool:
    """Return whether it is what the page says: the same day, the same title, or all authors in any order."""
    if not found:
        return False
    if field == "date":
        return found[:10] == gold[:10]
    if field == "author":
        return _names(found) == _names(gold)
    return _plain(found) == _plain(gold)


def _plain(text: str) -> str:
    """A text without case, punctuation and marks."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKD", text).casefold()))


def _names(text: str) -> set[str]:
    """The names of authors."""
    return {plain for part in re.split(r"[;,|&]| and ", text) if (plain := _plain(part))}


def _pages(options: Options) -> Iterator[tuple[str, tuple[dict[str, Any], bytes]]]:
    """The pages of wcxb: rows with what they say, and HTML."""
    from tools.text_model import CORPORA
    from tools.text_model.corpus import pages

    if not CORPORA.is_dir():
        raise BenchmarkError(f"{CORPORA} is missing: set LYCOSA_CORPORA to the corpora")
    html = {page.name: page.raw for page in pages() if page.kind.startswith("wcxb-")}
    rows = map(json.loads, (CORPORA / "gold.jsonl").open(encoding="utf-8"))
    some = [row for row in rows if row["html"] in html]
    for row in some[::10] if options.quick else some:
        yield row["id"], (row, html[row["html"]])


def _read(name: str, pages: dict[str, tuple[dict[str, Any], bytes]]) -> dict[str, dict[str, str | None]]:
    """What a reader says of all pages."""
    frames = b"".join(
        struct.pack("<I", len(part)) + part
        for row, html in pages.values()
        for part in ((row.get("url") or "").encode(), html)
    )
    command = [sys.executable, "-m", "benchmarks.peers.page_metadata", name]
    done = subprocess.run(command, input=frames, capture_output=True, env=environment(), timeout=1_800)
    lines = done.stdout.decode().splitlines()
    if done.returncode != 0 or len(lines) != len(pages):
        raise BenchmarkError(f"{name} ended early: {done.stderr.decode(errors='replace')[-500:]}")
    return dict(zip(pages, map(json.loads, lines), strict=True))
