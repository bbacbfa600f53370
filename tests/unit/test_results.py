"""The page of benchmark results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import results


def made(name: str, date: str) -> dict[str, Any]:
    """A result without figures."""
    parts: dict[str, Any] = {"claims": [], "figures": [], "peers": [], "machine": {"cores": 2}}
    return {"name": name, "quick": False, "date": date, "notes": [f"{name} of {date}"], **parts}


def test_what_was_measured_again_replaces_its_section_and_no_other(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    results.write([made("crawl", "Monday"), made("fetch", "Monday")], page)
    whole = page.read_text()
    assert [line for line in whole.splitlines() if line.startswith("## ")] == ["## crawl", "## fetch"]
    results.write([made("crawl", "Tuesday"), made("links", "Tuesday")], page)
    assert [line for line in page.read_text().splitlines() if line.startswith("- ")] == [
        "- crawl of Tuesday",
        "- fetch of Monday",
        "- links of Tuesday",
    ]
    results.write([made("fetch", "Monday")], page)
    assert page.read_text().count("## fetch") == 1
