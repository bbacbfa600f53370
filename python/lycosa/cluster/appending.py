"""Appends records by themselves, outside of a member's transactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Producer

from lycosa.cluster.reading import WAIT, Connection, Headers


@dataclass(frozen=True, slots=True)
class Record:
    """A record, and where it belongs."""

    topic: str
    partition: int
    data: bytes
    key: bytes | None = None
    headers: Headers | None = None


def append(settings: Connection, records: Iterable[Record], largest: int | None = None) -> None:
    """Append records; returns once the brokers have all of them.

    largest: bytes of a record that the topics accept. Raises KafkaException if some are not there; others may be.
    """
    own: Connection = {} if largest is None else {"message.max.bytes": largest}
    producer, failures = Producer({**settings, "enable.idempotence": True, **own}), list[KafkaError]()

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failures.append(error)

    for one in records:
        while True:
            try:
                producer.produce(
                    one.topic, one.data, one.key, one.partition, headers=one.headers, on_delivery=delivered
                )
            except BufferError:
                producer.poll(0.1)
            else:
                break
    left = producer.flush(WAIT)
    if failures:
        raise KafkaException(failures[0])
    if left:
        silent = f"the brokers have not answered for {WAIT:.0f} s; try again once they do"
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, silent))
