"""Whether a worker has the rights that it needs, told before it begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]

from lycosa.cluster.reading import WAIT
from lycosa.cluster.topics import NoBroker

#: What a worker does with each topic of its job: DELETE is of records that no snapshot needs any more.
OF_TOPICS = (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE)


def check_rights(admin: AdminClient, topics: Collection[str]) -> None:
    """Raise NoBroker if rights on topics are missing, or cannot be looked up.

    Those on groups are seen when a worker joins: librdkafka aborts the process where brokers are late to describe
    groups (its issue 4605).
    """
    described = admin.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=WAIT
    )
    for topic, future in described.items():
        try:
            _check(f"topic {topic}", future.result().authorized_operations, OF_TOPICS)
        except KafkaException as error:
            raise NoBroker(f"topic {topic}: {error.args[0].str()}", error.args[0]) from None


def _check(what: str, allowed: Collection[AclOperation] | None, needed: Iterable[AclOperation]) -> None:
    """Raise NoBroker if something that is needed is not allowed. Brokers that do not tell let everybody do all."""
    missing = [one.name.lower() for one in needed if allowed and one not in allowed]
    if missing:
        raise NoBroker(f"{what}: rights are missing: {', '.join(missing)}")
