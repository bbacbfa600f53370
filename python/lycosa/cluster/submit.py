"""Gives the seeds of a job to the partitions that own them."""

from __future__ import annotations

from confluent_kafka import KafkaException

from lycosa import _core
from lycosa.cluster.appending import Record, append
from lycosa.cluster.control import agree
from lycosa.cluster.reading import Connection
from lycosa.cluster.topics import NoBroker, Topics, connect, make_topics, while_replaced
from lycosa.job import Job
from lycosa.records import Request, Requests

#: Seeds in one record.
PIECE = 500


def submit(job: Job, name: str, settings: Connection) -> int:
    """Add the seeds of a job; returns how many there are. Seeds that the job knows already change nothing.

    Where links are followed on the seeds' hosts or domains only, each partition is told all seeds: the scope.
    Raises NoBroker if they could not be given to all that own them; then submit again.
    """
    topics = Topics(name)
    while_replaced(lambda: _prepare(job, topics, settings))
    partitions = _core.Partitions(job.cluster.partitions, job.frontier.shard_by)
    seeds = job.checked_seeds()
    # In pieces: each is one record.
    pieces = [Requests([Request(url) for url in seeds[at : at + PIECE]]) for at in range(0, len(seeds), PIECE)]
    given = [
        (partition, some)
        for piece in pieces
        for partition, some in (
            partitions.split_requests(piece).items()
            if job.scope == "any"
            else ((partition, piece) for partition in range(job.cluster.partitions))
        )
    ]
    records = (Record(topics.links, partition, some.encode()) for partition, some in given)
    try:
        append(settings, records, topics.largest)
    except KafkaException as error:
        raise NoBroker(f"seeds were not given to all partitions: {error.args[0].str()}") from None
    return len(seeds)


def _prepare(job: Job, topics: Topics, settings: Connection) -> None:
    """Make topics, and agree on settings. Raises NoBroker."""
    make_topics(connect(settings), topics, job.cluster)
    agree(job, topics, settings)
