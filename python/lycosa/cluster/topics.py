"""The topics of a job in Kafka: their names, their settings, and whether those that exist are as they have to be."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from lycosa.cluster.broker import LARGEST
from lycosa.cluster.reading import REACH, REFUSED, WAIT, Connection
from lycosa.cluster.settings import Cluster
from lycosa.errors import LycosaError, SettingError

T = TypeVar("T")

logger = logging.getLogger("lycosa")

#: Bytes that a dead letter may have beside the record itself.
BESIDE = 64 * 1024

DAY_MS = 24 * 3600 * 1000

#: Partitions of a topic between two stages: as many parsers may share one job. How long its messages are kept, in ms:
#: nobody waits for them that long.
STAGE_PARTITIONS, STAGE_MS = 64, 120_000

#: Said of brokers that do not know what is asked of them.
TOO_OLD = "the brokers are too old: Kafka 3.7 or newer is needed"


class NoBroker(LycosaError):
    """No Kafka broker answers, or it refuses this client."""

    def __init__(self, text: str, why: KafkaError | None = None) -> None:
        """why: what the client has told, if it has told something."""
        is_old = why is not None and why.code() == KafkaError._UNSUPPORTED_FEATURE
        super().__init__(f"{text}; {TOO_OLD}" if is_old else text)
        passes = why is not None and (why.retriable() or (why.code() < 0 and why.code() not in REFUSED))
        #: Whether the same may succeed later: a broker is being replaced.
        self.may_pass = passes and not is_old


def while_replaced(work: Callable[[], T]) -> T:
    """Do something at brokers, again while one of them is being started or replaced. Raises NoBroker."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            return work()
        except NoBroker as error:
            if not error.may_pass or time.monotonic() > deadline:
                raise
            logger.info("tried again: %s", error)
            time.sleep(1.0)


NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of a job's topics: all begin with ``lycosa.``, the name of the job, and a dot."""

    job: str
    largest: int = LARGEST

    def __post_init__(self) -> None:
        """Raise SettingError for a name that topics cannot have."""
        if not NAME.fullmatch(self.job):
            raise SettingError("--name", self.job, "1 to 100 letters of ASCII, digits, dots, underscores and hyphens")

    @property
    def group(self) -> str:
        """The consumer group whose members own partitions."""
        return f"lycosa.{self.job}"

    @property
    def links(self) -> str:
        """Links and seeds for the owners of partitions."""
        return f"lycosa.{self.job}.links"

    @property
    def journal(self) -> str:
        """What happened to each partition: accepted links, leases, outcomes."""
        return f"lycosa.{self.job}.journal"

    @property
    def pages(self) -> str:
        """Outcomes with their bodies, for outputs."""
        return f"lycosa.{self.job}.pages"

    @property
    def status(self) -> str:
        """How each partition stands: the last record of each key."""
        return f"lycosa.{self.job}.status"

    @property
    def control(self) -> str:
        """The job itself: its settings, which are the first record."""
        return f"lycosa.{self.job}.control"

    @property
    def responses(self) -> str:
        """Responses for parsers, where stages are apart."""
        return f"lycosa.{self.job}.responses"

    @property
    def outcomes(self) -> str:
        """Outcomes of parsers."""
        return f"lycosa.{self.job}.outcomes"

    def all(self, *, with_stages: bool = False) -> tuple[str, ...]:
        """All of them; those between stages only where these are apart."""
        own = self.links, self.journal, self.pages, self.status, self.control, self.dead_letters
        return (*own, self.responses, self.outcomes) if with_stages else own

    @property
    def dead_letters(self) -> str:
        """Records that nobody could read, with the reason."""
        return f"lycosa.{self.job}.dead-letters"


