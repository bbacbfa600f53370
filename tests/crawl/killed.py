"""What holds for every crawl that was killed: nothing is lost, little is repeated, nobody is hurt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def judge_killed(ledger: dict[str, Any], pages: Path, lost: int) -> list[dict[str, Any]]:
    """Judge a crawl by the ledger and its JSON lines; give their rows. lost: answers that kills may have lost."""
    assert ledger["coverage"]["ratio"] == 1.0
    # Pages that gave an error are asked for again in any case.
    assert ledger["repeats"]["after_answer"] <= lost, ledger["repeats"]
    assert ledger["robots"]["disallowed"] == ledger["robots"]["before_robots"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    rows: list[dict[str, Any]] = [json.loads(line) for line in pages.read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows), "each record once"
    assert sum(row["status"] == 200 for row in rows) == ledger["coverage"]["served"]
    return rows
