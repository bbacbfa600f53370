"""Outputs of ``lycosa resolve`` that are gone on with: rows as long as they come, whatever stands in their fields."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from lycosa._core import Resolutions
from lycosa.cli.resolve_outputs import TextOutput, output
from lycosa.errors import StorageError


def row(name: str, detail: str = "", records: str = "[]") -> list[str]:
    """The fields of a row with records."""
    return ["1", name, "ok", "", "1", "fast", "0.000000", "true", detail, records, "false"]


def written(path: Path, *rows: list[str], torn: str = "") -> None:
    """Write an output with records, as the core writes it, and what a crash has left."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(Resolutions.columns(True))
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    path.write_bytes(text.getvalue().encode() + torn.encode())


def names_in(path: Path) -> list[str]:
    """The names that going on finds there, and again when rows are asked for again."""
    opened = output(str(path), io.BytesIO(), has_records=True)
    assert isinstance(opened, TextOutput)
    try:
        names = [name for batch in opened.open() for name in batch]
        rows = [answered for batch in opened.rows() for answered in batch]
    finally:
        opened.close()
    assert [answered.name for answered in rows] == names
    header = (",".join(Resolutions.columns(True)) + "\n").encode()
    assert header + b"".join(answered.line for answered in rows) == path.read_bytes()
    return names


def test_a_field_may_be_longer_than_the_csv_module_allows_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    records = json.dumps([{"owner": "a.example", "type": "TXT", "ttl": 60, "data": "x" * 200_000}])
    written(path, row("a.example", records=records), row("b.example"))
    limit = csv.field_size_limit()
    assert names_in(path) == ["a.example", "b.example"]
    assert csv.field_size_limit() == limit, "other readers of the process keep theirs"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n", "\x85", "\u2028"])
def test_an_end_of_line_within_a_field_ends_no_row(end: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    written(path, row(f"a{end}b", detail=f'"a{end}b" is no name'), row("b.example"), row(f"c{end}"))
    assert names_in(path) == [f"a{end}b", "b.example", f"c{end}"]


def test_a_row_over_many_lines_may_be_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    written(path, row("a.example", detail="why\n" * 600_000), row("b.example"))
    assert names_in(path) == ["a.example", "b.example"]


def test_a_row_that_is_torn_behind_an_end_of_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    written(path, row("a.example"), torn='1,b.example,ok,,1,fast,0.000000,true,"why\nand wh')
    assert names_in(path) == ["a.example"]


def test_rows_behind_a_quote_that_is_not_closed_are_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    good = ",".join(row("b.example")) + "\n"
    written(path, row("a.example"), torn='1,"c.example,ok\n' + good)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="line 3 was not written by lycosa resolve"):
        names_in(path)
    assert path.read_bytes() == before
