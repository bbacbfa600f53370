"""Outputs whose writer is killed between two commits: each row is there once, as a foreign program reads it."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NamedTuple

import boto3
import duckdb
import pyarrow.ipc
import pytest
from deltalake import DeltaTable
from lycosa import _core, cli
from lycosa.errors import SettingError, StorageError
from lycosa.job import make_job
from lycosa.sink import Sink, SinkJob
from lycosa.sources import WarcSource
from lycosa.store.directory import JobDirectory
from lycosa.store.outputs import sink_of
from moto.server import ThreadedMotoServer
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from .conftest import Recorded

#: Of warcio.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

FIELDS = ("url", "status", "fetched_at", "title", "body")


@pytest.fixture(scope="module")
def object_store() -> Iterator[str]:
    """The address of an object store with the bucket ``pages``."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ACCESS_KEY_ID", "test"), ("SECRET_ACCESS_KEY", "test"), ("REGION", "us-east-1")):
            patch.setenv(f"AWS_{name}", value)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        try:
            address = "http://{}:{}".format(*server.get_host_and_port())
            boto3.client("s3", endpoint_url=address, region_name="us-east-1").create_bucket(Bucket="pages")
            yield address
        finally:
            server.stop()


def read_jsonl(text: bytes) -> list[str]:
    return [json.loads(line)["url"] for line in text.splitlines()]


def read_csv(text: bytes) -> list[str]:
    return [row["url"] for row in csv.DictReader(io.StringIO(text.decode(), newline=""))]


def ask(query: str) -> list[str]:
    return [url for (url,) in duckdb.execute(query).fetchall()]


def read_duckdb(path: Path) -> list[str]:
    with duckdb.connect(path, read_only=True) as connection:
        return [url for (url,) in connection.execute("SELECT url FROM pages").fetchall()]


