"""What the client of Kafka does to a commit."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from lycosa.cluster import kafka
from lycosa.cluster.broker import Fenced, Transaction
from lycosa.cluster.kafka import KafkaBroker
from lycosa.cluster.topics import Topics

STUCK = "send_offsets_to_transaction"


class Client:
    """A producer and a consumer: calls return at once, or never, or fail."""

    def __init__(self, stuck: str = "", failing: str = "") -> None:
        self._stuck, self._failing, self._end, self.calls = stuck, failing, threading.Event(), list[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> str:
            self.calls.append(name)
            if name == self._stuck:
                self._end.wait()
            if name == self._failing:
                raise KafkaException(KafkaError(KafkaError._FATAL, "fatal", fatal=True))
            return name

        return call

    def end(self) -> None:
        """Let all calls return."""
        self._end.set()


@pytest.fixture
def threads() -> Iterator[None]:
    """None is left."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def broker_with(client: Client, monkeypatch: pytest.MonkeyPatch) -> KafkaBroker:
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1"}, Topics("job"), 6.0)
    monkeypatch.setattr(broker, "_consumer", client)
    monkeypatch.setattr(broker, "_producer", client)
    return broker


@pytest.mark.usefixtures("threads")
@pytest.mark.timeout(20)
def test_a_call_that_never_returns_ends_the_producer(monkeypatch: pytest.MonkeyPatch) -> None:
    # librdkafka waits without end where the coordinator of the group is gone (its issues 5456 and 5511): found with a
    # worker that did not end within a minute after a broker was killed.
    monkeypatch.setattr(kafka, "COMMIT", 0.2)
    monkeypatch.setattr(kafka, "LATE", 0.2)
    client = Client(stuck=STUCK)
    broker = broker_with(client, monkeypatch)
    try:
        with pytest.raises(Fenced, match="without end"):
            broker.commit(Transaction())
        assert broker._producer is None, "the next transaction has another producer"
    finally:
        client.end()
    assert client.calls[-1] == STUCK, "what returns late is followed by nothing"


@pytest.mark.usefixtures("threads")
def test_calls_that_return_are_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    broker_with(client, monkeypatch).commit(Transaction())
    assert client.calls[0] == "begin_transaction"
    assert client.calls[-2:] == [STUCK, "commit_transaction"]


@pytest.mark.usefixtures("threads")
def test_an_error_of_the_call_is_the_callers_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # A cycle would keep a producer, with its threads and connections, until the collector comes.
    gc.disable()
    try:
        client = Client(failing=STUCK)
        broker, kept = broker_with(client, monkeypatch), weakref.ref(client)
        with pytest.raises(Fenced, match="fatal"):
            broker.commit(Transaction())
        monkeypatch.undo()
        del broker, client
        assert kept() is None
    finally:
        gc.enable()


def test_without_threads_a_commit_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    client = Client()
    with pytest.raises(Fenced, match="new thread"):
        broker_with(client, monkeypatch).commit(Transaction())
    assert STUCK not in client.calls