def connect(settings: Connection) -> AdminClient:
    """Return a client of brokers that answer.

    Raises SettingError for settings that librdkafka refuses, or NoBroker.
    """
    try:
        admin = AdminClient(settings)
    except KafkaException as error:
        # Names alone: there may be a password among the values.
        given = ", ".join(settings)
        raise SettingError("--kafka-set", given, f"librdkafka's settings ({error.args[0].str()})") from None
    deadline = time.monotonic() + REACH
    while True:
        try:
            admin.list_topics(timeout=REACH)
        except KafkaException as error:
            # One that has just begun tells a part.
            if error.args[0].code() == KafkaError._PARTIAL and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            where = settings.get("bootstrap.servers")
            text = f"{where}: no broker can be asked: {error.args[0].str()}; --kafka names them, --kafka-set says how"
            raise NoBroker(text) from None
        return admin


def make_topics(admin: AdminClient, topics: Topics, cluster: Cluster, *, with_stages: bool = False) -> None:
    """Make a job's topics where they are missing, and check those that exist.

    with_stages: also those between stages that are apart. Raises NoBroker, or SettingError if existing topics have
    another number of partitions.
    """
    partitions, replicas = cluster.partitions, cluster.replicas
    # Never removed by age: a snapshot may need what is old.
    safe = {"min.insync.replicas": str(max(replicas - 1, 1)), "max.message.bytes": str(topics.largest)}
    forever = {**safe, "retention.ms": "-1"}
    # Small segments: the newest one is never compacted, and who asks for the status reads it.
    compact = {**safe, "cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.2"}
    letters = {"retention.ms": str(30 * DAY_MS), "max.message.bytes": str(topics.largest + BESIDE)}
    wanted = {
        topics.links: (partitions, forever),
        topics.journal: (partitions, forever),
        topics.pages: (partitions, {**safe, "retention.ms": str(round(cluster.pages_retention * 1000))}),
        topics.status: (1, compact),
        topics.control: (1, forever),
        topics.dead_letters: (1, {**safe, **letters}),
    }
    if with_stages:
        brief = {**safe, "retention.ms": str(STAGE_MS), "segment.ms": str(STAGE_MS // 2)}
        wanted |= {topics.responses: (STAGE_PARTITIONS, brief), topics.outcomes: (STAGE_PARTITIONS, brief)}
    made = admin.create_topics(
        [NewTopic(name, count, replicas, config=config) for name, (count, config) in wanted.items()],
        operation_timeout=WAIT,
        request_timeout=WAIT,
    )
    for name, future in made.items():
        try:
            future.result()
        except KafkaException as failed:
            error = failed.args[0]
            # Who may not make topics may use those that an operator has made.
            is_there = error.code() in REFUSED and _exists(admin, name)
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS and not is_there:
                raise NoBroker(f"topic {name} cannot be made: {error.str()}", error) from None
    for name, (count, _) in wanted.items():
        if (has := _count(admin, name)) != count:
            if name in (topics.responses, topics.outcomes):
                text = f"topic {name} has {has} partitions; stages need {count}: remove it, or make it with so many"
                raise NoBroker(text)
            allowed = f"{has}, which topic {name} has; or another name for the job, or remove the topic"
            raise SettingError("cluster.partitions", count, allowed)


def _exists(admin: AdminClient, name: str) -> bool:
    """Whether a topic is there. Raises NoBroker."""
    try:
        return admin.list_topics(name, timeout=WAIT).topics[name].error is None
    except KafkaException as error:
        raise NoBroker(f"topic {name}: {error.args[0].str()}", error.args[0]) from None


def _count(admin: AdminClient, name: str) -> int:
    """The partitions of a topic, once the broker that is asked knows it. Raises NoBroker."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            found = admin.list_topics(name, timeout=WAIT).topics[name]
        except KafkaException as error:
            raise NoBroker(f"topic {name}: {error.args[0].str()}", error.args[0]) from None
        if found.error is None and found.partitions:
            return len(found.partitions)
        if time.monotonic() > deadline:
            raise NoBroker(f"topic {name} was made, and no broker tells its partitions: {found.error}")
        time.sleep(0.1)
