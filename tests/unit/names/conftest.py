"""DNS servers for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from lycosa.names.server import Server
from lycosa.names.server_settings import make_settings

Start = Callable[..., Server]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts lower servers of one thread on free ports; what is given comes on top."""
    with ExitStack() as servers:

        def started(*upstreams: str, **others: Any) -> Server:
            given = {"tier": "lower", "listen": "127.0.0.1:0", "upstreams": list(upstreams), "workers": 1}
            return servers.enter_context(Server(make_settings({**given, "capacity": 1_000, **others})))

        yield started
