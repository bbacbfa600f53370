"""Foreign programs read what Lycosa writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import lycosa
from lycosa.simnet import SimulatedInternet


def test_duckdb_queries_both_outputs(tmp_path: Path) -> None:
    parquet, lines = tmp_path / "pages.parquet", tmp_path / "pages.jsonl"
    with SimulatedInternet(hosts=30, pages=10, speed=200) as net:
        list(lycosa.crawl(job=net.job_file(), output=[parquet, lines]))
        served = net.report()["coverage"]["served"]
    from_parquet, from_lines = summary(parquet), summary(lines)
    assert from_parquet == from_lines
    assert from_parquet[0] == from_parquet[1] == served


def summary(path: Path) -> tuple[Any, ...]:
    """Pages, distinct URLs, links and the longest title, as DuckDB counts them."""
    return query(path, "count(*), count(DISTINCT url), sum(len(links)), max(strlen(title))", "status = 200")


def query(path: Path, columns: str, condition: str) -> tuple[Any, ...]:
    """One row of a query over an output."""
    with duckdb.connect() as connection:
        row = connection.execute(f"SELECT {columns} FROM '{path}' WHERE {condition}").fetchone()  # noqa: S608
    assert row is not None
    return tuple(row)