def read_sqlite(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [url for (url,) in connection.execute("SELECT url FROM pages")]


def read_delta(path: Path) -> list[str]:
    return [str(url) for url in DeltaTable(path).to_pyarrow_table(columns=["url"])["url"].to_pylist()]


def read_arrow(path: Path) -> list[str]:
    with pyarrow.ipc.open_stream(path.read_bytes()) as stream:
        return [str(url) for url in stream.read_all()["url"].to_pylist()]


def read_warc(file: IO[bytes]) -> list[str]:
    records = [record for record in ArchiveIterator(file) if record.rec_type == "response"]
    return [record.rec_headers.get_header("WARC-Target-URI") for record in records]


def read_wacz(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive, archive.open("archive/data.warc.gz") as file:
        return read_warc(file)


READERS: dict[str, Callable[[Path], list[str]]] = {
    "pages.jsonl": lambda path: read_jsonl(path.read_bytes()),
    "pages.jsonl.gz": lambda path: read_jsonl(gzip.decompress(path.read_bytes())),
    "pages.jsonl.zst": lambda path: ask(f"SELECT url FROM read_json('{path}', maximum_object_size = 10_000_000)"),
    "pages.csv": lambda path: read_csv(path.read_bytes()),
    "pages.csv.gz": lambda path: read_csv(gzip.decompress(path.read_bytes())),
    "pages.parquet": lambda path: ask(f"SELECT url FROM '{path}'"),
    "pages.arrows": read_arrow,
    "pages.sqlite": read_sqlite,
    "pages.duckdb": read_duckdb,
    "pages.warc.gz": lambda path: read_warc(path.open("rb")),
    "pages.wacz": read_wacz,
}


class Work(NamedTuple):
    """What a writer writes: an output, of a log."""

    output: str
    folder: Path
    first: int
    end: int


def work(output: str, recorded: Recorded) -> Work:
    """Write all of a log."""
    return Work(output, recorded.directory.path, recorded.positions[0], recorded.log.end())


def opened(work: Work, *, is_ours: bool) -> tuple[Sink, int]:
    """A sink that goes on from its position."""
    sink = sink_of(work.output)
    sink.attach(SinkJob("job-1", JobDirectory(work.folder).sinks, Path(work.output).name, FIELDS))
    sink.check(fresh=False, is_ours=is_ours)
    return sink, sink.open(work.first, work.end)


def write_from(sink: Sink, work: Work, position: int, commits: int) -> None:
    """Write the log from a position on; so many batches are committed, and what follows them is not."""
    reader = _core.LogReader(JobDirectory(work.folder).log, position or None)
    while rows := reader.read(10, 1 << 20):
        sink.write(rows.rows(), reader.position())
        if commits > 0:
            sink.commit(reader.position())
        commits -= 1


def write_and_be_killed(work: Work, commits: int) -> None:
    """Write in a process that ends at once, and closes nothing."""
    sink, position = opened(work, is_ours=commits > 1)
    write_from(sink, work, position, commits)
    os.kill(os.getpid(), signal.SIGKILL)


def write_in_three(output: str, recorded: Recorded) -> None:
    """Write an output by three writers, the first two of which are killed."""
    task = work(output, recorded)
    for commits in (1, 2):
        writer = get_context("spawn").Process(target=write_and_be_killed, args=(task, commits))
        writer.start()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
    sink, position = opened(task, is_ours=True)
    assert 0 < position < task.end
    write_from(sink, task, position, commits=1_000)
    sink.commit(task.end)
    sink.close()


@pytest.mark.parametrize("name", READERS)
def test_a_killed_writer_writes_each_row_once(name: str, recorded: Recorded, tmp_path: Path) -> None:
    output = tmp_path / name
    write_in_three(str(output), recorded)
    assert sorted(READERS[name](output)) == sorted(recorded.urls)


def test_a_table_of_delta_has_each_row_once(recorded: Recorded, tmp_path: Path) -> None:
    write_in_three(f"delta://{tmp_path}/pages", recorded)
    assert sorted(read_delta(tmp_path / "pages")) == sorted(recorded.urls)


def test_a_table_of_delta_in_an_object_store_has_each_row_once(
    recorded: Recorded, object_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", object_store)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    name = recorded.directory.path.parent.name
    write_in_three(f"delta+s3://pages/{name}", recorded)
    table = DeltaTable(f"s3://pages/{name}").to_pyarrow_table(columns=["url"])
    assert sorted(table["url"].to_pylist()) == sorted(recorded.urls)


@pytest.mark.parametrize("end", ["parquet", "jsonl.gz"])
def test_objects_that_no_manifest_names_are_none(end: str, recorded: Recorded, object_store: str) -> None:
    prefix = f"{recorded.directory.path.parent.name}-{end}"
    output = f"s3://pages/{prefix}/?format={end}&endpoint={object_store}"
    write_in_three(output, recorded)
    client = boto3.client("s3", endpoint_url=object_store, region_name="us-east-1")
    objects = client.list_objects_v2(Bucket="pages", Prefix=f"{prefix}/")["Contents"]
    urls: list[str] = []
    for item in objects:
        body = client.get_object(Bucket="pages", Key=item["Key"])["Body"].read()
        if item["Key"].endswith("_lycosa.json"):
            named = {f"{prefix}/{part['name']}" for part in json.loads(body)["objects"]}
            assert named == {other["Key"] for other in objects} - {item["Key"]}
            continue
        file = recorded.directory.path / Path(item["Key"]).name
        file.write_bytes(body)
        urls += READERS[f"pages.{end}"](file)
    assert sorted(urls) == sorted(recorded.urls)


def test_a_folder_has_files_of_a_size(recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "archives" / "of a crawl"
    write_in_three(f"{folder.as_uri()}/?format=warc.gz&size=2000&seconds=3600", recorded)
    parts = json.loads((folder / "_lycosa.json").read_text())["objects"]
    archives = [folder / part["name"] for part in parts if part["name"].endswith(".warc.gz")]
    assert len(archives) > 2
    assert {path.name for path in folder.iterdir()} == {"_lycosa.json"} | {part["name"] for part in parts}
    assert sorted(url for path in archives for url in READERS["pages.warc.gz"](path)) == sorted(recorded.urls)


def archived(times: dict[str, datetime], path: Path) -> Path:
    """An archive of pages that were fetched at these times."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        for url, time in times.items():
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            date = {"WARC-Date": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
            page = io.BytesIO(b"<title>A page</title>")
            record = writer.create_warc_record(
                url, "response", payload=page, http_headers=head, warc_headers_dict=date
            )
            writer.write_record(record)
    return path


@pytest.mark.parametrize("end", ["parquet", "jsonl", "warc.gz"])
def test_partitions_may_be_more_than_files_that_may_be_open(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of 40 days in each of three batches, while at most 7 days have a file that is open."""
    monkeypatch.setattr("lycosa.store.objects.OPEN", 7)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = {f"http://a.example/{number}": begin + timedelta(days=number % 40) for number in range(1_200)}
    archive, folder = archived(times, tmp_path / "a.warc"), tmp_path / "days"
    output = f"{folder.as_uri()}/?format={end}&partition=day"
    assert cli.main(["parse", str(archive), "-o", output, "--dir", str(tmp_path / "parse")]) == 0
    days = [path for path in folder.iterdir() if path.is_dir()]
    assert len(days) == 40
    found = {
        day.name: [url for path in day.glob(f"*.{end}") for url in READERS[f"pages.{end}"](path)] for day in days
    }
    for url, time in times.items():
        assert found[f"fetched_day={time.date()}"].count(url) == 1
    assert sum(map(len, found.values())) == 1_200
    named = {part["name"] for part in json.loads((folder / "_lycosa.json").read_text())["objects"]}
    assert named == {path.relative_to(folder).as_posix() for day in days for path in day.iterdir()}


def test_days_need_no_data_base_of_time_zones(tmp_path: Path) -> None:
    """As in a small container: a name space of its own has an empty directory there."""
    archive = archived({"http://a.example/": datetime(2026, 1, 1, tzinfo=UTC)}, tmp_path / "a.warc")
    output = f"{(tmp_path / 'days').as_uri()}/?format=jsonl&partition=day"
    command = [sys.executable, "-m", "lycosa", "parse", archive, "-o", output, "--dir", tmp_path / "parse"]
    line = f"mount -t tmpfs none /usr/share/zoneinfo && {shlex.join(map(str, command))}"
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    ran = subprocess.run([*unshare, "sh", "-c", line], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "days" / "fetched_day=2026-01-01").is_dir()


@pytest.mark.parametrize("end", ["parquet", "jsonl"])
def test_partitions_are_a_column_of_foreign_readers(end: str, tmp_path: Path) -> None:
    """Rows of two days, in two commits; the second writer goes on behind the first."""
    begin = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
    times = {f"http://a.example/{number}": begin + timedelta(hours=number) for number in range(48)}
    folder = tmp_path / "pages"

    def write(urls: list[str], position: int) -> None:
        sink = sink_of(f"{folder.as_uri()}/?format={end}&partition=day")
        sink.attach(SinkJob("job-1", tmp_path / "sinks", "pages", ("url", "fetched_at")))
        sink.check(fresh=False, is_ours=position > 1)
        assert sink.open(0, 10) == position - 1
        (batch,) = WarcSource(archived({url: times[url] for url in urls}, tmp_path / "a.warc")).read()
        sink.write(_core.Parser(make_job({"seeds": urls[:1]})).parse(batch.responses), position)
        sink.commit(position)
        sink.close()

    urls = list(times)
    write(urls[:30], 1)
    write(urls[30:], 2)
    reader = "read_parquet" if end == "parquet" else "read_json"
    files = f"{reader}('{folder}/*/*', hive_partitioning = true)"
    rows = duckdb.execute(f"SELECT url, fetched_day::VARCHAR FROM {files} ORDER BY fetched_at").fetchall()
    days = [time.date().isoformat() for time in times.values()]
    assert rows == list(zip(urls, days, strict=True))
    assert len(set(days)) == 3
    with pytest.raises(SettingError, match="partition=day only"):
        sink_of(f"{folder.as_uri()}/?format={end}&partition=host")


@pytest.mark.parametrize("more", ["size=none", "size=0", "colour=red"])
def test_what_an_object_store_is_told_is_looked_at(more: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        sink_of(f"{tmp_path.as_uri()}/?format=warc.gz&{more}")


def test_others_objects_are_left_alone(recorded: Recorded, object_store: str) -> None:
    client = boto3.client("s3", endpoint_url=object_store, region_name="us-east-1")
    client.put_object(Bucket="pages", Key="mine/letter.txt", Body=b"x")
    task = work(f"s3://pages/mine/?endpoint={object_store}", recorded)
    for fresh in (False, True):
        sink = sink_of(task.output)
        sink.attach(SinkJob("job-1", JobDirectory(task.folder).sinks, "mine", FIELDS))
        with pytest.raises(SettingError, match="a prefix without objects"):
            sink.check(fresh=fresh, is_ours=False)
    opened(task, is_ours=True)
    assert client.get_object(Bucket="pages", Key="mine/letter.txt")["Body"].read() == b"x"
    with pytest.raises(StorageError, match="404"):
        opened(work(f"s3://other/?endpoint={object_store}", recorded), is_ours=False)


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:s3cret@pages/x/",
        "s3://pages/x/?endpoint=http://key:s3cret@127.0.0.1:9000",
        "delta+s3://pages/x?secret_access_key=s3cret",
        "postgresql://me:s3cret@127.0.0.1/pages",
        "postgresql://127.0.0.1/pages?password=s3cret",
        "postgresql://me:pa#s3cret@127.0.0.1/pages",
    ],
)
def test_secrets_in_urls_are_refused_and_not_told(url: str) -> None:
    with pytest.raises(SettingError, match="without secrets") as refused:
        sink_of(url)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("name", ["pages.sqlite", "pages.duckdb", "a#b %20.db"])
def test_tables_of_others_are_left_alone(name: str, recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / name
    connection = duckdb.connect(path) if name.endswith(".duckdb") else sqlite3.connect(path)
    connection.execute("CREATE TABLE pages (mine TEXT)")
    connection.commit()
    connection.close()
    for fresh in (False, True):
        sink = sink_of(str(path))
        sink.attach(SinkJob("job-1", JobDirectory(recorded.directory.path).sinks, "pages", FIELDS))
        with pytest.raises(SettingError, match="is not Lycosa's"):
            sink.check(fresh=fresh, is_ours=False)


def test_a_table_of_another_crawl_is_replaced_only_by_fresh(recorded: Recorded, tmp_path: Path) -> None:
    write_in_three(str(tmp_path / "pages.sqlite"), recorded)
    sink = sink_of(str(tmp_path / "pages.sqlite"))
    sink.attach(SinkJob("job-2", JobDirectory(recorded.directory.path).sinks, "pages", FIELDS))
    with pytest.raises(SettingError, match="fresh, to replace"):
        sink.check(fresh=False, is_ours=False)
    sink.check(fresh=True, is_ours=False)


def test_an_archive_that_was_taken_apart_in_part_is_whole(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "pages.wacz"
    write_in_three(str(output), recorded)

    def torn(source: IO[bytes], into: IO[bytes], size: int) -> None:
        into.write(source.read(1_000))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", torn)
        with pytest.raises(OSError, match="No space"):
            opened(work(str(output), recorded), is_ours=True)
    sink, position = opened(work(str(output), recorded), is_ours=True)
    assert position == recorded.log.end()
    sink.close()
    assert sorted(READERS["pages.wacz"](output)) == sorted(recorded.urls)
