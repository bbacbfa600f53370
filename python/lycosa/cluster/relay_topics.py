"""The way of responses to parsers and of outcomes back: two topics, of which nothing has to last.

A worker's outcomes come by one partition, which others may have as well; headers say whose they are.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa.cluster.reading import WAIT, Connection, Headers, ends, make_reader, read_headers
from lycosa.cluster.relay import PATIENCE
from lycosa.cluster.topics import BESIDE, NoBroker, Topics

#: Headers: whose responses these are, their number there, and the partition for outcomes.
WORKER, NUMBER, ANSWER = "worker", "number", "answer"

#: Outcomes that are taken from the client at once; responses are taken one after the other, as they are parsed.
MESSAGES = 16

#: Kilobytes that a client keeps of what it has read, and of what it has not sent yet.
QUEUE_KB = 64 * 1024

#: Seconds after which responses are left to their sender, who has parsed them by then, unless clocks differ.
STALE = 3 * PATIENCE

#: Seconds for which a parser waits for responses.
LOOK = 0.1


class ParserChannel:
    """See ``lycosa.cluster.relay.Channel``. For one thread."""

    def __init__(self, settings: Connection, topics: Topics, worker: str, partitions: int) -> None:
        """worker: a name that no other has. partitions: of each of the two topics. Raises NoBroker."""
        self._topics, self._worker, self._partitions = topics, worker, partitions
        self._next = zlib.crc32(worker.encode())
        self._answer = self._next % partitions
        self._producer = make_producer(settings, topics)
        self._lost: list[int] = []  # numbers of what could not be delivered
        own: Connection = {"isolation.level": "read_uncommitted", "queued.max.messages.kbytes": QUEUE_KB}
        self._reader = make_reader(settings, topics.group, own)
        place = TopicPartition(topics.outcomes, self._answer)
        try:
            place.offset = ends(AdminClient(settings), [place])[self._answer]
            self._reader.assign([place])
        except KafkaException as error:
            raise NoBroker(f"topic {topics.outcomes}: {error.args[0].str()}", error.args[0]) from None

    def send(self, number: int, message: bytes) -> bool:
        """Send responses to the partitions in turn."""
        self._next += 1
        headers: Headers = [(WORKER, self._worker), (NUMBER, str(number)), (ANSWER, str(self._answer))]

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                self._lost.append(number)

        topic, partition = self._topics.responses, self._next % self._partitions
        try:
            self._producer.produce(topic, message, partition=partition, headers=headers, on_delivery=delivered)
        except (BufferError, KafkaException):
            return False
        return True

    def received(self) -> list[tuple[int, bytes]]:
        """Return what has come for this worker, and what could not be sent."""
        self._producer.poll(0)
        found = [(number, b"") for number in self._lost]
        self._lost.clear()
        for message in self._reader.consume(MESSAGES, 0.0):
            headers = read_headers(message)
            if message.error() is None and headers.get(WORKER) == self._worker:
                with contextlib.suppress(ValueError):
                    found.append((int(headers.get(NUMBER, "")), message.value() or b""))
        return found

    def close(self) -> None:
        """End the connections."""
        self._reader.close()
        self._producer.purge()


class Job(NamedTuple):
    """Responses that are to be parsed, and where their outcomes go."""

    worker: str
    number: str
    answer: int
    responses: bytes  # empty: too old to be parsed


class ResponseReader:
    """Reads responses as one of the parsers of a job, and answers."""

    def __init__(self, settings: Connection, topics: Topics, session: float) -> None:
        """Join the parsers. session: seconds after which a silent parser is excluded."""
        own: Connection = {
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": int(session * 1000),
            "auto.offset.reset": "latest",  # what is older was parsed by who had sent it
            "isolation.level": "read_uncommitted",
            "queued.max.messages.kbytes": QUEUE_KB,
        }
        self._topics, self._group = topics, f"{topics.group}.parsers"
        self._consumer: Consumer = make_reader(settings, self._group, own)
        self._consumer.subscribe([topics.responses])
        self._producer = make_producer(settings, topics)

    def is_member(self) -> bool:
        """Whether partitions are read."""
        return bool(self._consumer.assignment())

    def read(self) -> Job | None:
        """Return what comes next; `None`: nothing has come.

        It counts as read before it is parsed: what ends a parser ends no second one. Raises NoBroker without the
        rights, or KafkaException.
        """
        for message in self._consumer.consume(1, LOOK):
            if (error := message.error()) is None:
                # Where a partition is moving just now, another parser answers as well: one of them is ignored.
                with contextlib.suppress(KafkaException):
                    self._consumer.commit(asynchronous=False)
                headers = read_headers(message)
                with contextlib.suppress(KeyError, ValueError):
                    is_stale = message.timestamp()[1] / 1000 < time.time() - STALE
                    data = b"" if is_stale else message.value() or b""
                    return Job(headers[WORKER], headers[NUMBER], int(headers[ANSWER]), data)
            elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise NoBroker(f"group {self._group}: {error.str()}: allow to describe and to read it")
            elif error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                raise KafkaException(error)
        return None

    def answer(self, job: Job, message: bytes) -> None:
        """Send outcomes back; empty bytes: the responses cannot be parsed here. Waits while the queue is full."""
        headers: Headers = [(WORKER, job.worker), (NUMBER, job.number)]
        while True:
            try:
                self._producer.produce(self._topics.outcomes, message, partition=job.answer, headers=headers)
            except BufferError:
                self._producer.poll(LOOK)
            else:
                self._producer.poll(0)
                return

    def close(self) -> None:
        """Leave, once all answers are sent."""
        self._producer.flush(WAIT)
        self._consumer.close()


def make_producer(settings: Connection, topics: Topics) -> Producer:
    """Return a producer for these topics: what is lost with a broker is parsed by who had sent it."""
    own: Connection = {"acks": 1, "linger.ms": 2, "compression.type": "lz4"}
    own["message.max.bytes"] = topics.largest + BESIDE
    own["queue.buffering.max.kbytes"] = QUEUE_KB
    own["message.timeout.ms"] = int(PATIENCE * 1000)
    return Producer({**settings, **own})
