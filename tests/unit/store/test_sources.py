"""What ``lycosa parse`` and ``--seeds`` read: archives, crawls and tables, as other programs write them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from lycosa import _core, cli
from lycosa.again import Sources
from lycosa.errors import JobInUse, SettingError
from lycosa.job import make_job
from lycosa.seeds import seeds_of
from lycosa.sources import Source, sources_of
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from .conftest import Recorded

#: Of warcio.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

URLS = [f"http://a.example/{number}" for number in range(1_200)]


def write_warc(path: Path, urls: list[str], *, cut: int = 0) -> Path:
    """Write responses, gzipped one by one. cut: bytes that are missing at the end."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url in urls:
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            body = io.BytesIO(f"<title>{url}</title><a href=/next>".encode())
            writer.write_record(writer.create_warc_record(url, "response", payload=body, http_headers=head))
    if cut > 0:
        path.write_bytes(path.read_bytes()[:-cut])
    return path


def read(source: Source, position: int = 0) -> list[tuple[list[str], int]]:
    """All batches behind a position: URLs, and the position behind each."""
    return [([one.request.url for one in found], behind) for found, behind in Sources([source]).read(position)]


def urls_of(source: Source) -> list[str]:
    return [url for urls, _ in read(source) for url in urls]


def only(name: object) -> Source:
    (source,) = sources_of(str(name))
    return source


def assert_it_goes_on_anywhere(source: Source, expected: list[str]) -> None:
    """From each position that it gives the rest comes, and positions grow."""
    batches = read(source)
    assert [url for urls, _ in batches for url in urls] == expected
    positions = [position for _, position in batches]
    assert positions == sorted(set(positions))
    assert len(positions) > 1
    for number, position in enumerate(positions, 1):
        assert read(source, position) == batches[number:]


def test_warc_files_are_read(tmp_path: Path) -> None:
    assert_it_goes_on_anywhere(only(write_warc(tmp_path / "a.warc.gz", URLS)), URLS)


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_warc_files_that_are_compressed_as_a_whole_are_read(end: str, tmp_path: Path) -> None:
    plain = gzip.decompress(write_warc(tmp_path / "members.warc.gz", URLS).read_bytes())
    path = tmp_path / f"whole.warc{end}"
    codecs = {".gz": gzip.compress, ".zst": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True)}
    path.write_bytes(codecs[end](plain) if end else plain)
    assert_it_goes_on_anywhere(only(path), URLS)


@pytest.mark.parametrize(("cut", "whole"), [(5, 3), (100, 2)])
def test_what_is_cut_off_is_told_with_its_position(cut: int, whole: int, tmp_path: Path) -> None:
    source = only(write_warc(tmp_path / "a.warc.gz", URLS[:3], cut=cut))
    (batch,) = source.read()
    size = (tmp_path / "a.warc.gz").stat().st_size
    # Without the sum of a record its content may be whole, which is told.
    assert [one.request.url for one in batch.responses] == URLS[:whole]
    (damage,) = batch.damages
    assert damage.source == str(tmp_path / "a.warc.gz")
    assert 0 < damage.position < size


def test_archives_in_a_zip_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as archive:
        archive.write(write_warc(tmp_path / "1.warc.gz", URLS[:700]), "archive/1.warc.gz")
        archive.writestr("datapackage.json", "{}")
        archive.write(write_warc(tmp_path / "2.warc.gz", URLS[700:]), "archive/2.warc.gz")
    first, second = sources_of(str(tmp_path / "a.wacz"))
    assert_it_goes_on_anywhere(first, URLS[:700])
    assert_it_goes_on_anywhere(second, URLS[700:])


@pytest.mark.parametrize("content", [b"no zip", b"PK\x05\x06" + bytes(18)])
def test_a_zip_without_archives_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.wacz").write_bytes(content)
    with pytest.raises(SettingError, match="a WACZ file"):
        sources_of(str(tmp_path / "a.wacz"))


