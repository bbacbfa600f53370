"""The settings of a cluster: the section ``cluster`` of a job."""

# Annotations are not postponed: pydantic would have to compile each of them at the start.

from lycosa.model import Field, Section


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
    snapshot_interval: float = Field(
        60.0,
        ge=1,
        le=86_400,
        description="time in s between two snapshots of a partition: its next owner replays what came since",
    )
