"""Rights, as brokers tell them."""

from __future__ import annotations

import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]
from lycosa.cluster.rights import OF_TOPICS, check_rights
from lycosa.cluster.topics import NoBroker, while_replaced


def check(rights: Any) -> None:
    """Check a topic."""
    future: Future[Any] = Future()
    future.set_result(SimpleNamespace(authorized_operations=rights))
    brokers = SimpleNamespace(describe_topics=lambda *_, **__: {"links": future})
    check_rights(cast(AdminClient, brokers), ["links"])


def test_brokers_that_tell_no_rights_let_everybody_do_all() -> None:
    check(OF_TOPICS)
    check(None)


def test_what_is_missing_is_told() -> None:
    with pytest.raises(NoBroker, match="topic links: rights are missing: read, write, delete"):
        check([AclOperation.DESCRIBE])


def test_what_may_pass_is_tried_again() -> None:
    for code, may_pass in (
        (KafkaError._TRANSPORT, True),
        (KafkaError._TIMED_OUT, True),
        (KafkaError._DESTROY, True),
        (KafkaError._AUTHENTICATION, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
        (KafkaError.INVALID_REPLICATION_FACTOR, False),
    ):
        assert NoBroker("", KafkaError(code)).may_pass == may_pass, code


def test_what_passes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    errors = [KafkaError(KafkaError._DESTROY), KafkaError(KafkaError._TRANSPORT)]

    def work() -> str:
        if errors:
            raise NoBroker("a broker is being replaced", errors.pop())
        return "done"

    assert while_replaced(work) == "done"
    errors.append(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(NoBroker):
        while_replaced(work)
