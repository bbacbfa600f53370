"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.dns_process import Running, Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers in the test's folder, and ends those that still run."""
    with ExitStack() as ends:

        def started(*arguments: str, **others: Any) -> Running:
            running = Running(*arguments, cwd=tmp_path, **others)

            def end() -> None:
                running.process.kill()
                running.process.communicate()

            ends.callback(end)
            return running

        yield started
