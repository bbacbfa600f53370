"""A worker's part of one output: it reads the pages of partitions that it owns, and writes files of their rows.

Partitions are shared by a consumer group of the output's own. A file and the positions up to which its rows go are
committed at once: the name of the file is in the metadata of each position. So each row is in one file, whoever fails
when. Only what is released is read (``lycosa.cluster.release``).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa import _core
from lycosa.cluster.broker import DeadLetter
from lycosa.cluster.dead_letters import append_dead_letter
from lycosa.cluster.loading import UNREADABLE
from lycosa.cluster.output_files import OutputDirectory, OutputFile
from lycosa.cluster.reading import Connection, make_reader, read, starts
from lycosa.cluster.release import Released
from lycosa.cluster.topics import Topics
from lycosa.errors import LycosaError
from lycosa.job import Job
from lycosa.records import Outcomes
from lycosa.sink import SinkJob
from lycosa.store.file_sink import needs_bodies

logger = logging.getLogger("lycosa")

#: Seconds between two looks at the group, and at what is released.
LOOK, PASS = 0.2, 2.0

#: Seconds until a failed file is tried again.
AGAIN = 5.0

#: Seconds for which a request that only asks may take.
ASK = 30.0


def group_of(topics: Topics, output: OutputDirectory) -> str:
    """Return the group of an output: its name in the job. Another path is another output."""
    return f"{topics.group}.output.{output.path.name[:40]}-{zlib.crc32(str(output.path).encode()):08x}"


class PositionsLost(LycosaError):
    """An output has rows, and the brokers do not know how far it is, or do not tell it."""


class OutputWriter:
    """Writes one output, on a thread of its own."""

    def __init__(
        self,
        job: Job,
        topics: Topics,
        settings: Connection,
        output: OutputDirectory,
        bodies: Path,
        worker: str,
        own: Path,
    ) -> None:
        """bodies: the directory of large bodies. worker: a name that no other has. own: a directory of its own."""
        self._job, self._topics, self._settings, self._output = job, topics, settings, output
        self._bodies, self._worker, self._group = bodies, worker, group_of(topics, output)
        self._sink_job = SinkJob(topics.job, own, "", tuple(job.store.fields))
        self._mark = bodies.parent / "outputs" / self._group  # is there once rows are committed
        self._is_checked = self._is_marked = False
        self.name, self.failures, self.behind = output.path.name, 0, 0  # behind: records of pages, of its partitions
        self._ending, self._is_lost = threading.Event(), False
        self._error: BaseException | None = None
        self._assigned: list[TopicPartition] = []  # new ones
        self._positions: dict[int, int] = {}  # up to which rows are written, of the partitions of this worker
        self._committed: dict[int, int] = {}
        self._learnt: dict[int, int] = {}  # up to which it is known what was taken back
        self._readers: dict[int, _core.PageReader] = {}
        self._file: OutputFile | None = None
        self._changed_at: float | None = None  # when the first position changed that is not committed
        self._admin = AdminClient(settings)
        self._make_readers()
        self._thread = threading.Thread(target=self._run, name="lycosa-output", daemon=True)

    def _make_readers(self) -> None:
        """Make the readers of pages and of what is released; again after trouble, which a client may remember."""
        self._pages = make_reader(self._settings, self._group)
        # What is committed last is told at once, whether or not a transaction is open.
        uncommitted: Connection = {"isolation.level": "read_uncommitted"}
        self._released = make_reader(self._settings, self._topics.group, uncommitted)

    def start(self) -> None:
        """Begin to write."""
        self._output.prepare()
        self._thread.start()

    def check(self) -> None:
        """Raise the error that ended the thread, if one has."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Write what is released by now, and leave."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        """The thread's body."""
        try:
            while True:
                try:
                    with contextlib.closing(self._join()) as consumer:
                        try:
                            self._write(consumer)
                        except BaseException:
                            # Before the consumer is closed, which gives partitions back and commits what is written.
                            self._abandon()
                            raise
                    return
                except PositionsLost:
                    raise
                except (KafkaException, OSError, LycosaError) as error:
                    self.failures += 1
                    text = error.args[0].str() if isinstance(error, KafkaException) else error
                    logger.warning("output %s: its last file is written again: %s", self._output.url, text)
                    if self._ending.wait(AGAIN):
                        return  # the next worker goes on
                    self._make_readers()
        except BaseException as error:
            self._error = error

    def _write(self, consumer: Consumer) -> None:
        """Write until the end, or until partitions are lost."""
        looked = float("-inf")
        while True:
            is_ending = self._ending.is_set()
            self._poll(consumer, LOOK)
            if is_ending or time.monotonic() - looked >= PASS:
                self._write_released(consumer)
                looked = time.monotonic()
            if is_ending or self._is_due():
                self._commit(consumer)
            if is_ending:
                return

    def _join(self) -> Consumer:
        """A consumer that joins the group; it reads nothing."""
        own: Connection = {
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": int(self._job.cluster.session_timeout * 1000),
        }
        consumer = make_reader(self._settings, self._group, own)

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            places = [TopicPartition(one.topic, one.partition, OFFSET_BEGINNING) for one in partitions]
            consumer.incremental_assign(places)
            consumer.pause(places)
            # Not here: what is raised in a callback of the client is no exception any more.
            self._assigned += places

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            try:
                self._commit(consumer)
            except (KafkaException, OSError, LycosaError):
                self._abandon()
                self._is_lost = True
            gone = [one.partition for one in partitions]
            self._forget(gone)
            self._assigned = [one for one in self._assigned if one.partition not in gone]
            consumer.incremental_unassign(partitions)

        def lost(_: Consumer, partitions: list[TopicPartition]) -> None:
            self._abandon()
            self._is_lost = True
            consumer.incremental_unassign(partitions)

        self._is_lost = False
        self._assigned.clear()
        consumer.subscribe([self._topics.pages], on_assign=assigned, on_revoke=revoked, on_lost=lost)
        return consumer

    def _poll(self, consumer: Consumer, within: float) -> None:
        """Stay a member of the group. Raises KafkaException if partitions were lost."""
        for message in consumer.consume(1, within):
            error = message.error()
            if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise PositionsLost(f"group {self._group}: {error.str()}: allow to describe and to read it")
            if error is not None and error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                raise KafkaException(error)
        if self._is_lost:
            raise KafkaException(KafkaError(KafkaError._STATE, "others have its partitions"))
        if self._assigned:
            self._take_over(consumer)

    def _take_over(self, consumer: Consumer) -> None:
        """Go on where earlier owners of partitions have committed; move files that they could not move any more."""
        places = self._assigned[:]
        self._assigned.clear()
        if not self._is_checked:
            self._check(consumer)
        first = starts(self._admin, [TopicPartition(place.topic, place.partition) for place in places])
        for place in consumer.committed(places, ASK):
            if place.error is not None:
                raise KafkaException(place.error)
            self._output.publish(place.metadata or "")
            oldest = first[place.partition]
            position = max(place.offset, 0)
            if place.offset >= 0 and position < oldest:
                logger.warning(
                    "output %s: pages of partition %d were removed before they were written: raise "
                    "cluster.pages_retention",
                    self._output.url,
                    place.partition,
                )
            self._positions[place.partition] = self._committed[place.partition] = max(position, oldest)
            self._learnt[place.partition] = self._positions[place.partition]
            fields, parse = self._job.store.fields, self._job.parse
            self._readers[place.partition] = _core.PageReader(
                self._bodies, needs_bodies(fields), parse.max_decoded_bytes
            )

    def _check(self, consumer: Consumer) -> None:
        """Publish all files whose rows are committed, and remove what was given up long ago.

        Raises PositionsLost if rows were committed before, and the brokers know nothing of that any more.
        """
        every = [TopicPartition(self._topics.pages, one) for one in range(self._job.cluster.partitions)]
        committed = consumer.committed(every, ASK)
        for place in committed:
            if place.error is not None:
                raise KafkaException(place.error)
            self._output.publish(place.metadata or "")
        if self._mark.exists() and all(place.offset < 0 for place in committed):
            text = f"output {self._output.url}: the brokers do not know any more how far it is "
            text += f"(offsets.retention.minutes): remove {self._mark} to write again all pages that are still there"
            raise PositionsLost(text)
        self._output.clean()
        self._is_checked = True

    def _forget(self, partitions: Iterable[int]) -> None:
        """These partitions are others', or read again."""
        for partition in partitions:
            for of in (self._positions, self._committed, self._learnt, self._readers):
                of.pop(partition, None)

    def _abandon(self) -> None:
        """Forget all that is not committed."""
        self._forget(list(self._positions))
        self._changed_at = None
        if self._file is not None:
            self._file.abandon()
            self._file = None

    def _write_released(self, consumer: Consumer) -> None:
        """Write the rows that are released of all partitions."""
        places = [TopicPartition(self._topics.links, partition) for partition in self._positions]
        told = self._released.committed(places, ASK) if places else []
        released = {place.partition: Released.decode(place.metadata) for place in told if place.error is None}
        self._count_behind(released)
        for partition, until in released.items():
            if partition in self._positions:
                self._write_partition(consumer, partition, until)
        self._count_behind(released)

    def _count_behind(self, released: dict[int, Released]) -> None:
        """Count what could be written and is not."""
        positions = self._positions.items()
        self.behind = sum(max(released[one].pages - at, 0) for one, at in positions if one in released)

    def _write_partition(self, consumer: Consumer, partition: int, released: Released) -> None:
        """Write the rows that are released of one partition."""
        topic, start = self._topics.pages, self._positions[partition]
        if start >= released.pages:
            return
        learnt = max(self._learnt[partition], start)
        reader = self._readers[partition]
        for message in read(self._pages, TopicPartition(topic, partition, learnt), released.taken):
            with contextlib.suppress(*UNREADABLE):  # told when its rows are read
                reader.learn(message.value(), message.offset() + 1)
        self._learnt[partition] = max(learnt, released.taken)
        for message in read(self._pages, TopicPartition(topic, partition, start), released.pages):
            position = message.offset() + 1
            self._add(self._rows(reader, partition, message.value(), position))
            self._advance(partition, position)
            if self._is_due():
                self._commit(consumer)
            self._poll(consumer, 0.0)
            if partition not in self._positions:
                return
        self._advance(partition, released.pages)
        reader.forget(released.pages)

    def _rows(self, reader: _core.PageReader, partition: int, data: bytes, position: int) -> Outcomes:
        """The rows of a message; none of one that cannot be read, which is put to the dead letters."""
        try:
            rows, missing = reader.rows(data, position)
        except UNREADABLE as error:
            text = "output %s: pages of partition %d, message %d, are put to the dead letters: %s"
            logger.error(text, self._output.url, partition, position - 1, error)
            letter = DeadLetter("pages", partition, position, data, str(error))
            append_dead_letter(self._topics, self._settings, letter)
            return Outcomes()
        if missing:
            logger.warning("output %s: %d bodies are missing in %s", self._output.url, missing, self._bodies)
        return rows

    def _add(self, rows: Outcomes) -> None:
        """Add rows to the file."""
        if len(rows) == 0:
            return
        if self._file is None:
            self._file = self._output.begin(self._worker, self._sink_job)
        self._file.write(rows)

    def _advance(self, partition: int, position: int) -> None:
        """The rows of a partition are written up to a position."""
        self._positions[partition] = position
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    def _is_due(self) -> bool:
        """Whether what is written is to be committed."""
        if self._changed_at is None:
            return False
        cluster, size = self._job.cluster, 0 if self._file is None else self._file.bytes
        return size >= cluster.output_bytes or time.monotonic() - self._changed_at >= cluster.output_interval

    def _commit(self, consumer: Consumer) -> None:
        """Complete the file; commit its name and the positions of its rows; move it."""
        changed = {
            partition: position
            for partition, position in self._positions.items()
            if position != self._committed[partition]
        }
        if not changed:
            return
        file, name = self._file, ""
        if file is not None:
            file.complete()
            name = file.name
        places = [
            TopicPartition(self._topics.pages, partition, position, name) for partition, position in changed.items()
        ]
        self._file = None
        for place in consumer.commit(offsets=places, asynchronous=False) or ():
            if place.error is not None:
                raise KafkaException(place.error)
        self._committed.update(changed)
        self._changed_at = None
        if name and not self._output.publish(name):
            logger.error("output %s: file %s is gone, whose rows are committed", self._output.url, name)
        if not self._is_marked:
            self._mark.parent.mkdir(exist_ok=True)
            self._mark.touch()
            self._is_marked = True
