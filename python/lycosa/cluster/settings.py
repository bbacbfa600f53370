"""The settings of a cluster: the section ``cluster`` of a job."""

# Annotations are not postponed: pydantic would have to compile each of them at the start.

from typing import Annotated

from lycosa.model import Field, Section, Unit


class Cluster(Section):
    """Many workers on one job: partitions of the frontier, whose log is in Kafka."""

    partitions: int = Field(
        256,
        ge=1,
        le=10_000,
        description="partitions of the frontier, which workers share: several for each worker that the job may ever "
        "have. Fixed for the life of a job",
    )
    replicas: int = Field(
        3, ge=1, le=9, description="copies of each topic that is made: brokers that have its records"
    )
    session_timeout: float = Field(
        10.0,
        ge=6,
        le=60,
        description="time in s after which a silent worker's partitions are given to others; the brokers' "
        "group.min.session.timeout.ms and group.max.session.timeout.ms bound it",
    )
    commit_interval: float = Field(
        0.1,
        ge=0.01,
        le=1,
        description="minimum time in s from one transaction of a lane to the next: a request waits for one",
    )
    pages: bool = Field(
        True, description="whether outcomes are kept with their bodies, in a topic that outputs follow"
    )
    pages_retention: float = Field(
        7 * 86_400.0,
        ge=60,
        le=3_650 * 86_400.0,
        description="time in s for which the topic of pages is kept: outputs that stay behind for longer lack pages",
    )
    inline_bytes: Annotated[int, Unit("bytes")] = Field(
        1 << 20,
        ge=0,
        le=8 << 20,
        description="size of a body up to which it is kept in Kafka; larger ones are files of the state directory",
    )
    output_interval: float = Field(
        60.0,
        ge=1,
        le=3_600,
        description="time in s after which a file of an output is complete: none of its rows is seen before",
    )
    output_bytes: Annotated[int, Unit("bytes")] = Field(
        256 << 20,
        ge=1 << 20,
        le=4 << 30,
        description="bytes of rows after which a file of an output is complete",
    )
    snapshot_interval: float = Field(
        60.0,
        ge=1,
        le=86_400,
        description="time in s between two snapshots of a partition: its next owner replays what came since",
    )
