"""What else writes pages to archives, tables and databases: each from Python objects, as its documentation says."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A page as Python code has it."""

    url: str
    status: int
    title: str | None
    fields: Sequence[tuple[str, str]]
    body: bytes


Write = Callable[[Sequence[Row], Path], None]

#: At which archives are about as large as ours, which are made by another library; warcio has no choice but 9.
GZIP_LEVEL = 6

#: What a client of HTTP sends.
SENT = b"GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: bench\r\n\r\n"


def warcio(rows: Sequence[Row], path: Path) -> None:
    """Write responses and their requests, a member each."""
    headers = importlib.import_module("warcio.statusandheaders").StatusAndHeaders
    with path.open("wb") as file:
        writer = importlib.import_module("warcio.warcwriter").WARCWriter(file, gzip=True)
        for row in rows:
            head = headers(f"{row.status} OK", list(row.fields), protocol="HTTP/1.1")
            response = writer.create_warc_record(row.url, "response", payload=io.BytesIO(row.body), http_headers=head)
            asked = headers("GET / HTTP/1.1", [("Host", "a.example")], is_http_request=True)
            request = writer.create_warc_record(row.url, "request", payload=io.BytesIO(b""), http_headers=asked)
            writer.write_request_response_pair(request, response)


def fastwarc(rows: Sequence[Row], path: Path) -> None:
    """Write responses and their requests, a member each, which are about as small as ours."""
    warc = importlib.import_module("fastwarc.warc")
    stream = importlib.import_module("fastwarc").GzipWriter(str(path), compression_level=GZIP_LEVEL)
    for row in rows:
        head = "".join(f"{name}: {value}\r\n" for name, value in row.fields)
        message = f"HTTP/1.1 {row.status} OK\r\n{head}\r\n".encode() + row.body
        for kind, content in (("response", message), ("request", SENT)):
            record = warc.WarcRecord()
            record.init_headers(getattr(warc.WarcRecordType, kind))
            record.headers["WARC-Target-URI"] = row.url
            record.headers["Content-Type"] = f"application/http; msgtype={kind}"
            record.set_bytes_content(content)
            record.write(stream, checksum_data=True)
            stream.finish()
    stream.close()


def pyarrow(rows: Sequence[Row], path: Path) -> None:
    """Write a table of dicts."""
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    table = arrow.Table.from_pylist([_dict(row) for row in rows])
    parquet.write_table(table, path, compression="zstd")


def scrapy(rows: Sequence[Row], path: Path) -> None:
    """Write JSON lines by a feed's exporter."""
    exporters = importlib.import_module("scrapy.exporters")
    with path.open("wb") as file:
        exporter = exporters.JsonLinesItemExporter(file)
        exporter.start_exporting()
        for row in rows:
            exporter.export_item({**_dict(row), "body": row.body.decode("utf-8", "replace")})
        exporter.finish_exporting()


def csv(rows: Sequence[Row], path: Path) -> None:
    """Write CSV by Python's own writer."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = importlib.import_module("csv").writer(file)
        for row in rows:
            writer.writerow([row.url, row.status, row.title, row.body.decode("utf-8", "replace")])


def sqlite(rows: Sequence[Row], path: Path) -> None:
    """Write by ``executemany``, in one transaction."""
    with importlib.import_module("sqlite3").connect(path) as connection:
        connection.execute("CREATE TABLE pages (url TEXT, status INTEGER, title TEXT, body BLOB)")
        values = [(row.url, row.status, row.title, row.body) for row in rows]
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?)", values)
    connection.close()


def psycopg(rows: Sequence[Row], url: str) -> None:
    """Write by ``executemany``, in one transaction."""
    with importlib.import_module("psycopg").connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS peer")
        connection.execute("CREATE TABLE peer (url text, status int, title text, body bytea)")
        values = [(row.url, row.status, row.title, row.body) for row in rows]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO peer VALUES (%s, %s, %s, %s)", values)


def read_warcio(path: Path) -> int:
    """Read all responses; returns their bytes."""
    iterator = importlib.import_module("warcio.archiveiterator").ArchiveIterator
    with path.open("rb") as file:
        return sum(len(record.content_stream().read()) for record in iterator(file) if record.rec_type == "response")


def read_fastwarc(path: Path) -> int:
    """Read all responses; returns their bytes."""
    warc = importlib.import_module("fastwarc.warc")
    with path.open("rb") as file:
        found = warc.ArchiveIterator(file, record_types=warc.WarcRecordType.response)
        return sum(len(record.reader.read()) for record in found)


def _dict(row: Row) -> dict[str, Any]:
    """A row as a dict."""
    return {"url": row.url, "status": row.status, "title": row.title, "body": row.body}
