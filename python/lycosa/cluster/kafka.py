"""The log engine is Kafka: the only file that knows its client, librdkafka (``confluent-kafka``).

A member has a consumer, which belongs to the job's group and reads links, and a producer with a transactional ID of
its own. Partitions are assigned by the group (cooperative, KIP-429). Each transaction commits positions of the group
with its generation, so that those of an earlier owner fail (KIP-447).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from lycosa.cluster.broker import Aborted, Ends, Fenced, Message, Owner, Settled, Transaction, Unavailable
from lycosa.cluster.dead_letters import headers_of
from lycosa.cluster.reading import Connection, Headers, ends, make_reader, read, starts
from lycosa.cluster.release import Released
from lycosa.cluster.topics import BESIDE, NoBroker, Topics

T = TypeVar("T")

logger = logging.getLogger("lycosa")

#: Seconds after which a commit is given up: whether it succeeded is unknown then.
COMMIT = 8.0

#: Seconds after which a call that has not returned in time is left behind.
LATE = 2.0

#: Seconds for which a request that only asks may take.
ASK = 30.0

#: Seconds for which the end of an open transaction is waited for before its writer, an earlier owner, is expelled.
PATIENCE = 0.5

#: Milliseconds for which the client waits for more records of a partition, unless it is flushed, as each commit does.
LINGER = 50

#: Milliseconds after which brokers answer a request for links where there are none. Links that come are told at once,
#: but a partition that is owned anew is asked for with the next request.
FETCH = 200

#: Records of links that are accepted at once: all of them are committed together.
LINKS = 100

#: What fails is told by who needed it: librdkafka would print it on its own, too.
SILENT = logging.Logger("lycosa.kafka", logging.CRITICAL + 1)

#: Header of a record of a journal: the transactional ID of its writer.
WRITER = "writer"


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    """Raise what the client raises as Unavailable."""
    try:
        yield
    except KafkaException as error:
        raise Unavailable(error.args[0].str()) from None


def _bounded(work: Callable[[float], T], within: float) -> T:
    """Return what a call of the client returns, which is told how many seconds it may take.

    Raises TimeoutError if it takes longer: librdkafka can wait without end for the coordinator of a group that is
    gone (its issues 5456 and 5511). The thread that waits is left behind with its producer, whose transaction the
    brokers abort.
    """
    done: Future[T] = Future()
    try:
        threading.Thread(target=_call, args=(done, work, within), name="lycosa-commit", daemon=True).start()
    except RuntimeError as error:  # the system has no more threads
        raise TimeoutError(str(error)) from None
    try:
        return done.result(within + LATE)
    finally:
        # An exception refers to the frames that it has passed: without this, to itself as well.
        del done, work


def _call(done: Future[T], work: Callable[[float], T], within: float) -> None:
    """Call on a thread of its own."""
    try:
        done.set_result(work(within))
    except Exception as error:  # whatever it is, the caller raises it
        done.set_exception(error)
    finally:
        del done, work


class KafkaBroker:
    """A member of a job's group. See ``lycosa.cluster.broker.Broker``."""

    def __init__(self, settings: Connection, topics: Topics, session: float) -> None:
        """Connect; no member of the group yet.

        settings: librdkafka's, of the connection to the brokers. session: seconds after which a silent member is
        excluded.
        """
        self._settings, self._topics, self._session = settings, topics, session
        self._owner: Owner | None = None
        self._consumer: Consumer | None = None
        self._writer = ""
        self._producer: Producer | None = None
        self._admin = AdminClient(settings)
        self._readers = threading.local()
        self._told: set[str] = set()

    def check(self) -> None:
        """Raise NoBroker if this worker may not begin transactions."""
        try:
            self._make_producer(ASK)
        except KafkaException as error:
            text = f"transactional ID {self._writer}: {error.args[0].str()}: allow those that begin with"
            raise NoBroker(f"{text} {self._topics.group}-", error.args[0]) from None

    def poll(self, owner: Owner, within: float) -> list[Message]:
        """See ``Broker``."""
        self._owner = owner
        if self._consumer is None:
            self._consumer = self._join()
        messages = []
        for message in self._consumer.consume(LINKS, within):
            partition, offset = message.partition() or 0, message.offset() or 0
            if (error := message.error()) is None:
                messages.append(Message(partition, offset + 1, message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                messages.append(Message(partition, offset, b""))
            elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise NoBroker(f"group {self._topics.group}: {error.str()}: allow to describe and to read it")
            elif error.fatal():
                raise Fenced(error.str())
            elif not error.retriable():
                self._tell(error.str())
        return messages

    def commit(self, transaction: Transaction) -> Ends:
        """See ``Broker``."""
        assert self._consumer is not None
        deadline = time.monotonic() + COMMIT
        producer = self._begun(deadline)
        ends, failures = Ends({}, {}), list[KafkaError]()
        by_topic = {self._topics.journal: ends.journal, self._topics.pages: ends.pages}

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failures.append(error)
            else:
                known = by_topic[message.topic()]
                known[message.partition()] = max(known.get(message.partition(), 0), message.offset() + 1)

        for topic, records_of in (
            (self._topics.pages, transaction.pages),
            (self._topics.journal, transaction.journal),
        ):
            for partition, records in records_of.items():
                for data in records:
                    headers: Headers = [(WRITER, self._writer)]
                    self._produce(producer, topic, partition, data, deadline, delivered, headers=headers)
        for partition, links in transaction.links.items():
            for data in links:
                self._produce(producer, self._topics.links, partition, data, deadline)
        for partition, data in transaction.status.items():
            self._produce(producer, self._topics.status, 0, data, deadline, key=str(partition).encode())
        for letter in transaction.dead_letters:
            headers = headers_of(letter)
            self._produce(producer, self._topics.dead_letters, 0, letter.data, deadline, headers=headers)
        positions = [
            TopicPartition(self._topics.links, partition, read, transaction.released[partition].encode())
            for partition, read in transaction.read.items()
        ]
        producer.flush(max(deadline - time.monotonic(), 0.1))
        group = self._consumer.consumer_group_metadata()
        if not self._consumer.memberid():
            # The brokers would take the positions of somebody who is in no group.
            self._abort()
            raise Fenced("this worker is no member of the group any more")

        def send(left: float) -> None:
            _bounded(lambda within: producer.send_offsets_to_transaction(positions, group, within), left)

        self._within(deadline, send)
        self._within(deadline, lambda left: producer.commit_transaction(left))
        if failures:
            raise Fenced(failures[0].str())  # cannot be: the transaction would have failed
        return ends

    def read_from(self, partition: int, position: int) -> None:
        """See ``Broker``."""
        assert self._consumer is not None
        place = TopicPartition(self._topics.links, partition, position)
        deadline = time.monotonic() + ASK
        while True:
            try:
                self._consumer.seek(place)
                break
            except KafkaException as error:
                # It is assigned by a thread of the client, a little later than the callback says.
                if error.args[0].code() != KafkaError._STATE or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._consumer.resume([place])

    def settled(self, partition: int) -> Settled:
        """See ``Broker``."""
        with _unavailable():
            read, released = self._position(partition)
            end, deadline = self._end(partition, IsolationLevel.READ_UNCOMMITTED), time.monotonic() + PATIENCE
            while self._end(partition, IsolationLevel.READ_COMMITTED) < end:
                if time.monotonic() > deadline:
                    self._expel(partition)
                    deadline = time.monotonic() + PATIENCE
                time.sleep(0.02)
            return Settled(read, released, end, self._end_of_pages(partition))

    def _end_of_pages(self, partition: int) -> int:
        """The end of pages: their transactions have ended with the journal's, and their marks follow."""
        deadline = time.monotonic() + ASK
        while True:
            stable = self._end(partition, IsolationLevel.READ_COMMITTED, self._topics.pages)
            if stable >= self._end(partition, IsolationLevel.READ_UNCOMMITTED, self._topics.pages):
                return stable
            if time.monotonic() > deadline:
                raise Unavailable(f"pages of partition {partition}: a transaction does not end")
            time.sleep(0.02)

    def _position(self, partition: int) -> tuple[int, Released]:
        """How far links of a partition were accepted, and what is released; no transaction about that is open."""
        place, deadline = TopicPartition(self._topics.links, partition), time.monotonic() + ASK
        while True:
            try:
                # A reader of what is committed is not told positions that an open transaction has, and asks again.
                (found,) = self._reader().committed([place], PATIENCE)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                self._expel(partition)
                continue
            if found.error is not None:
                raise KafkaException(found.error)
            return max(found.offset, 0), Released.decode(found.metadata)

    def journal(self, partition: int, position: int, end: int) -> Iterator[Message]:
        """See ``Broker``."""
        with _unavailable():
            for message in read(self._reader(), TopicPartition(self._topics.journal, partition, position), end):
                yield Message(partition, message.offset() + 1, message.value())

    def first(self, partition: int) -> int:
        """See ``Broker``."""
        with _unavailable():
            place = TopicPartition(self._topics.journal, partition)
            return starts(self._admin, [place])[partition]

    def remove(self, partition: int, position: int) -> None:
        """Remove a journal up to a position, and the links that are accepted. For any thread. Raises Unavailable."""
        with _unavailable():
            (read,) = self._reader().committed([TopicPartition(self._topics.links, partition)], ASK)
            places = [TopicPartition(self._topics.journal, partition, position)]
            if read.error is None and read.offset > 0:
                places.append(TopicPartition(self._topics.links, partition, read.offset))
            for removed in self._admin.delete_records(places, request_timeout=ASK).values():
                removed.result()

    def rejoin(self) -> None:
        """See ``Broker``."""
        consumer, self._consumer = self._consumer, None
        self._producer = None
        if consumer is not None:
            self._owner = None
            consumer.close()

    def leave(self) -> None:
        """Give all partitions back, and leave the group."""
        if (consumer := self._consumer) is not None:
            consumer.unsubscribe()
            deadline = time.monotonic() + ASK
            while consumer.assignment() and time.monotonic() < deadline:
                consumer.consume(1, 0.05)
            self._owner = None
            consumer.close()
            self._consumer = None

    def _join(self) -> Consumer:
        """A consumer that joins the group."""
        own: Connection = {
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": int(self._session * 1000),
            "heartbeat.interval.ms": int(self._session * 1000 / 10),
            "fetch.wait.max.ms": FETCH,
        }
        consumer = make_reader(self._settings, self._topics.group, own)
        consumer.subscribe(
            [self._topics.links], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        return consumer

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Partitions are this member's; their links are read once they are loaded."""
        places = [TopicPartition(one.topic, one.partition, OFFSET_BEGINNING) for one in partitions]
        consumer.incremental_assign(places)
        consumer.pause(places)
        if self._owner is not None and partitions:
            self._owner.assigned([one.partition for one in partitions])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Give partitions back."""
        if self._owner is not None:
            self._owner.revoked([one.partition for one in partitions])
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Others may own them."""
        if self._owner is not None:
            self._owner.lost()
        consumer.incremental_unassign(partitions)

    def _begun(self, deadline: float) -> Producer:
        """A producer with a transaction."""
        if (producer := self._producer) is None:
            producer = self._within(deadline, self._make_producer)
        self._within(deadline, lambda _: producer.begin_transaction())
        return producer

    def _make_producer(self, within: float) -> Producer:
        """Make a producer with a transactional ID of its own. Raises KafkaException."""
        self._writer = f"{self._topics.group}-{uuid.uuid4()}"
        producer = Producer(
            {
                **self._settings,
                "transactional.id": self._writer,
                "transaction.timeout.ms": int(self._session * 1000),
                "linger.ms": LINGER,
                "compression.type": "lz4",
                "message.max.bytes": self._topics.largest + BESIDE,
            },
            logger=SILENT,
        )
        producer.init_transactions(within)
        self._producer = producer
        return producer

    def _produce(
        self,
        producer: Producer,
        topic: str,
        partition: int,
        data: bytes,
        deadline: float,
        delivered: Callable[[KafkaError | None, Any], None] | None = None,
        key: bytes | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Append a record; waits while the client's queue is full."""
        while True:
            try:
                producer.produce(topic, data, key, partition, headers=headers, on_delivery=delivered)
            except BufferError:
                if time.monotonic() > deadline:
                    raise self._given_up() from None
                producer.poll(0.01)
            except KafkaException as error:
                # The transaction has failed already: its next step says how.
                if error.args[0].code() not in (KafkaError._STATE, KafkaError._FATAL):
                    raise self._given_up(error.args[0].str()) from None
                return
            else:
                return

    def _within(self, deadline: float, work: Callable[[float], T]) -> T:
        """Do one step of a commit, again where that is allowed; raises Aborted or Fenced."""
        while True:
            try:
                return work(max(deadline - time.monotonic(), 0.1))
            except TimeoutError as late:
                why = str(late) or "the client waits without end for the coordinator of the group"
                raise self._given_up(why) from None
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                if error.fatal():
                    raise self._given_up(error.str()) from None
                if error.txn_requires_abort():
                    self._abort()
                    code = error.code()
                    if code in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.FENCED_INSTANCE_ID):
                        raise Fenced(error.str()) from None
                    raise Aborted(error.str()) from None
                if not error.retriable() or time.monotonic() > deadline:
                    raise self._given_up(error.str()) from None

    def _given_up(self, why: str = "the brokers do not answer") -> Fenced:
        """The error after which another producer is made: whether the transaction was committed is unknown."""
        self._producer = None
        return Fenced(why)

    def _abort(self) -> None:
        """Abort the transaction."""
        if self._producer is None:
            raise self._given_up("no transaction could be begun")
        try:
            self._producer.abort_transaction(PATIENCE)
        except KafkaException as error:
            raise self._given_up(error.args[0].str()) from None

    def _tell(self, text: str) -> None:
        """Log an error of the client once."""
        if text not in self._told:
            self._told.add(text)
            logger.warning("Kafka: %s", text)

    def _reader(self) -> Consumer:
        """A consumer of the calling thread that reads what is committed, and is no member of the group."""
        if getattr(self._readers, "committed", None) is None:
            self._readers.committed = make_reader(self._settings, self._topics.group)
        reader: Consumer = self._readers.committed
        return reader

    def _uncommitted(self) -> Consumer:
        """A consumer that reads what is in open transactions, too."""
        return make_reader(self._settings, self._topics.group, {"isolation.level": "read_uncommitted"})

    def _end(self, partition: int, isolation: IsolationLevel, topic: str | None = None) -> int:
        """The end of a partition of a topic: of a journal unless told otherwise."""
        return ends(self._admin, [TopicPartition(topic or self._topics.journal, partition)], isolation)[partition]

    def _expel(self, partition: int) -> None:
        """End the open transactions of earlier owners that are in a journal: begin their writers anew."""
        writers = set()
        with contextlib.closing(self._uncommitted()) as reader:
            since = self._end(partition, IsolationLevel.READ_COMMITTED)
            end = self._end(partition, IsolationLevel.READ_UNCOMMITTED)
            for message in read(reader, TopicPartition(self._topics.journal, partition, since), end):
                writers |= {value.decode() for name, value in message.headers() or () if name == WRITER}
        for writer in writers:
            producer = Producer({**self._settings, "transactional.id": writer})
            producer.init_transactions(ASK)
