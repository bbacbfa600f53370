"""All outputs at once, in a crawl that is killed again and again: each row once, as foreign readers see it."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import duckdb
import psycopg
import pyarrow
import pytest
from deltalake import DeltaTable
from lycosa.simnet import SimulatedInternet
from moto.server import ThreadedMotoServer
from warcio.archiveiterator import ArchiveIterator

from benchmarks.ports import free_port
from tests.crawl.killed import judge_killed
from tests.dispatch.postgres import Postgres

SLOTS = 8

#: Bytes that an output may be behind the log, where one hangs.
BEHIND = 1 << 20

#: Outputs in files.
FILES = (
    "pages.jsonl",
    "pages.jsonl.gz",
    "pages.jsonl.zst",
    "pages.csv",
    "pages.parquet",
    "pages.arrows",
    "pages.sqlite",
    "pages.duckdb",
    "pages.warc.gz",
    "pages.warc.zst",
    "pages.wacz",
)


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


class ObjectStore:
    """An object store with the bucket ``pages``; what it has outlasts its server."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()
        client(self.address).create_bucket(Bucket="pages")

    def start(self) -> None:
        """Serve."""
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        """Serve no longer."""
        self._server.stop()


@pytest.fixture(scope="module")
def object_store() -> Iterator[ObjectStore]:
    store = ObjectStore()
    try:
        yield store
    finally:
        store.stop()


#: What programs that ask the object store find in their environment.
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def client(address: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)


