"""Brokers whose users have rights: what is missing is told at the start, and what is needed is enough."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from lycosa.cluster.submit import submit
from lycosa.cluster.topics import Topics
from lycosa.job import make_job, read_job
from lycosa.simnet import SimulatedInternet

from tests.cluster.kafka import Kafka
from tests.cluster.workers import WHOLE, Workers, settings_of, wait_until_complete


@pytest.fixture(scope="module")
def guarded() -> Iterator[Kafka]:
    with Kafka(has_users=True) as kafka:
        yield kafka


def allow(kafka: Kafka, kind: ResourceType, prefix: str, *operations: AclOperation) -> None:
    """Let the user `crawler` do something."""
    admin = AdminClient(kafka.connection)
    granted, prefixed = AclPermissionType.ALLOW, ResourcePatternType.PREFIXED
    for operation in operations:
        binding = AclBinding(kind, prefix, prefixed, "User:crawler", "*", operation, granted)
        for future in admin.create_acls([binding]).values():
            future.result()


def config_of(kafka: Kafka, folder: Path) -> Path:
    """The file of the connection, which has the password."""
    file = folder / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in kafka.connection_of("crawler").items()))
    return file


def refused(kafka: Kafka, job: Path, folder: Path) -> str:
    """Run a worker that ends at once; returns what it says."""
    command = [sys.executable, "-m", "lycosa", "work", "--job", str(job), "--name", "guarded"]
    command += ["--kafka", kafka.servers, "--kafka-config", str(config_of(kafka, folder)), "--state", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "secret" not in done.stderr
    return done.stderr


def test_rights_that_are_missing_are_told_and_those_that_are_named_are_enough(guarded: Kafka, tmp_path: Path) -> None:
    topics = Topics("guarded")
    with SimulatedInternet(hosts=30, pages=2, seed=3, speed=60) as net:
        job = tmp_path / "job.toml"
        job.write_text(net.job() + settings_of(guarded, WHOLE))
        assert "topic lycosa.guarded.links cannot be made" in refused(guarded, job, tmp_path)
        submit(make_job(read_job(job)), "guarded", guarded.connection)
        allow(guarded, ResourceType.TOPIC, "lycosa.guarded.", AclOperation.DESCRIBE, AclOperation.READ)
        assert "links: rights are missing: write, delete" in refused(guarded, job, tmp_path)
        allow(guarded, ResourceType.TOPIC, "lycosa.guarded.", AclOperation.WRITE, AclOperation.DELETE)
        # Of the group or of transactional IDs, whichever brokers tell first.
        assert "authorization failed" in refused(guarded, job, tmp_path)
        allow(guarded, ResourceType.GROUP, "lycosa.guarded", AclOperation.DESCRIBE)
        assert "transactional ID lycosa.guarded-" in refused(guarded, job, tmp_path)
        prefix = "lycosa.guarded-"
        allow(guarded, ResourceType.TRANSACTIONAL_ID, prefix, AclOperation.DESCRIBE, AclOperation.WRITE)
        assert "group lycosa.guarded: " in refused(guarded, job, tmp_path)
        allow(guarded, ResourceType.GROUP, "lycosa.guarded", AclOperation.READ)
        group = Workers(guarded, job, "guarded", tmp_path, more=["--kafka-config", str(config_of(guarded, tmp_path))])
        try:
            group.start()
            wait_until_complete(topics, guarded, group)
        finally:
            group.close()
        assert net.report()["coverage"]["ratio"] == 1.0
