"""``lycosa dns top``: what a server does, for people and programs."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lycosa.cli.dns_top import compare, render
from lycosa.names.metrics import FAMILIES
from rich.console import Console

from tests.unit.cli.dns_process import COMMAND, Start, command, resolve, serve

if TYPE_CHECKING:
    from tests.conftest import DnsServer


def test_top_tells_programs_what_a_server_does(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    running = serve(start, dns.address)
    resolve(running, "a.example", "gone.example")
    top = [*COMMAND, "top", "--http", running.http, "--once", "--json"]
    with subprocess.Popen(top, stdout=subprocess.PIPE, text=True) as looking:
        until = time.monotonic() + 20
        number = 0
        while looking.poll() is None:
            assert time.monotonic() < until
            resolve(running, f"n{number}.example", "a.example")
            number += 1
        assert looking.stdout is not None
        figures = json.loads(looking.stdout.read())
    assert looking.returncode == 0
    assert (figures["tier"], figures["status"], figures["listening"]) == ("lower", "ok", [running.address])
    assert figures["questions_per_second"]["udp"] > 0
    assert figures["answers_per_second"]["noerror"] > 0
    assert 0.3 < figures["hit_rate"] < 0.7
    assert figures["upstreams"][0]["questions_per_second"] > 0
    assert figures["cache"]["names"] > 2
    for source in ("cache", "upstream"):
        times = figures["answer_seconds"][source]
        assert 0 < times["p50"] <= times["p99"] <= 10
    assert figures["upstreams"][0]["round_trip_seconds"]["p50"] > 0


def test_top_shows_people_the_same(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    running = serve(start, dns.address)
    done = command("top", "--http", running.http, "--once", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("lower tier", running.address, "questions/s", "from cache", dns.address):
        assert part in done.stdout


def test_top_tells_programs_until_they_have_had_enough(start: Start, dns: DnsServer) -> None:
    running = serve(start, dns.address)
    top = [*COMMAND, "top", "--http", running.http, "--json"]
    with subprocess.Popen(top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as looking:
        assert looking.stdout is not None
        uptimes = [json.loads(looking.stdout.readline())["uptime"] for _ in range(2)]
        looking.send_signal(signal.SIGINT)
        rest, errors = looking.communicate(timeout=10)
    assert 0.5 < uptimes[1] - uptimes[0] < 3
    assert (looking.returncode, rest, errors) == (0, "", "")


def test_top_is_live_on_a_terminal_and_waits_for_a_server_to_come_back(start: Start, dns: DnsServer) -> None:
    running = serve(start, dns.address)
    parent, child = pty.openpty()
    looking = subprocess.Popen(
        [*COMMAND, "top", "--http", running.http],
        stdin=child,
        stdout=child,
        stderr=child,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(child)

    def wait_for(part: bytes) -> None:
        seen, until = b"", time.monotonic() + 20
        while part not in seen:
            assert time.monotonic() < until, seen
            if select.select([parent], [], [], 1)[0]:
                seen += os.read(parent, 65_536)

    wait_for(b"questions/s")
    assert running.end() == 0
    wait_for(b"trying again")
    looking.send_signal(signal.SIGINT)
    wait_for(b"\x1b[?1049l")  # the terminal is as it was
    assert looking.wait(10) == 0
    os.close(parent)


def test_top_without_a_server_says_what_to_do(dns: DnsServer, tmp_path: Path) -> None:
    done = command("top", "--http", "127.0.0.1:9", "--once", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "lycosa: cannot read statistics from 127.0.0.1:9: Connection refused; "
        "`lycosa dns` serves them at its --http address\n"
    )


def look(pid: int, seconds: float, **counts: int) -> dict[str, Any]:
    """What a server tells that has one upstream."""
    names = [count for family in FAMILIES for count, _ in family.series]
    upstream = {"server": "192.0.2.1:53", "round_trip": 0.02, "window": 64, "is_resting": False, "timeouts": 0}
    return {
        "version": "1",
        "pid": pid,
        "tier": "upper",
        "listening": ["127.0.0.1:53"],
        "seconds": seconds,
        "status": "ok",
        "fallen_back": None,
        "statistics": dict.fromkeys(names, 0) | counts,
        "upstreams": [{**upstream, "questions": counts.get("misses", 0)}],
    }


def test_rates_are_of_the_time_between_two_looks() -> None:
    before = look(7, 100.0, questions_udp=1_000, hits=900, misses=100, answers_noerror=1_000)
    after = look(7, 102.0, questions_udp=1_400, hits=1_200, misses=200, answers_noerror=1_390, limited=10)
    figures = compare(before, after)
    assert figures["questions_per_second"] == {"udp": 200.0, "tcp": 0.0}
    assert figures["answers_per_second"]["noerror"] == 195.0
    assert (figures["hit_rate"], figures["per_second"]["limited"]) == (0.75, 5.0)
    assert figures["upstreams"][0]["questions_per_second"] == 50.0


def timed(found: dict[str, Any], **counts: list[int]) -> dict[str, Any]:
    """The same with times: of answers by source, and of the upstream's replies as of those from it."""
    times = {source: {"counts": each, "sum": 0.0} for source, each in counts.items()}
    upstream = found["upstreams"][0] | {"round_trips": times["upstream"]}
    return found | {"time_bounds": [0.001, 0.1], "answer_seconds": times, "upstreams": [upstream]}


def test_times_are_of_what_was_answered_between_two_looks() -> None:
    before = timed(look(7, 1.0), cache=[50, 0, 0], upstream=[0, 0, 9], stale=[5, 0, 0])
    after = timed(look(7, 2.0), cache=[150, 0, 0], upstream=[0, 2, 9], stale=[5, 0, 0])
    figures = compare(before, after)
    assert figures["answer_seconds"] == {
        "cache": {"p50": pytest.approx(0.0005), "p99": pytest.approx(0.00099)},
        "upstream": {"p50": pytest.approx(0.0505), "p99": pytest.approx(0.09901)},
    }
    assert figures["upstreams"][0]["round_trip_seconds"] == figures["answer_seconds"]["upstream"]
    text = io.StringIO()
    Console(file=text, width=120).print(render(figures))
    assert "cache 500 µs, 990 µs; upstream 50.5 ms, 99.0 ms" in text.getvalue()


def test_a_server_that_began_anew_counts_from_its_start() -> None:
    before = look(7, 100.0, questions_udp=1_000)
    after = look(8, 0.5, questions_udp=20)
    assert compare(before, after)["questions_per_second"]["udp"] == 40.0


def test_nothing_asked_has_no_hit_rate_and_is_shown() -> None:
    figures = compare(look(7, 1.0), look(7, 2.0))
    assert figures["hit_rate"] is None
    text = io.StringIO()
    Console(file=text, width=120).print(render(figures))
    assert "upper tier on 127.0.0.1:53" in text.getvalue()
    assert "20.0 ms" in text.getvalue()
