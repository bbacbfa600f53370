"""Whether a job is paused: who pauses it appends that to its control topic, and workers follow it."""

from __future__ import annotations

import json
import logging
import threading
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa.cluster.appending import Record, append
from lycosa.cluster.control import require_job
from lycosa.cluster.reading import MESSAGES, Connection, ends, make_reader, read
from lycosa.cluster.topics import NoBroker, Topics

logger = logging.getLogger("lycosa")

#: Key of these records in the control topic.
KEY = b"paused"

#: Seconds for which messages are waited for, before the end is looked for.
LOOK = 1.0


def set_paused(topics: Topics, settings: Connection, is_paused: bool) -> None:
    """Pause a job, or let it go on. Raises SettingError if there is no such job, or NoBroker."""
    require_job(topics, settings)
    try:
        append(settings, [Record(topics.control, 0, json.dumps(is_paused).encode(), KEY)])
    except KafkaException as error:
        text = f"job {topics.job}: {error.args[0].str()}; it is not known whether it is paused now"
        raise NoBroker(text, error.args[0]) from None


class Pausing:
    """Whether a job is paused; once started, a thread of its own follows that. A context manager."""

    def __init__(self, topics: Topics, settings: Connection) -> None:
        """Look once. Raises NoBroker."""
        self._job, self._is_over = topics.job, threading.Event()
        self._reader = make_reader(settings, topics.group)
        self._thread = threading.Thread(target=self._run, name="lycosa-pausing", daemon=True)
        self.is_paused = False
        self._place = TopicPartition(topics.control, 0, 0)
        try:
            (end,) = ends(AdminClient(settings), [self._place]).values()
            for message in read(self._reader, self._place, end):
                self._note(message)
        except KafkaException as error:
            self._reader.close()
            raise NoBroker(f"job {topics.job}: {error.args[0].str()}", error.args[0]) from None
        self._place.offset = end

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the thread, and the connection."""
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._reader.close()

    def _run(self) -> None:
        """The thread's body. As long as brokers do not answer, all stays as it is."""
        self._reader.assign([self._place])
        while not self._is_over.is_set():
            was = self.is_paused
            for message in self._reader.consume(MESSAGES, LOOK):
                if message.error() is None:
                    self._note(message)
            if self.is_paused != was:
                logger.info("job %s %s", self._job, "is paused" if self.is_paused else "goes on")

    def _note(self, message: Any) -> None:
        """Take note of a record."""
        if message.key() == KEY:
            self.is_paused = message.value() == b"true"
