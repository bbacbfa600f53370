"""The job of a cluster: its settings, on which all workers agree, and how it stands."""

from __future__ import annotations

import contextlib
import json
import logging
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa.cluster.appending import Record, append
from lycosa.cluster.reading import WAIT, Connection, ends, make_reader, read
from lycosa.cluster.status import Status, is_over
from lycosa.cluster.topics import NoBroker, Topics, connect
from lycosa.errors import SettingError
from lycosa.job import Job, make_job

logger = logging.getLogger("lycosa")

#: Key of the settings in the control topic.
JOB = b"job"

#: In the same record: the number of the job.
NUMBER = "number"

#: Key of a record that the job was imported: its partitions began with snapshots.
IMPORT = b"imported"

#: States of a group that has members.
AT_WORK = {
    ConsumerGroupState.STABLE,
    ConsumerGroupState.PREPARING_REBALANCING,
    ConsumerGroupState.COMPLETING_REBALANCING,
}

#: Settings that may differ between workers: what each has, and where it keeps it.
OWN = {
    ("memory",),
    ("fetch", "slots"),
    ("fetch", "idle_connections"),
    ("names", "cache_file"),
    ("names", "capacity"),
    ("names", "resolvers"),
    ("parse", "threads"),
    ("politeness", "clock_file"),
    ("seeds",),
}


def jobs_at_work(settings: Connection) -> list[str]:
    """Return the names of jobs that have workers, as far as the rights of this client show them. Raises NoBroker."""
    admin = connect(settings)
    try:
        topics = admin.list_topics(timeout=WAIT).topics
        groups = admin.list_consumer_groups(states=AT_WORK, request_timeout=WAIT).result().valid
    except KafkaException as error:
        raise NoBroker(f"groups cannot be listed: {error.args[0].str()}", error.args[0]) from None
    prefix = "lycosa."
    # Groups of others may begin so too, with what could be no job's name.
    found = (group.group_id for group in groups if f"{group.group_id}.control" in topics)
    return sorted(group.removeprefix(prefix) for group in found if group.startswith(prefix))


def agree(job: Job, topics: Topics, settings: Connection) -> str:
    """Record the settings of a job, or compare them with those that are recorded; returns the number of the job.

    A setting that another version does not know has to have its default. Raises SettingError with the first
    difference, or NoBroker.
    """
    own = _told(job)
    try:
        recorded = _first(topics, settings)
    except KafkaException as error:
        text = f"job {topics.job}: its settings cannot be read: {error.args[0].str()}"
        raise NoBroker(text, error.args[0]) from None
    if recorded is None:
        told = {**own, NUMBER: uuid.uuid4().hex}
        why = "they cannot be read again; look at the rights of this client"
        try:
            append(settings, [Record(topics.control, 0, json.dumps(told).encode(), JOB)])
        except KafkaException as error:  # another worker may have recorded them
            why = error.args[0].str()
        # Of two workers that begin at one time, the first record counts.
        recorded = _first(topics, settings)
        if recorded is None:
            raise NoBroker(f"job {topics.job}: its settings could not be recorded: {why}")
    number = str(recorded.pop(NUMBER, ""))
    usual = _told(make_job({}))
    for name, value in sorted(own.items()):
        other = recorded.get(name, usual[name])
        if value != other:
            allowed = f"{other!r}, as other workers of job {topics.job} have it; or another name"
            raise SettingError(name, value, allowed)
    if unknown := sorted(recorded.keys() - own.keys()):
        logger.warning("job %s has settings that this version does not know: %s", topics.job, ", ".join(unknown))
    return number


def recorded_settings(topics: Topics, settings: Connection) -> tuple[str, dict[str, Any]]:
    """Return the number of a job, and the settings, by name, on which all its workers agree. Raises NoBroker."""
    try:
        recorded = _first(topics, settings)
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: its settings cannot be read: {error.args[0].str()}") from None
    if recorded is None:
        raise NoBroker(f"job {topics.job}: its settings were not recorded: submit it first")
    return str(recorded.pop(NUMBER, "")), recorded


