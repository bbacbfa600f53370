"""Several masters, one of which serves: real processes and a real PostgreSQL; nobody ever finds two that grant."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lycosa.dispatch import Client
from lycosa.simnet import SimulatedInternet

from tests.dispatch.postgres import FOREIGN, PASSWORD, QUOTED, Postgres
from tests.dispatch.service import Process
from tests.dispatch.test_service import check_courtesy, pages_of

QUOTAS = """
[services.news]
rate = 200
burst = 100

[services.archive]
rate = 2000
placement = "idlest"
"""

#: Of masters: a check of the lock is valid for two seconds.
SETTINGS = ("--period", "0.25", "--hold", "4", "--handover", "0.1")

#: The same for eight seconds, so that a slow disk is told apart from a wait for that.
SLOW = ("--period", "2", "--hold", "40")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as running, pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        yield running


class Masters:
    """Masters of one database, each at a port of its own, and a download server."""

    def __init__(self, folder: Path, postgres: Postgres, ports: list[str]) -> None:
        self._quotas = folder / "quotas.toml"
        self._quotas.write_text(QUOTAS)
        self.folder, self.postgres, self.database = folder, postgres, postgres.new_database()
        self.urls = [f"http://{port}" for port in ports]
        self.processes: list[Process] = []

    def __enter__(self) -> Masters:
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self.processes):
            process.end()

    def start(self, number: int, *settings: str) -> Process:
        """Start a master."""
        arguments = ("--quotas", str(self._quotas), "--state", self.postgres.url(self.database), *SETTINGS, *settings)
        process = Process("master", "--listen", self.urls[number].removeprefix("http://"), *arguments)
        self.processes.append(process)
        return process

    def start_both(self, *settings: str) -> tuple[Process, Process]:
        """Start two masters: the first serves, the second stands by."""
        first = self.start(0, *settings)
        first.told("listening on")
        second = self.start(1, *settings)
        second.told("standing by: another master serves, by the lock in postgresql://keeper@127.0.0.1:")
        return first, second

    def start_server(self, net: SimulatedInternet, name: str) -> None:
        """Start a download server that knows both."""
        job = str(net.job_file(self.folder / f"{name}.toml"))
        arguments = (
            "--job",
            job,
            "--set",
            f"politeness.clock_file={self.folder / f'clocks of {name}'}",
            "--listen",
            "127.0.0.1:0",
        )
        process = Process("downloader", "--name", name, "--master", ",".join(self.urls), *arguments)
        self.processes.append(process)
        process.told("at http")


@pytest.fixture
def masters(tmp_path: Path, postgres: Postgres, free_addresses: list[str]) -> Iterator[Masters]:
    with Masters(tmp_path, postgres, free_addresses) as made:
        yield made


def ask(url: str) -> dict[str, Any]:
    """Ask a master for a grant; returns its answer, an error as it is told, "silent" where nobody listens."""
    part = {"server": None, "count": 1, "digest": "0" * 64}
    question = {"service": "archive", "client": "c", "parts": [part]}
    asked = urllib.request.Request(f"{url}/v1/grants", data=json.dumps(question).encode())
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        with error:
            told: dict[str, Any] = json.load(error)
            return told
    except OSError:
        return {"error": "silent"}


def beat(url: str) -> None:
    """Tell a master of a download server, so that it has one to grant for."""
    given = {"server": "d", "process": "p", "address": "http://127.0.0.1:9", "slots": 10, "speed": 1.0, "free": 1_000}
    given |= {"successes": 0, "failures": 0, "accepted": [], "ring": 0, "members": {}, "clocks": "", "protocol": 1}
    given |= {"queued": {}}
    urllib.request.urlopen(f"{url}/v1/heartbeats", data=json.dumps(given).encode(), timeout=10).close()


def granted(url: str) -> tuple[int, str]:
    """Have one URL granted; returns the serial number and the grant."""
    beat(url)
    [grant] = ask(url)["grants"]
    return grant["serial"], grant["grant"]


def test_a_master_that_is_killed_is_followed_by_another(masters: Masters) -> None:
    with SimulatedInternet(hosts=600, pages=2, speed=100) as net:
        first, second = masters.start_both()
        for name in ("d1", "d2"):
            masters.start_server(net, name)
        urls = pages_of(net, 600)
        assert ask(masters.urls[1]) == {"error": "silent"}, "it stands by: it does not listen"

        async def run() -> list[str]:
            found = []
            async with Client(",".join(masters.urls), "news", batch=100) as client:
                async for response in client.download(urls):
                    found.append(response.url)
                    if len(found) == 20:
                        await asyncio.to_thread(first.kill)
                assert client.pending.again == 0, "what was granted went on"
            return found

        found = asyncio.run(asyncio.wait_for(run(), 60))
        second.told("listening on")
        with urllib.request.urlopen(f"{masters.urls[1]}/statistics", timeout=10) as answer:
            assert 0 < json.load(answer)["services"]["news"]["granted"] < 600
        serial, _ = granted(masters.urls[1])
        report = net.report()
    assert Counter(found) == Counter(urls)
    assert serial >> 32 == 2, "of the second life: greater than all before"
    check_courtesy(report, is_apart=True)


def test_a_master_that_ends_well_is_followed_at_once_by_one_with_the_same_key(masters: Masters) -> None:
    # Whoever follows one that was killed would wait for eight seconds; the lock is asked for each two.
    first, second = masters.start_both(*SLOW)
    serial, _ = granted(masters.urls[0])
    key = urllib.request.urlopen(f"{masters.urls[0]}/v1/key", timeout=10).read()
    masters._quotas.write_text(QUOTAS.replace("archive", "other"))
    assert first.end() == 0
    second.told("listening on", 6)
    assert urllib.request.urlopen(f"{masters.urls[1]}/v1/key", timeout=10).read() == key
    assert ask(masters.urls[1])["error"] == "unknown-service", "quotas are those of now"
    third = masters.start(0, *SLOW)
    third.told("standing by")
    masters._quotas.write_text(QUOTAS)
    assert second.end() == 0
    third.told("listening on", 6)
    assert granted(masters.urls[0])[0] >> 32 == (serial >> 32) + 2


def test_a_master_whose_session_is_cut_ends_and_nobody_grants_meanwhile(masters: Masters) -> None:
    first, second = masters.start_both()
    granted(masters.urls[0])
    masters.postgres.cut(masters.database)
    lives, until = [], time.monotonic() + 6
    while 2 not in lives and time.monotonic() < until:
        for url in masters.urls:
            with contextlib.suppress(OSError, KeyError):  # it may end between heartbeat and question
                lives.append(granted(url)[0] >> 32)
        time.sleep(0.01)
    assert lives == sorted(lives), "a life that is over does not grant"
    assert lives[-1] == 2
    first.told(r"lycosa: the session with postgresql://keeper@127\S+ has ended: .*this master ends")
    assert first.process.wait(10) == 1
    second.told("listening on")
    serial, grant = granted(masters.urls[1])
    assert serial >> 32 == 2
    assert json.loads(base64.urlsafe_b64decode(grant.partition(".")[0] + "=="))["serial"] == serial


@pytest.mark.parametrize("ended", ["by hand", "by the server"])
def test_a_master_that_was_stopped_grants_nothing_when_it_goes_on(masters: Masters, ended: str) -> None:
    first, second = masters.start_both()
    granted(masters.urls[0])
    first.pause()
    if ended == "by hand":
        masters.postgres.cut(masters.database)
    # Else the server ends the session itself, when it has heard nothing for two seconds.
    second.told("listening on")
    serial, _ = granted(masters.urls[1])
    assert serial >> 32 == 2
    first.go_on()
    assert ask(masters.urls[0])["error"] in ("unavailable", "silent")
    assert first.process.wait(10) == 1
    assert granted(masters.urls[1])[0] == serial + 1, "the second goes on"


def test_the_next_master_has_the_ring_of_the_one_before(masters: Masters) -> None:
    first, second = masters.start_both()
    beat(masters.urls[0])
    masters.postgres.run("UPDATE lycosa_master SET ring = replace(ring, '1,', '7,')", masters.database)
    first.process.kill()
    second.told("listening on")
    beat(masters.urls[1])
    [[kept]] = masters.postgres.run("SELECT ring FROM lycosa_master", masters.database)
    assert json.loads(kept) == {"version": 7, "members": {"d": 10 / 128}, "processes": {"d": "p"}}


def test_a_database_that_does_not_answer_ends_the_master(masters: Masters) -> None:
    first = masters.start(0)
    first.told("listening on")
    granted(masters.urls[0])
    [session] = masters.postgres.holders(masters.database)
    os.kill(session, signal.SIGSTOP)
    try:
        granted(masters.urls[0])  # to what is known: of a new ring nobody is told before it is kept
        first.told(r"lycosa: postgresql://\S+ has not answered within \d\.\d s; this master ends", 5)
        assert first.process.wait(10) == 1
    finally:
        os.kill(session, signal.SIGCONT)


@pytest.mark.parametrize(
    ("url", "told", "status"),
    [
        ("mysql://me:hush@127.0.0.1/x", r"--state: 'mysql://…' is not allowed; allowed: a directory, or a URL", 2),
        ("postgresql://me:hu sh%@127.0.0.1/x", r"--state: 'postgresql://…' is not allowed", 2),
        ("postgresql://me:hush/x", r"--state: 'postgresql://…' is not allowed", 2),
        ("postgresql://me:hush@127.0.0.1:1/x", r"--state: postgresql://me@127.0.0.1:1/x cannot be used: .*check", 1),
        ("postgresql://keeper:hush@{place}/postgres", r"postgresql://keeper@\S+ cannot be used: .*password", 1),
        ("postgresql://keeper:{right}@{place}/nowhere", r"cannot be used: .*database \"nowhere\" does not exist", 1),
    ],
)
def test_a_database_that_cannot_be_used_is_told_without_its_password(
    masters: Masters, url: str, told: str, status: int
) -> None:
    place = f"127.0.0.1:{masters.postgres.port}"
    given = url.format(place=place, right=QUOTED)
    one = masters.start(0, "--state", given)
    one.told(told)
    assert one.process.wait(10) == status
    one.end()  # all that it told is read
    text = "\n".join(one.lines)
    assert PASSWORD not in text
    assert QUOTED not in text
    assert "hu" not in text


def test_a_password_may_be_in_the_environment(masters: Masters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    one = masters.start(0, "--state", masters.postgres.url(masters.database, with_password=False))
    one.told("listening on")
    assert one.end() == 0