def test_archives_that_are_compressed_as_a_whole_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(write_warc(tmp_path / "1.warc.gz", URLS[:9]), "archive/1.warc.gz")
    with pytest.raises(SettingError, match="stores its WARC files"):
        sources_of(str(tmp_path / "a.wacz"))


def write_table(path: Path, rows: str, columns: str) -> Path:
    """Write rows in SQL."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE pages AS SELECT * FROM (VALUES {rows}) AS _({columns})")  # noqa: S608
        connection.execute(f"COPY pages TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 600)")
    return path


def test_tables_are_read(tmp_path: Path) -> None:
    rows = ", ".join(f"('{url}', '<p>{number}')" for number, url in enumerate(URLS))
    source = only(write_table(tmp_path / "pages.parquet", rows, "url, html"))
    assert_it_goes_on_anywhere(source, URLS)
    response = next(iter(source.read())).responses[1]
    assert (response.status, response.body) == (200, b"<p>1")


def test_a_table_with_bad_rows_has_the_others(tmp_path: Path) -> None:
    rows = "('http://a.example/', 'x'), ('mailto:a', 'y'), ('http://b.example/', NULL)"
    (batch,) = only(write_table(tmp_path / "pages.parquet", rows, "url, body")).read()
    assert [one.request.url for one in batch.responses] == ["http://a.example/"]
    assert [damage.position for damage in batch.damages] == [1]


def test_a_table_without_pages_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", "('http://a.example/', 1)", "url, status")
    with pytest.raises(SettingError, match="columns url and body"):
        sources_of(str(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"no table")
    with pytest.raises(SettingError, match="a Parquet file"):
        sources_of(str(tmp_path / "b.parquet"))


def crawled(record: Callable[[Path, int], Recorded], folder: Path) -> tuple[Path, list[str]]:
    """A crawl that nobody has open any more, and its URLs."""
    recorded = record(folder / "job", 1_000)
    return recorded.directory.path, recorded.urls


def test_crawls_are_read(record: Callable[[Path, int], Recorded], tmp_path: Path) -> None:
    directory, urls = crawled(record, tmp_path)
    assert_it_goes_on_anywhere(only(directory), urls)


def test_a_crawl_that_is_running_is_refused(recorded: Recorded) -> None:
    with pytest.raises(JobInUse):
        sources_of(str(recorded.directory.path))


def test_nothing_is_no_source(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SettingError, match="WARC"):
            sources_of(str(name))


def parse(*arguments: object) -> int:
    return cli.main(["parse", *map(str, arguments)])


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_pages_are_parsed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, out = write_warc(tmp_path / "a.warc.gz", URLS), tmp_path / "out.jsonl"
    assert parse(archive, "-o", out, "--dir", tmp_path / "parse", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pages"] == len(URLS)
    found = rows(out)
    assert [row["url"] for row in found] == URLS
    assert found[7]["title"] == URLS[7]
    assert found[7]["links"] == ["http://a.example/next"]


def test_links_are_looked_for_where_an_output_has_them(tmp_path: Path) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:1])

    def links(*fields: str) -> list[object]:
        chosen, out = ["url", "main_text", *fields], tmp_path / f"{len(fields)}.jsonl"
        assert (
            parse(archive, "-o", out, "--set", f"store.fields={json.dumps(chosen)}", "--dir", out.with_suffix(""))
            == 0
        )
        (row,) = rows(out)
        return [row[name] for name in fields]

    assert links() == []
    assert links("link_count", "links") == [1, ["http://a.example/next"]]
    # The path that reads no tree, and counts nothing where nothing is looked for.
    parser = _core.Parser(make_job({"seeds": [URLS[0]]}), links=False)
    (batch,) = only(archive).read()
    (outcome,) = parser.parse(batch.responses)
    assert outcome.links == []
    assert outcome.title == URLS[0]


def test_a_run_that_is_done_adds_nothing(tmp_path: Path) -> None:
    archive, out = write_warc(tmp_path / "a.warc.gz", URLS[:5]), tmp_path / "out.jsonl"
    for _ in range(2):
        assert parse(archive, "-o", out, "--dir", tmp_path / "parse") == 0
        assert [row["url"] for row in rows(out)] == URLS[:5]


def test_more_sources_may_follow_and_changed_ones_are_told(tmp_path: Path) -> None:
    first, out = write_warc(tmp_path / "a.warc.gz", URLS[:5]), tmp_path / "out.jsonl"
    second = write_warc(tmp_path / "b.warc.gz", URLS[5:9])
    assert parse(first, "-o", out, "--dir", tmp_path / "parse") == 0
    assert parse(first, second, "-o", out, "--dir", tmp_path / "parse") == 0
    assert [row["url"] for row in rows(out)] == URLS[:9]
    write_warc(first, URLS[:6])
    assert parse(first, second, "-o", out, "--dir", tmp_path / "parse") == 2
    assert [row["url"] for row in rows(out)] == URLS[:9]
    assert parse(first, second, "-o", out, "--dir", tmp_path / "parse", "--fresh") == 0
    assert [row["url"] for row in rows(out)] == [*URLS[:6], *URLS[5:9]]


def test_an_output_that_commits_after_each_batch_has_each_page(tmp_path: Path) -> None:
    plain = gzip.decompress(write_warc(tmp_path / "a.warc.gz", URLS).read_bytes())
    archive, folder = tmp_path / "plain.warc", tmp_path / "files"
    archive.write_bytes(plain)
    assert parse(archive, "-o", f"{folder.as_uri()}/?format=jsonl&size=1000", "--dir", tmp_path / "parse") == 0
    found = [row["url"] for file in sorted(folder.glob("*.jsonl")) for row in rows(file)]
    assert found == URLS


def test_a_second_output_gets_what_the_first_one_has(tmp_path: Path) -> None:
    first = write_warc(tmp_path / "a.warc.gz", URLS[:700])
    second = write_warc(tmp_path / "b.warc.gz", URLS[700:])
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    arguments = ("--set", "parse.threads=8", "--dir", tmp_path / "parse")
    assert parse(first, "-o", one, *arguments) == 0
    assert parse(first, second, "-o", one, "-o", two, *arguments) == 0
    for path in (one, two):
        assert [row["url"] for row in rows(path)] == URLS


def test_positions_of_other_batches_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, out = write_warc(tmp_path / "a.warc.gz", URLS[:5]), tmp_path / "out.jsonl"
    assert parse(archive, "-o", out, "--dir", tmp_path / "parse") == 0
    state = tmp_path / "parse" / "parse.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"version": 1}))
    assert parse(archive, "-o", out, "--dir", tmp_path / "parse") == 2
    assert "--fresh" in capsys.readouterr().err
    assert parse(archive, "-o", out, "--dir", tmp_path / "parse", "--fresh") == 0


def test_what_was_not_read_is_told_by_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, out = write_warc(tmp_path / "a.warc.gz", URLS[:30], cut=100), tmp_path / "pages.jsonl"
    other = write_warc(tmp_path / "b.warc.gz", URLS[30:60])
    for sources in ([archive], [archive], [archive, other]):
        assert parse(*sources, "-o", out, "--dir", tmp_path / "parse") == 1
        assert capsys.readouterr().err.count(f"{archive}: at ") == 1
    assert len(rows(out)) == 59
    write_warc(archive, URLS[:30])
    assert parse(archive, "-o", out, "--dir", tmp_path / "parse", "--fresh") == 0


def test_a_command_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    archive, other = write_warc(tmp_path / "a.warc.gz", URLS[:3]), write_warc(tmp_path / "b.warc.gz", URLS[3:6])
    out, folder = tmp_path / "pages.jsonl", tmp_path / "parse"
    assert parse(archive, "-o", out, "--dir", folder) == 0
    assert parse(archive, other, "-o", tmp_path / "pages.exe", "--dir", folder) == 2
    assert parse(archive, "-o", tmp_path / "pages.exe", "--dir", folder, "--fresh") == 2
    assert parse(archive, "-o", out, "--dir", folder) == 0
    assert len(rows(out)) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{}/pages.jsonl", "{}/folder/../pages.jsonl"),
        ("{}/pages.parquet", "{}/folder/../pages.parquet"),
        ("{}/pages.sqlite", "sqlite://{}/link/pages.sqlite?table=other"),
        ("{}/folder/", "{}/link/folder/"),
        ("{}/folder/", "file://{}/folder/?format=parquet"),
        ("file://{}/folder/?format=jsonl", "file://{}/link/folder?format=parquet&size=9"),
        ("delta://{}/folder", "delta://{}/link/folder"),
        ("s3://bucket/pages?format=jsonl", "S3://bucket/pages/?size=9"),
        ("postgresql://me@host/name", "postgres://me@host/name?table=pages"),
        ("grpc://HOST:1/a", "grpc://host:1/a"),
    ],
)
def test_an_output_in_two_spellings_is_one(
    one: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:3])
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    outputs = ("-o", one.format(tmp_path), "-o", other.format(tmp_path))
    assert parse(archive, *outputs, "--dir", tmp_path / "parse") == 2
    assert "each output once" in capsys.readouterr().err


@pytest.mark.parametrize(("source", "output"), [("0-1.parquet", "{}/"), ("a.warc.gz", "file://{}/?format=warc.gz")])
def test_what_is_read_is_not_in_an_output(source: str, output: str, tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    read = folder / source
    if source.endswith(".parquet"):
        write_table(read, "('http://a.example/', '<title>A')", "url, body")
    else:
        write_warc(read, URLS[:3])
    for more in ([], ["--fresh"]):
        assert parse(read, "-o", output.format(folder), "--dir", tmp_path / "parse", *more) == 2
    assert read.is_file()


def test_an_output_that_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    """As a process leaves it that is killed before its first commit."""
    archive, folder = write_warc(tmp_path / "a.warc.gz", URLS[:3]), tmp_path / "pages"
    script = f"""
