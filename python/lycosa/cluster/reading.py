"""Reads what is committed in topics, without being a member of a group."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

#: Seconds for which brokers are waited for.
WAIT = 30.0

#: Errors of a partition whose leader is not known yet: it was just made, or a broker has gone.
ELECTING = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART)

#: Messages that are taken from the client at once, and seconds for which so many are waited for.
MESSAGES, WITHIN = 500, 0.05


def make_reader(settings: dict[str, Any], group: str, isolation: str = "read_committed") -> Consumer:
    """Return a consumer that joins no group; ``group`` is whose committed positions it may ask for."""
    return Consumer(
        {
            **settings,
            "group.id": group,
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
        }
    )


def ends(
    admin: AdminClient, places: Iterable[TopicPartition], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> dict[int, int]:
    """Return the ends of partitions of one topic; waits for leaders that are being elected. Raises KafkaException."""
    wanted, deadline = {place.partition: place for place in places}, time.monotonic() + WAIT
    found: dict[int, int] = {}
    while True:
        asked = {place: OffsetSpec.latest() for partition, place in wanted.items() if partition not in found}
        answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=WAIT) if asked else {}
        for place, future in answers.items():
            try:
                found[place.partition] = future.result().offset
            except KafkaException as error:
                if not (error.args[0].retriable() or error.args[0].code() in ELECTING) or time.monotonic() > deadline:
                    raise
        if len(found) == len(wanted):
            return found
        time.sleep(0.1)


def read(reader: Consumer, place: TopicPartition, end: int) -> Iterator[Any]:
    """Return the messages of a partition from an offset up to an end, which exists. Raises KafkaException."""
    if place.offset >= end:
        return
    reader.assign([place])
    try:
        while True:
            for message in reader.consume(MESSAGES, WITHIN):
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    if message.offset() >= end:
                        return
                elif error is not None:
                    raise KafkaException(error)
                elif message.offset() >= end:
                    return
                else:
                    yield message
                    if message.offset() + 1 >= end:
                        return
    finally:
        reader.unassign()
