"""What the client of Kafka does to a commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lycosa.cluster import kafka
from lycosa.cluster.broker import Fenced, Transaction
from lycosa.cluster.kafka import KafkaBroker
from lycosa.cluster.topics import Topics


class Client:
    """A producer and a consumer of which some calls never return."""

    def __init__(self, stuck: str) -> None:
        self._stuck, self._end, self.calls = stuck, threading.Event(), list[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> str:
            self.calls.append(name)
            if name == self._stuck:
                self._end.wait()
            return name

        return call

    def end(self) -> None:
        """Let all calls return."""
        self._end.set()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    client = Client(request.param)
    yield client
    client.end()


@pytest.mark.parametrize(
    "client", ["begin_transaction", "send_offsets_to_transaction", "commit_transaction"], indirect=True
)
def test_a_step_that_never_returns_ends_the_producer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # librdkafka waits without end where the coordinator of the group is gone (its issues 5456 and 5511): found with a
    # worker that did not end within a minute after a broker was killed.
    monkeypatch.setattr(kafka, "COMMIT", 0.2)
    monkeypatch.setattr(kafka, "LATE", 0.2)
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1"}, Topics("job"), 6.0)
    monkeypatch.setattr(broker, "_consumer", client)
    monkeypatch.setattr(broker, "_producer", client)
    begin = time.monotonic()
    with pytest.raises(Fenced, match="does not return"):
        broker.commit(Transaction())
    assert time.monotonic() - begin < 10
    assert broker._producer is None, "the next transaction has another producer"


@pytest.mark.parametrize("client", [""], indirect=True)
def test_steps_that_return_are_a_commit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1"}, Topics("job"), 6.0)
    monkeypatch.setattr(broker, "_consumer", client)
    monkeypatch.setattr(broker, "_producer", client)
    broker.commit(Transaction())
    assert client.calls[0] == "begin_transaction"
    assert client.calls[-1] == "commit_transaction"
