"""A cache of names whose file is cut under programs that have it open: they go on, and say so."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lycosa.names import Cache
from lycosa.names.server import Server
from lycosa.names.server_settings import make_settings

if TYPE_CHECKING:
    from tests.conftest import DnsServer

NAMES = [f"n{number}.example.com" for number in range(200)]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged of a cut file, by a thread of its own, within a moment."""
    until = time.monotonic() + 5
    while not (found := [text for text in caplog.messages if "truncated or overwritten" in text]):
        assert time.monotonic() < until, "nothing was logged"
        time.sleep(0.01)
    return found


def test_a_cut_file_empties_the_cache_and_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "names.cache"
    with caplog.at_level(logging.WARNING, "lycosa"), Cache(path, capacity=1_000) as cache:
        cache.put_many([(name, ["192.0.2.1"], 3600) for name in NAMES])
        before = cache.fallen_back
        os.truncate(path, 0)
        for _ in range(3):
            assert [cache.get(name) for name in NAMES] == [None] * len(NAMES)
        told = cache.fallen_back
        assert (before, f"lycosa cache rebuild {path}" in (told or "")) == (None, True)
        assert warnings(caplog) == [told]
    with Cache(path, capacity=1_000) as new:
        new.put_many([(NAMES[0], ["192.0.2.1"], 3600)])
        assert new.get(NAMES[0]) is not None


def test_a_server_whose_file_is_cut_goes_on_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, start_dns: Callable[..., DnsServer]
) -> None:
    path, upstream = tmp_path / "names.cache", start_dns()
    given = {"tier": "lower", "listen": "127.0.0.1:0", "upstreams": [upstream.address], "workers": 1}
    with (
        caplog.at_level(logging.WARNING, "lycosa"),
        Server(make_settings({**given, "capacity": 1_000, "cache": path})) as server,
    ):

        def ask(name: str) -> bytes:
            address, _, port = server.listening[0].rpartition(":")
            command = ["dig", f"@{address}", "-p", port, "+short", "+tries=1", "+time=3", name]
            return subprocess.run(command, capture_output=True, timeout=30).stdout

        assert ask("before.example") == b"192.0.2.1\n"
        os.truncate(path, 0)
        for name in ("before.example", "after.example", "after.example"):
            assert ask(name) == b"192.0.2.1\n"
        assert warnings(caplog) == [server.fallen_back]
        assert upstream.asked["after.example"] == 2


def test_a_fault_that_is_not_of_a_cache_is_left_to_the_handler_of_before(tmp_path: Path) -> None:
    program = """
import faulthandler, mmap, os, sys
from lycosa.names import Cache
faulthandler.enable()
with Cache(sys.argv[1], capacity=1_000), open(sys.argv[2], "w+b") as file:
    file.truncate(8_192)
    with mmap.mmap(file.fileno(), 8_192) as mapped:
        file.truncate(0)
        mapped[5_000]
"""
    command = [sys.executable, "-c", program, str(tmp_path / "names.cache"), str(tmp_path / "other")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, "Bus error" in done.stderr) == (-7, True), done.stderr
