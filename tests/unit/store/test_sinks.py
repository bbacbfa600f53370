"""Sinks: what foreign programs read of what was written."""

from __future__ import annotations

import json
from pathlib import Path

import lycosa
import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet

FIELDS = ["url", "chain", "status", "error", "fetched_at", "headers", "title", "links", "body"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl's two outputs."""
    folder = tmp_path_factory.mktemp("outputs")
    with SimulatedInternet(hosts=20, pages=10, seed=5, speed=200) as net:
        outputs = [folder / "pages.parquet", folder / "pages.jsonl"]
        list(lycosa.crawl(job=net.job_file(), output=outputs, store={"fields": FIELDS}))
    return folder


def test_parquet_and_json_lines_say_the_same(outputs: Path) -> None:
    table = pyarrow.parquet.read_table(outputs / "pages.parquet")
    assert table.column_names == FIELDS
    lines = [json.loads(line) for line in (outputs / "pages.jsonl").read_text().splitlines()]
    rows = table.to_pylist()
    assert len(rows) == len(lines) > 100
    for row, line in zip(rows, lines, strict=True):
        assert {name: row[name] for name in ("url", "chain", "status", "error", "headers", "title", "links")} == {
            name: line[name] for name in ("url", "chain", "status", "error", "headers", "title", "links")
        }
        assert row["fetched_at"].isoformat(timespec="microseconds").replace("+00:00", "Z") == line["fetched_at"]
        if line.get("body"):
            assert row["body"].decode() == line["body"]


def test_bodies_are_decoded(outputs: Path) -> None:
    rows = pyarrow.parquet.read_table(outputs / "pages.parquet").to_pylist()
    coded = [row for row in rows if any(header["name"] == "content-encoding" for header in row["headers"])]
    assert coded, "some hosts of the simulated Internet answer with gzip"
    assert all(row["body"].lstrip().lower().startswith(b"<!doctype html") for row in coded)


def test_no_half_file_is_left(outputs: Path) -> None:
    assert not list(outputs.glob("*.part"))
