"""Messages that nobody could read: a topic of their own has them, with the reason."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa.cluster.appending import Record, append
from lycosa.cluster.broker import DeadLetter
from lycosa.cluster.reading import Connection, Headers, ends, make_reader, read, read_headers
from lycosa.cluster.topics import BESIDE, NoBroker, Topics

#: Letters of a reason that are kept.
REASON = 1_000


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """How many dead letters of a job are there, by topic, and the reason of the last one."""

    counts: dict[str, int]
    last_reason: str = ""


def headers_of(letter: DeadLetter) -> Headers:
    """Return where a message was, and why it is dead, as headers of the record that has its bytes."""
    return [
        ("topic", letter.topic),
        ("partition", str(letter.partition)),
        ("offset", str(letter.position - 1)),
        ("reason", letter.reason[:REASON]),
    ]


def append_dead_letter(topics: Topics, settings: Connection, letter: DeadLetter) -> None:
    """Append one by itself. Raises KafkaException."""
    record = Record(topics.dead_letters, 0, letter.data, headers=headers_of(letter))
    append(settings, [record], topics.largest + BESIDE)


def dead_letters(topics: Topics, settings: Connection) -> DeadLetters:
    """Return what is there of the last 30 days; one that was read again is counted again. Raises NoBroker."""
    counts: dict[str, int] = {}
    reason = ""
    place = TopicPartition(topics.dead_letters, 0)
    try:
        (end,) = ends(AdminClient(settings), [place]).values()
        place.offset = 0
        with contextlib.closing(make_reader(settings, topics.group)) as reader:
            for message in read(reader, place, end):
                headers = read_headers(message)
                topic, reason = headers.get("topic", ""), headers.get("reason", "")
                counts[topic] = counts.get(topic, 0) + 1
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None
    return DeadLetters(counts, reason)
