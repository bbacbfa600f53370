"""The query log of ``lycosa dns``."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.unit.cli.dns_process import Start, command, resolve, serve, statistics

if TYPE_CHECKING:
    from tests.conftest import DnsServer


def logged(file: Path, count: int) -> list[dict[str, Any]]:
    """The lines of a log once there are so many."""
    until = time.monotonic() + 20
    while len(lines := file.read_text(encoding="ascii").splitlines()) < count:
        assert time.monotonic() < until, lines
        time.sleep(0.01)
    return [json.loads(line) for line in lines]


def test_questions_are_logged_and_the_log_can_be_rotated(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    file, settings = tmp_path / "queries.jsonl", tmp_path / "dns.toml"
    settings.write_text("query_log_clients = true\n")
    running = serve(start, dns.address, "--config", str(settings), "--query-log", file.name)
    begin = datetime.now(UTC)
    resolve(running, "a.example")
    resolve(running, "a.example")
    asked, hit = logged(file, 2)
    assert (asked["name"], asked["type"], asked["code"], asked["transport"]) == ("a.example", "A", "NOERROR", "udp")
    assert (asked["source"], hit["source"], asked["client"]) == ("upstream", "cache", "127.0.0.1")
    assert begin <= datetime.fromisoformat(asked["time"]) <= datetime.fromisoformat(hit["time"]) <= datetime.now(UTC)
    assert asked["microseconds"] > 0
    assert file.stat().st_mode & 0o777 == 0o640
    file.rename(tmp_path / "old.jsonl")
    settings.write_text("query_log_clients = '/8'\n")
    running.process.send_signal(signal.SIGHUP)
    assert "changed: query_log_clients" in running.line()
    resolve(running, "gone.example")
    (after,) = logged(file, 1)
    assert (after["name"], after["code"], after["client"]) == ("gone.example", "NXDOMAIN", "127.0.0.0/8")
    assert len(logged(tmp_path / "old.jsonl", 2)) == 2
    assert statistics(running)["statistics"]["query_log_dropped"] == 0


def test_questions_can_be_logged_on_standard_output(start: Start, dns: DnsServer) -> None:
    running = serve(start, dns.address, "--query-log", "-", stdout=subprocess.PIPE)
    names = [f"n{number}.example" for number in range(50)]
    resolve(running, *names)
    assert running.end() == 0
    assert running.process.stdout is not None
    lines = [json.loads(line) for line in running.process.stdout.read().splitlines()]
    assert sorted(line["name"] for line in lines) == sorted(names)
    assert {line["client"] for line in lines} == {"127.0.0.0/24"}


def test_a_full_disk_stops_the_log_alone_and_is_told_once(start: Start, dns: DnsServer) -> None:
    running = serve(start, dns.address, "--query-log", "/dev/full")
    resolve(running, "a.example")
    told = "query_log: /dev/full: No space left on device (os error 28); questions are answered, but not logged"
    assert told in running.line()
    for number in range(3):
        assert resolve(running, f"n{number}.example") == [["192.0.2.1"]]
        time.sleep(1.1)
    assert statistics(running)["statistics"]["query_log_dropped"] == 4
    assert running.end() == 0
    assert running.process.stderr is not None
    assert running.said + running.process.stderr.read() == b""


def test_a_log_that_cannot_be_opened_is_told_in_one_line(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    done = command(
        *("--tier", "lower", "--listen", "127.0.0.1:0", "--upstream", dns.address, "--query-log", "/nowhere/log"),
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("query_log: /nowhere/log: No such file or directory (os error 2)\n")
    assert done.stderr.count("\n") == 1
