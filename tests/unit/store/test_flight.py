"""Rows are put to a server of Arrow Flight: each arrives, whatever is killed; what it refuses is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from lycosa import _core
from lycosa.errors import OutputAway, SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob
from lycosa.store.outputs import sink_of
from pyarrow import flight

from benchmarks.ports import free_port

from .conftest import Recorded

FIELDS = ("url", "status", "fetched_at", "headers", "body")


class Server(flight.FlightServerBase):  # type: ignore[misc]  # has no types
    """A server that keeps the rows of calls that end well, and acknowledges each batch."""

    def __init__(self, port: int, token: str | None = None) -> None:
        super().__init__(f"grpc://127.0.0.1:{port}", middleware={"token": Token(token)})
        self.rows, self.told, self.refuses = list[dict[str, Any]](), list[dict[str, Any]](), 0
        self.hangs, self.acknowledged = threading.Event(), b"taken"
        self.paths = set[tuple[bytes, ...]]()

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        rows, told = list[dict[str, Any]](), list[dict[str, Any]]()
        for chunk in reader:
            rows += chunk.data.to_pylist()
            told.append(json.loads(chunk.app_metadata.to_pybytes()))
            writer.write(self.acknowledged)
        while self.hangs.is_set():
            time.sleep(0.01)
        if self.refuses > 0:
            self.refuses -= 1
            raise flight.FlightServerError("the disk is broken")
        self.paths.add(tuple(descriptor.path))
        self.rows, self.told = self.rows + rows, self.told + told

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[Any]:
        while self.hangs.is_set():
            time.sleep(0.01)
        raise flight.FlightServerError("of what?")


class Token(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # has no types
    """Refuses all calls without a token, if there is one."""

    def __init__(self, token: str | None) -> None:
        super().__init__()
        self.token = token

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        if self.token and headers.get("authorization") != [f"Bearer {self.token}"]:
            raise flight.FlightUnauthenticatedError("who are you?")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(free_port()) as server:
        yield server


def opened(port: int, recorded: Recorded, path: str = "crawls/pages") -> tuple[Sink, int]:
    """A sink that goes on from its position."""
    sink = sink_of(f"grpc://127.0.0.1:{port}/{path}")
    sink.attach(SinkJob("job-1", recorded.directory.sinks, sink.url, FIELDS))
    sink.check(fresh=False, is_ours=True)
    return sink, sink.open(recorded.positions[0], recorded.log.end())


def write(sink: Sink, recorded: Recorded, position: int, commits: int) -> None:
    """Write the log from a position on; so many batches are committed, and what follows them is not."""
    reader = _core.LogReader(recorded.directory.log, position or None)
    while rows := reader.read(10, 1 << 20):
        sink.write(rows.rows(), reader.position())
        if commits > 0:
            sink.commit(reader.position())
        commits -= 1


def test_what_is_not_committed_is_not_kept_and_comes_again(server: Server, recorded: Recorded) -> None:
    sink, position = opened(server.port, recorded)
    assert position == 0
    write(sink, recorded, position, commits=2)
    sink, again = opened(server.port, recorded)
    assert 0 < again < recorded.log.end()
    write(sink, recorded, again, commits=1_000)
    sink.close()
    assert sorted(row["url"] for row in server.rows) == sorted(recorded.urls)
    assert server.paths == {(b"crawls", b"pages")}
    assert {told["job"] for told in server.told} == {"job-1"}
    assert server.told[-1]["position"] == sink.committed()
    first = server.rows[0]
    assert (first["status"], first["fetched_at"].tzname()) == (200, "UTC")
    assert first["body"].startswith(b"<a href=/0>")


def test_a_server_that_goes_and_comes_is_away(recorded: Recorded) -> None:
    port = free_port()
    with Server(port):
        sink, position = opened(port, recorded)
    with pytest.raises(OutputAway, match=f"grpc://127.0.0.1:{port}/crawls/pages: "):
        write(sink, recorded, position, commits=1_000)
    with Server(port) as server:
        write(sink, recorded, sink.open(recorded.positions[0], recorded.log.end()), commits=1_000)
        assert sorted(row["url"] for row in server.rows) == sorted(recorded.urls)
        sink.close()


def test_what_the_server_refuses_is_told_and_no_position_is_stored(server: Server, recorded: Recorded) -> None:
    sink, position = opened(server.port, recorded)
    server.refuses = 1
    with pytest.raises(StorageError, match="the disk is broken"):
        write(sink, recorded, position, commits=1_000)
    assert sink.committed() is None
    write(sink, recorded, sink.open(recorded.positions[0], recorded.log.end()), commits=1_000)
    assert sorted(row["url"] for row in server.rows) == sorted(recorded.urls)


def test_a_token_comes_from_the_environment(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(free_port(), token="of mine") as server:  # noqa: S106  # of the test
        with pytest.raises(StorageError, match="a token is taken from LYCOSA_FLIGHT_TOKEN"):
            opened(server.port, recorded)
        monkeypatch.setenv("LYCOSA_FLIGHT_TOKEN", "of mine")
        sink, position = opened(server.port, recorded)
        write(sink, recorded, position, commits=1_000)
        assert len(server.rows) == len(recorded.urls)
    with pytest.raises(SettingError, match=r"grpc\+tls://"):
        sink_of("grpc://flight.example:8815/pages").check(fresh=False, is_ours=False)
    monkeypatch.setenv("LYCOSA_FLIGHT_TOKEN", "of\nmine")
    with pytest.raises(SettingError, match="LYCOSA_FLIGHT_TOKEN"):
        sink_of("grpc+tls://flight.example:8815/pages").check(fresh=False, is_ours=False)


def test_a_server_that_hangs_is_away(server: Server, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.store.flight.ANSWERS", 0.5)
    monkeypatch.setattr("lycosa.store.flight.TAKES", 0.5)
    sink, position = opened(server.port, recorded)
    server.hangs.set()
    try:
        for call in (lambda: write(sink, recorded, position, 1_000), lambda: opened(server.port, recorded)):
            with pytest.raises(OutputAway):
                call()
    finally:
        server.hangs.clear()
    sink, position = opened(server.port, recorded)
    write(sink, recorded, position, commits=1_000)
    sink.close()
    assert sink.committed() == recorded.log.end()


def test_acknowledgements_are_read_while_batches_are_written(server: Server, recorded: Recorded) -> None:
    """Else both sides wait: the server until its words are read, we until the server takes the next batch."""
    server.acknowledged = bytes(10 << 20)
    sink, position = opened(server.port, recorded)
    for _ in range(10):
        write(sink, recorded, position, commits=0)
    sink.commit(recorded.log.end())
    assert len(server.rows) == 10 * len(recorded.urls)


def test_who_does_not_answer_keeps_the_crawl_from_starting(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa.store.flight.ANSWERS", 1.0)
    with pytest.raises(OutputAway):
        opened(free_port(), recorded)


@pytest.mark.parametrize(
    "url",
    ["grpc://127.0.0.1/pages", "grpc://127.0.0.1:99999/pages", "grpc://127.0.0.1:8815", "grpc://127.0.0.1:8815/a//b"],
)
def test_a_url_names_host_port_and_name(url: str) -> None:
    with pytest.raises(SettingError, match="grpc://HOST:PORT/NAME"):
        sink_of(url)


def test_a_url_with_a_secret_is_refused() -> None:
    for url in ("grpc://me:s3cret@127.0.0.1:8815/pages", "grpc+tls://h:1/pages?token=s3cret"):
        with pytest.raises(SettingError) as told:
            sink_of(url)
        assert "s3cret" not in str(told.value)


def test_all_columns_arrive(server: Server, recorded: Recorded, tmp_path: Path) -> None:
    """Lists, structs and numbers of all kinds: read from the server's rows as from a file of Arrow."""
    fields = tuple(Outcomes.COLUMNS)
    file = sink_of(str(tmp_path / "pages.arrows"))
    sink = sink_of(f"grpc://127.0.0.1:{server.port}/all")
    for each in (file, sink):
        each.attach(SinkJob("job-1", recorded.directory.sinks, each.url, fields))
        each.open(recorded.positions[0], recorded.log.end())
        write(each, recorded, 0, commits=1_000)
        each.close()
    with pyarrow.ipc.open_stream((tmp_path / "pages.arrows").read_bytes()) as stream:
        assert server.rows == stream.read_all().to_pylist()
