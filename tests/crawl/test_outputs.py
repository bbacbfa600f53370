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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import duckdb
import psycopg
import pytest
from lycosa.simnet import SimulatedInternet
from moto.server import ThreadedMotoServer
from warcio.archiveiterator import ArchiveIterator

from tests.crawl.killed import judge_killed
from tests.dispatch.postgres import Postgres

SLOTS = 8

#: Outputs in files.
FILES = (
    "pages.jsonl",
    "pages.jsonl.gz",
    "pages.jsonl.zst",
    "pages.csv",
    "pages.parquet",
    "pages.sqlite",
    "pages.duckdb",
    "pages.warc.gz",
)


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(scope="module")
def object_store() -> Iterator[str]:
    """The address of an object store with the bucket ``pages``."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        client(address).create_bucket(Bucket="pages")
        yield address
    finally:
        server.stop()


#: What programs that ask the object store find in their environment.
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def client(address: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)


def start(job: Path, folder: Path, outputs: list[str], server: Postgres) -> subprocess.Popen[bytes]:
    """Start a session of the crawl."""
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder / "job"), "--quiet"]
    command += [word for output in outputs for word in ("-o", output)]
    for setting in (f"fetch.slots={SLOTS}", 'store.fields=["url","status","fetched_at","title","body"]'):
        command += ["--set", setting]
    secret = folder / "pgpass"
    if not secret.exists():
        secret.touch(0o600)
        secret.write_text(f"127.0.0.1:{server.port}:*:*:{server.password}\n")
    return subprocess.Popen(command, env={**os.environ, **KEYS, "PGPASSFILE": str(secret)})


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
    if name.endswith(".warc.gz"):
        with path.open("rb") as file:
            records = [record for record in ArchiveIterator(file) if record.rec_type == "response"]
        return [record.rec_headers.get_header("WARC-Target-URI") for record in records]
    source = f"read_json('{path}', maximum_object_size = 100_000_000)" if ".jsonl" in name else f"'{path}'"
    return [url for (url,) in duckdb.execute(f"SELECT url FROM {source}").fetchall()]  # noqa: S608


def objects_of(address: str) -> list[str]:
    """The URLs in the objects that the manifest names."""
    store = client(address)
    manifest = json.loads(store.get_object(Bucket="pages", Key="crawl/_lycosa.json")["Body"].read())
    found: list[str] = []
    for part in manifest["objects"]:
        body = store.get_object(Bucket="pages", Key=f"crawl/{part['name']}")["Body"].read()
        found += [json.loads(line)["url"] for line in gzip.decompress(body).splitlines()]
    return found


@pytest.mark.timeout(900)
def test_every_output_has_each_row_once_whatever_is_killed(
    database: Postgres, object_store: str, tmp_path: Path
) -> None:
    name, moments = database.new_database(), random.Random(3)  # noqa: S311
    table = f"{database.url(name, with_password=False)}?table=pages"
    bucket = f"s3://pages/crawl/?format=jsonl.gz&endpoint={object_store}"
    outputs = [*(str(tmp_path / file) for file in FILES), table, bucket]
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
    rows = judge_killed(ledger, tmp_path / "pages.jsonl", kills * SLOTS)
    urls, answered = sorted(row["url"] for row in rows), sorted(row["url"] for row in rows if row["status"])
    for file in FILES:
        expected = answered if ".warc" in file else urls
        assert sorted(urls_of(file, tmp_path / file)) == expected, file
    with psycopg.connect(database.url(name)) as connection:
        found = [url for (url,) in connection.execute("SELECT url FROM pages").fetchall()]
    assert sorted(found) == urls
    assert sorted(objects_of(object_store)) == urls


@pytest.mark.timeout(600)
def test_a_database_that_is_restarted_is_waited_for(database: Postgres, tmp_path: Path) -> None:
    name = database.new_database()
    table = f"{database.url(name, with_password=False)}?table=pages"
    with SimulatedInternet(hosts=40, pages=20, seed=5, speed=10) as net:
        process = start(net.job_file(), tmp_path, [str(tmp_path / "pages.jsonl"), table], database)
        time.sleep(3)
        database.restart(pause=3)
        assert process.wait(timeout=500) == 0
    rows = [json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    with psycopg.connect(database.url(name)) as connection:
        found = [url for (url,) in connection.execute("SELECT url FROM pages").fetchall()]
    assert sorted(found) == sorted(rows)
    assert len(set(rows)) == len(rows) > 100
