"""One broker for all tests that kill none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.kafka import Kafka


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    with Kafka() as kafka:
        yield kafka
