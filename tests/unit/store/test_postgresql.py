"""PostgreSQL: what a database cannot hold is stored safely, and only a server that may answer later is waited for."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
from lycosa import Request, Responses, _core
from lycosa.errors import OutputAway, SettingError, StorageError
from lycosa.job import make_job
from lycosa.sink import Sink, SinkJob
from lycosa.store.outputs import sink_of

from tests.dispatch.postgres import Postgres, binary

FIELDS = ("url", "status", "title", "metadata", "fetched_at")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "much:too/secret@all")
        yield server


def opened(
    server: Postgres, database: str, folder: Path, job: str = "job-1", fields: tuple[str, ...] = FIELDS
) -> Sink:
    sink = sink_of(server.url(database, with_password=False))
    sink.attach(SinkJob(job, folder, "pages", fields))
    sink.check(fresh=False, is_ours=False)
    sink.open(0, 10)
    return sink


def outcomes(*requests: Request) -> _core.Outcomes:
    made = [
        request.respond(200, headers=[("Content-Type", "text/html")], body=b"<title>a\0b</title>")
        for request in requests
    ]
    return _core.Parser(make_job({"seeds": ["http://a.example/"]})).parse(Responses(made))


def test_each_column_has_its_value(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    sink = opened(server, database, tmp_path, fields=tuple(_core.COLUMN_TYPES))
    text = b"<title>Ships</title><p>The harbour was rebuilt, and ships can enter.<a href=/next rel=nofollow>Next</a>"
    made = _core.Parser(
        make_job({"seeds": ["http://a.example/"], "store": {"fields": ["main_text", "simhash"]}})
    ).parse(Responses([Request("http://a.example/", metadata={"a": [1]}).respond(200, body=text)]))
    expected = json.loads(made.lines(list(_core.COLUMN_TYPES)))
    sink.write(made, 1)
    sink.commit(1)
    sink.close()
    with psycopg.connect(server.url(database)) as connection:
        ((found,),) = connection.execute("SELECT to_jsonb(pages) FROM pages").fetchall()
    for name, kind in _core.COLUMN_TYPES.items():
        value = found[name]
        if kind == "bytes" and value is not None:
            value = bytes.fromhex(value.removeprefix("\\x")).decode()
        elif kind == "bigint":
            # A database has no numbers of 64 bits without a sign.
            value %= 1 << 64
        elif kind == "time":
            value, expected[name] = map(datetime.fromisoformat, (value, expected[name]))
        assert value == expected[name], name
    assert found["simhash"] != 0
    assert found["links"] == ["http://a.example/next"]


def test_long_urls_and_nul_are_stored(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    sink = opened(server, database, tmp_path)
    # It cannot be compressed to what an index may have.
    long = f"http://a.example/{os.urandom(3_000).hex()}"
    for position in (1, 2):
        sink.write(
            outcomes(Request(long), Request("http://a.example/", metadata={"a": "x\0y", "b": "\\u0000"})), position
        )
        sink.commit(position)
    sink.close()
    with psycopg.connect(server.url(database)) as connection:
        rows = connection.execute("SELECT DISTINCT url, metadata, replaced FROM pages ORDER BY url").fetchall()
    assert [url for url, _, _ in rows] == ["http://a.example/", long]
    assert rows[0][1] == {"a": "x\ufffdy", "b": "\\u0000"}
    assert "metadata" in rows[0][2]
    command = [binary("psql"), "-tA", "-c", "SELECT count(*) FROM pages", server.url(database)]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "4\n"


def test_a_server_that_answers_later_is_told_from_an_error(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    sink = opened(server, database, tmp_path)
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        connection.execute("ALTER TABLE pages ADD CONSTRAINT none CHECK (status < 0)")
        with pytest.raises(StorageError) as refused:
            sink.write(outcomes(Request("http://a.example/")), 1)
        assert not isinstance(refused.value, OutputAway)
        connection.execute("ALTER TABLE pages DROP CONSTRAINT none")
        sink.write(outcomes(Request("http://a.example/")), 1)
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(OutputAway):
        sink.commit(1)


def test_tables_of_others_are_left_alone(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        connection.execute("CREATE TABLE pages (mine text)")
        sink = sink_of(server.url(database, with_password=False))
        sink.attach(SinkJob("job-1", tmp_path, "pages", FIELDS))
        for fresh in (False, True):
            with pytest.raises(SettingError, match="is not Lycosa's"):
                sink.check(fresh=fresh, is_ours=False)
        connection.execute("DROP TABLE pages")
    opened(server, database, tmp_path).close()
    with pytest.raises(SettingError, match="fresh, to replace"):
        opened(server, database, tmp_path, job="job-2")


def test_texts_are_what_they_were_whatever_a_client_would_use(
    server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = server.new_database()
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET client_encoding = 'LATIN1'")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    sink = opened(server, database, tmp_path)
    made = Request("http://a.example/").respond(200, body="<title>Café 猫</title>".encode())
    sink.write(_core.Parser(make_job({"seeds": ["http://a.example/"]})).parse(Responses([made])), 1)
    sink.commit(1)
    sink.close()
    with psycopg.connect(server.url(database), client_encoding="UTF8") as connection:
        assert connection.execute("SELECT title FROM pages").fetchall() == [("Café 猫",)]


def test_a_database_without_all_letters_is_refused(server: Postgres, tmp_path: Path) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        more = "TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        connection.execute(f"CREATE DATABASE latin ENCODING 'LATIN1' {more}")
    with pytest.raises(SettingError, match="whose encoding is UTF8"):
        opened(server, "latin", tmp_path)


def test_columns_of_the_user_have_their_defaults(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    for number in range(2):
        sink = opened(server, database, tmp_path)
        sink.write(outcomes(Request(f"http://a.example/{number}")), number + 1)
        sink.commit(number + 1)
        sink.close()
        if number == 0:
            with psycopg.connect(server.url(database), autocommit=True) as connection:
                connection.execute("ALTER TABLE pages ADD COLUMN id bigserial")
    with psycopg.connect(server.url(database)) as connection:
        assert connection.execute("SELECT count(DISTINCT id) FROM pages").fetchall() == [(2,)]


def test_options_of_the_url_are_kept(server: Postgres, tmp_path: Path) -> None:
    database = server.new_database()
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA mine")
    sink = sink_of(f"{server.url(database, with_password=False)}?options=-c%20search_path%3Dmine")
    sink.attach(SinkJob("job-1", tmp_path, "pages", FIELDS))
    sink.check(fresh=True, is_ours=False)
    sink.open(0, 10)
    sink.close()
    with psycopg.connect(server.url(database)) as connection:
        found = connection.execute("SELECT table_schema FROM information_schema.tables WHERE table_name = 'pages'")
        assert found.fetchall() == [("mine",)]


@pytest.mark.parametrize("table", ["order", "archive.order"])
def test_a_table_may_have_the_name_of_a_word_of_sql_and_a_schema(
    table: str, server: Postgres, tmp_path: Path
) -> None:
    database = server.new_database()
    with psycopg.connect(server.url(database)) as connection:
        connection.execute("CREATE SCHEMA archive")
    url = f"{server.url(database, with_password=False)}?table={table}"
    for position in (1, 2):
        sink = sink_of(url)
        sink.attach(SinkJob("job-1", tmp_path, "pages", FIELDS))
        sink.check(fresh=False, is_ours=False)
        assert sink.open(0, 10) == position - 1
        sink.write(outcomes(Request(f"http://a.example/{position}")), position)
        sink.commit(position)
        sink.close()
    name = ".".join(f'"{part}"' for part in table.split("."))
    with psycopg.connect(server.url(database)) as connection:
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (2,)  # noqa: S608
    sink.remove()
    assert not sink.exists()
