"""Reads what is committed in topics, without being a member of a group."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

#: librdkafka's settings of a connection to brokers.
Connection = dict[str, str | int | float | bool]

#: Headers of a record that is appended.
Headers = list[tuple[str, str | bytes | None]]

#: Seconds for which brokers are waited for.
WAIT = 30.0

#: Seconds for which a first answer is waited for.
REACH = 10.0

#: Errors that pass by no waiting. Any other may be of a partition whose leader is being elected.
REFUSED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION)

#: Messages that are taken from the client at once, and seconds for which so many are waited for.
MESSAGES, WITHIN = 500, 0.05


def make_reader(settings: Connection, group: str, own: Connection | None = None) -> Consumer:
    """Return a consumer of what is committed.

    It joins the group only if it subscribes; otherwise it may ask for the group's committed positions. own: settings
    that it has beside those, or in place of them.
    """
    return Consumer(
        {
            **settings,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            **(own or {}),
        }
    )


def ends(
    admin: AdminClient, places: Iterable[TopicPartition], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> dict[int, int]:
    """Return the ends of partitions of one topic; waits for leaders that are being elected. Raises KafkaException."""
    return _offsets(admin, places, OffsetSpec.latest(), isolation)  # type: ignore[no-untyped-call]


def starts(admin: AdminClient, places: Iterable[TopicPartition]) -> dict[int, int]:
    """Return the offsets of the first messages of partitions, as ``ends`` does."""
    earliest = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    return _offsets(admin, places, earliest, IsolationLevel.READ_UNCOMMITTED)


def _offsets(
    admin: AdminClient, places: Iterable[TopicPartition], which: OffsetSpec, isolation: IsolationLevel
) -> dict[int, int]:
    """Offsets of partitions of one topic."""
    wanted, deadline = {place.partition: place for place in places}, time.monotonic() + WAIT
    found: dict[int, int] = {}
    while True:
        asked = {place: which for partition, place in wanted.items() if partition not in found}
        answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=WAIT) if asked else {}
        for place, future in answers.items():
            try:
                offset = future.result().offset
            except KafkaException as error:
                if error.args[0].code() in REFUSED or time.monotonic() > deadline:
                    raise
            else:
                if offset >= 0:  # otherwise a new leader does not know it yet
                    found[place.partition] = offset
                elif time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no end of {place} is told"))
        if len(found) == len(wanted):
            return found
        time.sleep(0.1)
        # The client remembers that a partition had no leader, and asks nobody again by itself.
        with contextlib.suppress(KafkaException):
            admin.list_topics(next(iter(wanted.values())).topic, timeout=WAIT)


def read(reader: Consumer, place: TopicPartition, end: int) -> Iterator[Any]:
    """Return the messages of a partition from an offset up to an end, which exists.

    Raises KafkaException, also if nothing comes for half a minute.
    """
    if place.offset >= end:
        return
    reader.assign([place])
    deadline = time.monotonic() + WAIT
    try:
        while True:
            messages = reader.consume(MESSAGES, WITHIN)
            if messages:
                deadline = time.monotonic() + WAIT
            elif time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{place} does not come up to {end}"))
            for message in messages:
                error, offset = message.error(), message.offset() or 0
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    if offset >= end:
                        return
                elif error is not None:
                    raise KafkaException(error)
                elif offset >= end:
                    return
                else:
                    yield message
                    if offset + 1 >= end:
                        return
    finally:
        reader.unassign()


def read_headers(message: Any) -> dict[str, str]:
    """Return the headers of a message, as text."""
    return {name: value.decode(errors="replace") for name, value in message.headers() or () if value is not None}