import os
from lycosa import cli
from lycosa.store.parquet import ParquetSink

ParquetSink.commit = lambda sink, position: os._exit(9)
cli.main(["parse", {str(archive)!r}, "-o", "{folder}/", "--dir", {str(tmp_path / "parse")!r}])
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    assert any(folder.iterdir())
    assert parse(archive, "-o", f"{folder}/", "--dir", tmp_path / "parse") == 0
    assert duckdb.execute(f"SELECT count(*) FROM '{folder}/*.parquet'").fetchall() == [(3,)]  # noqa: S608


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("sqlite://{}/t.db?table=temp.pages", "a table's name"),
        ("duckdb://{}/t.db?table=t.pages", "a table's name"),
        ("sqlite://{}/t.db?table=lycosa_outputs", "not lycosa_outputs"),
        ("sqlite://{}/t.db?tabel=x", "?table= only"),
        ("sqlite://{}/none/t.db", "a directory that exists"),
        ("{}/parse/damages.jsonl", "another file"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written(
    output: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:3])
    assert parse(archive, "-o", output.format(tmp_path), "--dir", tmp_path / "parse") == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "parse" / "parse.json").exists()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_may_have_the_name_of_a_word_of_sql(kind: str, tmp_path: Path) -> None:
    archive, output = write_warc(tmp_path / "a.warc.gz", URLS[:3]), f"{kind}://{tmp_path}/t.db?table=order"
    for _ in range(2):
        assert parse(archive, "-o", output, "--dir", tmp_path / "parse") == 0
    assert parse(archive, "-o", output, "--dir", tmp_path / "parse", "--fresh") == 0


