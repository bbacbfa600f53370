"""Parquet files are joined as they are: other readers find all rows, and what is known of them."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet
import pytest
from lycosa.errors import StorageError
from lycosa.store import parts
from lycosa.store.footer import Reader, join, written
from lycosa.store.parts import Part, PartWriter, merge, range_of

SCHEMA = pyarrow.schema(
    {
        "url": pyarrow.string(),
        "status": pyarrow.uint16(),
        "links": pyarrow.list_(pyarrow.string()),
        "chain": pyarrow.list_(pyarrow.struct({"url": pyarrow.string(), "status": pyarrow.int32()})),
        "body": pyarrow.binary(),
    }
)


def table(start: int, count: int) -> pyarrow.Table:
    """Rows with structures, nulls, and bytes."""
    rows = [
        {
            "url": f"http://a.example/{number}",
            "status": 200 if number % 3 else None,
            "links": [f"/{number}", None] if number % 2 else [],
            "chain": [{"url": "http://b.example/", "status": number}],
            "body": b"\0" * (number % 50),
        }
        for number in range(start, start + count)
    ]
    return pyarrow.Table.from_pylist(rows, SCHEMA)


def write(path: Path, rows: pyarrow.Table, **settings: object) -> Path:
    pyarrow.parquet.write_table(rows, path, **{"compression": "zstd", "row_group_size": 100, **settings})
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_dictionary": False},
        {"write_page_index": True},
        {"bloom_filter_options": {"url": True}},
        {"version": "1.0"},
    ],
)
def test_all_readers_find_the_rows_of_all_files(tmp_path: Path, settings: dict[str, object]) -> None:
    counts = ((0, 350), (350, 1), (351, 99))
    files = [write(tmp_path / f"{start}", table(start, count), **settings) for start, count in counts]
    with (tmp_path / "all.parquet").open("wb") as into:
        join(files, into, {"lycosa.log": "here"})
    expected = table(0, 450)
    found = pyarrow.parquet.ParquetFile(tmp_path / "all.parquet")
    assert found.read().equals(expected)
    assert found.metadata.num_row_groups == 6
    assert found.metadata.metadata[b"lycosa.log"] == b"here"
    assert found.metadata.row_group(5).column(0).statistics.min == "http://a.example/351"
    assert [found.read_row_group(number).num_rows for number in range(6)] == [100, 100, 100, 50, 1, 99]
    assert (
        polars.read_parquet(tmp_path / "all.parquet").to_arrow().column("url").to_pylist()
        == expected["url"].to_pylist()
    )
    relation = duckdb.read_parquet(str(tmp_path / "all.parquet")).filter("url = 'http://a.example/420'")
    assert relation.project("url, octet_length(body)").fetchall() == [("http://a.example/420", 20)]


def test_footers_are_written_as_they_were_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", table(0, 350)).read_bytes()
    length = int.from_bytes(file[-8:-4], "little")
    footer = file[-8 - length : -8]
    assert written(Reader(footer).struct()) == footer


def test_a_file_of_other_columns_or_none_is_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", table(0, 1)), write(tmp_path / "other", table(0, 1).drop(["body"]))
    (tmp_path / "none").write_bytes(b"PAR1 and PAR2")
    with pytest.raises(StorageError, match="columns"):
        join([one, other], io.BytesIO(), {})
    with pytest.raises(StorageError, match="cannot be read"):
        join([tmp_path / "none"], io.BytesIO(), {})


def part_of(folder: Path, start: int, sizes: list[int]) -> Part:
    """A part whose row groups have so many rows, each with as many bytes as rows."""
    writer, position = PartWriter(folder / f"{start:020}.part", SCHEMA), start
    for size in sizes:
        position += size
        writer.write(table(position - size, size).to_batches(), position)
    return writer.finish("job", start, position)


def test_large_row_groups_are_copied_and_small_ones_become_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "GROUP_ROWS", 100)
    sizes = [[100, 100], [10], [20], [30], [60], [100], [5]]
    made, start = list[Part](), 0
    for some in sizes:
        made.append(part_of(tmp_path, start, some))
        start = made[-1].end
    large = made[0].path.read_bytes()
    merge(made, tmp_path / "all.parquet", "job")
    covered, found = range_of(tmp_path / "all.parquet"), pyarrow.parquet.ParquetFile(tmp_path / "all.parquet")
    assert covered is not None
    groups = [found.metadata.row_group(number).num_rows for number in range(found.metadata.num_row_groups)]
    assert groups == [100, 100, 60, 60, 100, 5]
    assert covered.positions == (100, 200, 260, 320, 420, 425)
    assert found.read().equals(table(0, start))
    before_footer = large[: -8 - int.from_bytes(large[-8:-4], "little")]
    assert (tmp_path / "all.parquet").read_bytes().startswith(before_footer)
    assert not list(tmp_path.glob("*.new"))


def test_parts_that_were_written_otherwise_are_written_again(tmp_path: Path) -> None:
    first, second = part_of(tmp_path, 0, [10]), Part(tmp_path / f"{10:020}-{20:020}.parquet", 10, 20)
    metadata = {"lycosa.log": '{"job": "job", "start": 10, "positions": [20]}'}
    # As older versions of Arrow name the items of lists.
    with pyarrow.parquet.ParquetWriter(second.path, SCHEMA, use_compliant_nested_type=False) as writer:
        writer.write_table(table(10, 10))
        writer.add_key_value_metadata(metadata)
    merge([first, second], tmp_path / "all.parquet", "job")
    assert pyarrow.parquet.read_table(tmp_path / "all.parquet").equals(table(0, 20))