def start(
    job: Path, folder: Path, outputs: list[str], server: Postgres, settings: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a session of the crawl."""
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder / "job"), "--quiet"]
    command += [word for output in outputs for word in ("-o", output)]
    fields = 'store.fields=["url","status","fetched_at","title","body"]'
    for setting in (f"fetch.slots={SLOTS}", fields, *settings):
        command += ["--set", setting]
    secret = folder / "pgpass"
    if not secret.exists():
        secret.touch(0o600)
        secret.write_text(f"127.0.0.1:{server.port}:*:*:{server.password}\n")
    return subprocess.Popen(command, env={**os.environ, **KEYS, "PGPASSFILE": str(secret)})


def responses_in(file: Any) -> list[str]:
    """The URLs of an archive's responses."""
    kinds = ("response", "revisit")
    records = [record for record in ArchiveIterator(file) if record.rec_type in kinds]
    return [record.rec_headers.get_header("WARC-Target-URI") for record in records]


def urls_of(name: str, path: Path) -> list[str]:
    """The URLs of a file, as a foreign reader finds them."""
    if name.endswith((".jsonl.gz", ".jsonl")):
        text = path.read_bytes()
        text = gzip.decompress(text) if name.endswith(".gz") else text
        return [json.loads(line)["url"] for line in text.splitlines()]
    if name.endswith(".csv"):
        csv.field_size_limit(1 << 30)
        with path.open(newline="", encoding="utf-8") as file:
            return [row["url"] for row in csv.DictReader(file)]
    if name.endswith(".sqlite"):
        with sqlite3.connect(path) as connection:
            return [url for (url,) in connection.execute("SELECT url FROM pages")]
    if name.endswith(".duckdb"):
        with duckdb.connect(path, read_only=True) as connection:
            return [url for (url,) in connection.execute("SELECT url FROM pages").fetchall()]
    if name.endswith(".arrows"):
        with pyarrow.ipc.open_stream(pyarrow.OSFile(str(path))) as batches:
            return list(batches.read_all()["url"].to_pylist())
    if name.endswith(".warc.gz"):
        with path.open("rb") as file:
            return responses_in(file)
    if name.endswith(".warc.zst"):
        return responses_in(pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd"))
    if name.endswith(".wacz"):
        with zipfile.ZipFile(path) as archive, archive.open("archive/data.warc.gz") as file:
            return responses_in(file)
    source = f"read_json('{path}', maximum_object_size = 100_000_000)" if ".jsonl" in name else f"'{path}'"
    return [url for (url,) in duckdb.execute(f"SELECT url FROM {source}").fetchall()]  # noqa: S608


def objects_of(address: str, prefix: str) -> list[str]:
    """The URLs in the objects that the manifest names."""
    store = client(address)
    manifest = json.loads(store.get_object(Bucket="pages", Key=f"{prefix}/_lycosa.json")["Body"].read())
    found: list[str] = []
    for part in manifest["objects"]:
        body = store.get_object(Bucket="pages", Key=f"{prefix}/{part['name']}")["Body"].read()
        found += [json.loads(line)["url"] for line in gzip.decompress(body).splitlines()]
    return found


@pytest.mark.timeout(900)
def test_every_output_has_each_row_once_whatever_is_killed(
    database: Postgres, object_store: ObjectStore, tmp_path: Path
) -> None:
    name, moments = database.new_database(), random.Random(3)  # noqa: S311
    table = f"{database.url(name, with_password=False)}?table=pages"
    bucket = f"s3://pages/crawl/?format=jsonl.gz&endpoint={object_store.address}"
    days = f"file://{tmp_path}/days/?partition=day&size=50000"
    outputs = [*(str(tmp_path / file) for file in FILES), table, bucket, days, f"delta://{tmp_path}/delta"]
    with SimulatedInternet(hosts=60, pages=15, seed=3, speed=20) as net:
        job, kills = net.job_file(), 0
        for _ in range(6):
            process = start(job, tmp_path, outputs, database)
            time.sleep(moments.uniform(1.0, 4.0))
            process.kill()
            kills += process.wait() == -signal.SIGKILL
        assert start(job, tmp_path, outputs, database).wait(timeout=600) == 0
        ledger = net.report()
    assert kills > 3, "the crawl is long enough to be killed in"
    # Requests in flight, and answers that no other site's had confirmed yet: a captive portal gives all the same.
    rows = judge_killed(ledger, tmp_path / "pages.jsonl", kills * 2 * SLOTS)
    urls, answered = sorted(row["url"] for row in rows), sorted(row["url"] for row in rows if row["status"])
    for file in FILES:
        expected = answered if ".wa" in file else urls
        assert sorted(urls_of(file, tmp_path / file)) == expected, file
    with psycopg.connect(database.url(name)) as connection:
        found = [url for (url,) in connection.execute("SELECT url FROM pages").fetchall()]
    assert sorted(found) == urls
    assert sorted(DeltaTable(tmp_path / "delta").to_pyarrow_table(columns=["url"])["url"].to_pylist()) == urls
    assert sorted(objects_of(object_store.address, "crawl")) == urls
    assert sorted(urls_of("days", tmp_path / "days" / "fetched_day=*" / "*.parquet")) == urls


def rows_of(path: Path) -> list[str]:
    """The URLs of JSON lines, of which each is there once."""
    urls = [json.loads(line)["url"] for line in path.read_text().splitlines()]
    assert len(set(urls)) == len(urls) > 100
    return sorted(urls)


def table_of(server: Postgres, name: str) -> list[str]:
    """The URLs of the table."""
    with psycopg.connect(server.url(name)) as connection:
        return sorted(url for (url,) in connection.execute("SELECT url FROM pages").fetchall())


@pytest.mark.timeout(600)
def test_a_database_that_is_restarted_is_waited_for(database: Postgres, tmp_path: Path) -> None:
    name = database.new_database()
    table = f"{database.url(name, with_password=False)}?table=pages"
    with SimulatedInternet(hosts=40, pages=20, seed=5, speed=25) as net:
        process = start(net.job_file(), tmp_path, [str(tmp_path / "pages.jsonl"), table], database)
        time.sleep(3)
        database.restart(pause=3)
        assert process.wait(timeout=500) == 0
    assert table_of(database, name) == rows_of(tmp_path / "pages.jsonl")


@pytest.mark.timeout(600)
def test_an_object_store_that_is_away_is_waited_for(
    database: Postgres, object_store: ObjectStore, tmp_path: Path
) -> None:
    bucket = f"s3://pages/away/?format=jsonl.gz&size=20000&seconds=1&endpoint={object_store.address}"
    with SimulatedInternet(hosts=40, pages=20, seed=5, speed=25) as net:
        process = start(net.job_file(), tmp_path, [str(tmp_path / "pages.jsonl"), bucket], database)
        time.sleep(3)
        object_store.stop()
        time.sleep(3)
        object_store.start()
        assert process.wait(timeout=500) == 0
    assert sorted(objects_of(object_store.address, "away")) == rows_of(tmp_path / "pages.jsonl")


def memory_of(process: subprocess.Popen[bytes]) -> int:
    """Resident bytes of a process."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def log_of(folder: Path) -> int:
    """Bytes of the log of a crawl."""
    return sum(path.stat().st_size for path in (folder / "job" / "log").glob("*.log"))


@pytest.mark.timeout(600)
def test_a_database_that_hangs_holds_the_crawl_and_costs_no_memory(database: Postgres, tmp_path: Path) -> None:
    name = database.new_database()
    table = f"{database.url(name, with_password=False)}?table=pages"
    outputs = [str(tmp_path / "pages.jsonl"), table]
    with SimulatedInternet(hosts=40, pages=20, seed=5, speed=40) as net:
        process = start(net.job_file(), tmp_path, outputs, database, [f"store.behind_bytes={BEHIND}"])
        until = time.monotonic() + 60
        while log_of(tmp_path) < BEHIND // 2:
            assert time.monotonic() < until
            time.sleep(0.02)
        with database.hanging():
            begin, sizes, memory = log_of(tmp_path), [0, log_of(tmp_path)], memory_of(process)
            while sizes[-1] > sizes[-2]:
                assert time.monotonic() < until
                time.sleep(2)
                sizes.append(log_of(tmp_path))
            time.sleep(3)
            # Requests that were in flight have ended; the end of a file of the log is written ahead.
            assert log_of(tmp_path) == sizes[-1] < begin + 3 * BEHIND
            assert process.poll() is None
            assert memory_of(process) < memory + (48 << 20)
        assert process.wait(timeout=500) == 0
    assert table_of(database, name) == rows_of(tmp_path / "pages.jsonl")