@pytest.mark.parametrize("end", ["duckdb", "sqlite", "csv", "wacz", "arrows"])
def test_a_folder_may_have_files_of_any_kind(end: str, tmp_path: Path) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:3])
    assert parse(archive, "-o", f"file://{tmp_path}/pages/?format={end}", "--dir", tmp_path / "parse") == 0
    assert len([path for path in (tmp_path / "pages").iterdir() if path.name.endswith(f".{end}")]) == 1


def test_a_directory_that_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, folder = write_warc(tmp_path / "a.warc.gz", URLS[:3]), tmp_path / "parse"
    assert parse(archive, "-o", tmp_path / "a.jsonl", "--dir", archive) == 2
    assert parse(archive, "-o", tmp_path / "a.jsonl", "--dir", folder) == 0
    (folder / "parse.json").write_bytes(b"")
    assert parse(archive, "-o", tmp_path / "a.jsonl", "--dir", folder) == 2
    assert "--fresh parses all again" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "connect"), [("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)])
def test_a_file_has_tables_of_several_runs(kind: str, connect: Callable[[Path], Any], tmp_path: Path) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:3])
    one, two = (f"{kind}://{tmp_path}/my%20pages.db?table={name}" for name in ("one", "two"))
    assert parse(archive, "-o", one, "-o", two, "--dir", tmp_path / "parse") == 2
    for number, output in enumerate((one, two)):
        assert parse(archive, "-o", output, "--dir", tmp_path / f"parse-{number}") == 0
    with contextlib.closing(connect(tmp_path / "my pages.db")) as connection:
        for table in ("one", "two"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (3,)  # noqa: S608


def test_what_is_read_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = write_warc(tmp_path / "a.warc.gz", URLS[:5])
    before = archive.read_bytes()
    assert parse(archive, "-o", archive, "--dir", tmp_path / "parse", "--fresh") == 2
    assert "another file or directory than what is read" in capsys.readouterr().err
    assert archive.read_bytes() == before


def test_nothing_is_removed_before_all_outputs_are_checked(tmp_path: Path) -> None:
    archive, kept = write_warc(tmp_path / "a.warc.gz", URLS[:5]), tmp_path / "kept.jsonl"
    assert parse(archive, "-o", kept, "--dir", tmp_path / "parse") == 0
    before = kept.read_bytes()
    bad = tmp_path / "missing" / "folder" / "x.jsonl"
    assert parse(archive, "-o", kept, "-o", bad, "--dir", tmp_path / "parse", "--fresh") == 2
    assert kept.read_bytes() == before


def test_a_record_without_http_is_told(tmp_path: Path) -> None:
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: 5\r\n\r\n"
    (tmp_path / "a.warc").write_bytes(head + b"hello\r\n\r\n")
    (batch,) = only(tmp_path / "a.warc").read()
    assert [damage.text for damage in batch.damages] == ["it has no HTTP response"]


def test_a_crawl_is_parsed_again(record: Callable[[Path, int], Recorded], tmp_path: Path) -> None:
    directory, urls = crawled(record, tmp_path)
    out = tmp_path / "out.jsonl"
    assert parse(directory, "-o", out, "--dir", tmp_path / "parse") == 0
    assert [row["url"] for row in rows(out)] == urls


def lines(path: Path) -> Path:
    path.write_text("# seeds\nhttp://a.example/1\n\nhttp://a.example/2 \nhttp://a.example/1\n", encoding="utf-8")
    return path


def index(path: Path) -> Path:
    text = 'example,a)/1 2026 {"url": "http://a.example/1"}\nx 2026 {broken\n'
    text += "example,a)/2 2026 http://a.example/2 text/html 200 - - - 9 f\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("seeds.txt", lines),
        ("index.cdxj", index),
        ("index.cdxj.gz", index),
        ("a.warc.gz", lambda path: write_warc(path, ["http://a.example/1", "http://a.example/2"])),
    ],
)
def test_seeds_of_files(tmp_path: Path, name: str, write: Callable[[Path], Path]) -> None:
    assert seeds_of(str(write(tmp_path / name))) == ["http://a.example/1", "http://a.example/2"]


def test_bad_seeds_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("http://a.example/\nmailto:a\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"seeds\.txt, line 2"):
        seeds_of(str(path))
    for content in (b"\xff\xfe", b"# nothing\n"):
        path.write_bytes(content)
        with pytest.raises(SettingError, match="--seeds"):
            seeds_of(str(path))
    with pytest.raises(SettingError, match="--seeds"):
        seeds_of(str(tmp_path / "missing"))
