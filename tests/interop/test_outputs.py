"""Foreign programs read what Lycosa writes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import lycosa
import pandas
import polars
from lycosa.simnet import SimulatedInternet


def test_duckdb_queries_both_outputs(tmp_path: Path) -> None:
    parquet, lines = tmp_path / "pages.parquet", tmp_path / "pages.jsonl"
    with SimulatedInternet(hosts=30, pages=10, speed=200) as net:
        list(lycosa.crawl(job=net.job_file(), output=[parquet, lines]))
        served = net.report()["coverage"]["served"]
    from_parquet, from_lines = summary(parquet), summary(lines)
    assert from_parquet == from_lines
    assert from_parquet[0] == from_parquet[1] == served


def test_tables_of_data_frames_are_those_of_the_outputs(tmp_path: Path) -> None:
    names = ["pages.parquet", "pages.jsonl.gz", "pages.csv", "pages.sqlite", "pages.duckdb", "pages.arrows"]
    with SimulatedInternet(hosts=10, pages=5, seed=3, speed=200) as net:
        outputs = [tmp_path / name for name in names]
        list(lycosa.crawl(job=net.job_file(), output=outputs, store={"fields": ["url", "status", "title"]}))
    parquet, lines, text, lite, duck, arrow = (tmp_path / name for name in names)
    with sqlite3.connect(lite) as of_lite, duckdb.connect(duck, read_only=True) as of_duck:
        frames = [
            pandas.read_parquet(parquet),
            pandas.read_json(lines, lines=True),
            pandas.read_csv(text),
            pandas.read_sql("SELECT * FROM pages", of_lite),
            of_duck.sql("SELECT * FROM pages").df(),
            polars.read_parquet(parquet).to_pandas(),
            polars.read_csv(text).to_pandas(),
            polars.read_ipc_stream(arrow).to_pandas(),
        ]
    urls = [sorted(zip(frame["url"], frame["title"].fillna("").astype(str), strict=True)) for frame in frames]
    assert len(urls[0]) > 20
    assert all(one == urls[0] for one in urls)


def summary(path: Path) -> tuple[Any, ...]:
    """Pages, distinct URLs, links and the longest title, as DuckDB counts them."""
    return query(path, "count(*), count(DISTINCT url), sum(len(links)), max(strlen(title))", "status = 200")


def query(path: Path, columns: str, condition: str) -> tuple[Any, ...]:
    """One row of a query over an output."""
    with duckdb.connect() as connection:
        row = connection.execute(f"SELECT {columns} FROM '{path}' WHERE {condition}").fetchone()  # noqa: S608
    assert row is not None
    return tuple(row)