def tell_imported(topics: Topics, settings: Connection) -> None:
    """Record that a job is imported. Raises NoBroker."""
    try:
        append(settings, [Record(topics.control, 0, b"", IMPORT)])
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}; import it again", error.args[0]) from None


def is_imported(topics: Topics, settings: Connection) -> bool:
    """Return whether a job was imported. Raises NoBroker."""
    try:
        return any(message.key() == IMPORT for message in _records(topics, settings))
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}", error.args[0]) from None


def require_job(topics: Topics, settings: Connection) -> None:
    """Raise SettingError if the brokers know no such job, or NoBroker."""
    try:
        known = connect(settings).list_topics(timeout=WAIT).topics
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None
    if topics.control not in known:
        prefix, suffix = "lycosa.", ".control"
        jobs = sorted(
            name[len(prefix) : -len(suffix)]
            for name in known
            if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix + suffix)
        )
        allowed = f"a job that was submitted: {', '.join(jobs)}" if jobs else "none: no job was submitted"
        raise SettingError("--name", topics.job, allowed)


def status(topics: Topics, settings: Connection) -> tuple[dict[int, Status], bool]:
    """Return how each partition stands, as its owner told last, and whether the job is over. Raises NoBroker."""
    admin = connect(settings)
    statuses: dict[int, Status] = {}
    try:
        (end,) = ends(admin, [TopicPartition(topics.status, 0)]).values()
        with contextlib.closing(make_reader(settings, topics.group)) as reader:
            for message in read(reader, TopicPartition(topics.status, 0, 0), end):
                statuses[int(message.key())] = Status.decode(message.value())
        known = admin.list_topics(topics.links, timeout=WAIT).topics[topics.links].partitions
        last = ends(admin, [TopicPartition(topics.links, partition) for partition in known])
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None
    used = {partition: end for partition, end in last.items() if end > 0}
    return statuses, bool(used) and is_over(statuses, used)


def behind(topics: Topics, settings: Connection, statuses: Mapping[int, Status]) -> dict[str, int]:
    """Return how many records of pages each output has not committed yet, by its name. Raises NoBroker."""
    admin, prefix = connect(settings), f"{topics.group}.output."
    found: dict[str, int] = {}
    places = [TopicPartition(topics.pages, partition) for partition in statuses]
    try:
        groups = [one.group_id for one in admin.list_consumer_groups(request_timeout=WAIT).result().valid]
        for group in groups:
            if group.startswith(prefix) and places:
                with contextlib.closing(make_reader(settings, group)) as reader:
                    committed = {place.partition: max(place.offset, 0) for place in reader.committed(places, WAIT)}
                left = (max(status.pages - committed[one], 0) for one, status in statuses.items())
                found[group.removeprefix(prefix)] = sum(left)
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None
    return found


def _first(topics: Topics, settings: Connection) -> dict[str, Any] | None:
    """The settings that were recorded first; `None`: none were."""
    for message in _records(topics, settings):
        if message.key() == JOB:
            found: dict[str, Any] = json.loads(message.value())
            return found
    return None


def _records(topics: Topics, settings: Connection) -> Iterator[Any]:
    """The records of the control topic. Raises KafkaException."""
    (end,) = ends(AdminClient(settings), [TopicPartition(topics.control, 0)]).values()
    with contextlib.closing(make_reader(settings, topics.group)) as reader:
        yield from read(reader, TopicPartition(topics.control, 0, 0), end)


def _told(job: Job) -> dict[str, Any]:
    """The settings that all workers have to agree on, by name."""
    found: dict[str, Any] = {}
    for section, values in job.model_dump(mode="json").items():
        if isinstance(values, dict) and section != "usage":
            found |= {f"{section}.{name}": value for name, value in values.items() if (section, name) not in OWN}
        elif (section,) not in OWN:
            found[section] = values
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]  # a dictionary is one again
