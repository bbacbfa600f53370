"""Gives the seeds of a job to the partitions that own them."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, Producer

from lycosa import _core
from lycosa.cluster.control import agree
from lycosa.cluster.reading import WAIT, Connection
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
    producer = Producer({**settings, "enable.idempotence": True, "message.max.bytes": topics.largest})
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Any) -> None:
        if error is not None:
            failures.append(error)

    for partition, some in given:
        while True:
            try:
                producer.produce(topics.links, some.encode(), partition=partition, on_delivery=delivered)
            except BufferError:
                producer.poll(0.1)
            else:
                break
    left = producer.flush(WAIT)
    if failures or left:
        why = failures[0].str() if failures else "the brokers do not answer"
        raise NoBroker(f"seeds were not given to all partitions: {why}")
    return len(seeds)


def _prepare(job: Job, topics: Topics, settings: Connection) -> None:
    """Make topics, and agree on settings. Raises NoBroker."""
    make_topics(connect(settings), topics, job.cluster)
    agree(job, topics, settings)
