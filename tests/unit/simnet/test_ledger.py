"""Ledger files: written while serving, judged afterwards, and one line for what is wrong with them."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from lycosa.errors import SettingError
from lycosa.simnet import Ledger, SimulatedInternet

SIMNET = [sys.executable, "-m", "lycosa", "simnet"]


def simnet(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``lycosa simnet`` to its end."""
    return subprocess.run([*SIMNET, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def fetch(net: SimulatedInternet, name: str, path: str, times: int = 1) -> None:
    """Ask a host for a path, over one connection."""
    connection = http.client.HTTPConnection(net.hosts[name], net.http_port, timeout=10)
    for _ in range(times):
        connection.request("GET", path, headers={"Host": name})
        connection.getresponse().read()
    connection.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A ledger of a polite and a rude visit; the file and the two hosts' names."""
    path = tmp_path_factory.mktemp("ledger") / "two.ledger"
    with SimulatedInternet(hosts=12, pages=3, seed=5, speed=10, ledger=path) as net:
        polite, rude = list(net.hosts)[:2]
        fetch(net, polite, "/robots.txt")
        fetch(net, rude, "/", times=3)
        fetch(net, rude, "/no-such-page")
        # While it is written it says the same as afterwards.
        assert net.report()["totals"]["requests"] == 5
    return path, polite, rude


def test_a_file_says_what_memory_says(tmp_path: Path) -> None:
    reports = []
    for ledger in (None, tmp_path / "ledger"):
        with SimulatedInternet(hosts=12, pages=3, seed=5, ledger=ledger) as net:
            fetch(net, list(net.hosts)[1], "/", times=2)
        report = net.report()
        # Only ports and times differ.
        report["coverage"].pop("missed")
        report["repeats"].pop("top")
        reports.append([report["totals"]["by_kind"], report["coverage"], report["repeats"]])
    assert reports[0] == reports[1]
    assert reports[1][0] == Ledger(tmp_path / "ledger").report()["totals"]["by_kind"]


def test_a_ledger_is_judged_without_the_simulated_internet(recorded: tuple[Path, str, str]) -> None:
    path, polite, rude = recorded
    ledger = Ledger(path)
    assert ledger.damage is None
    assert ledger.header["params"]["speed"] == 10
    report = ledger.report()
    assert report["damage"] is None
    assert report["totals"]["requests"] == 5
    assert report["totals"]["by_kind"] == {"page": 3, "robots": 1, "unknown": 1}
    assert report["robots"]["before_robots"] == 4
    never = report["habits"]["robots_never_asked"]
    assert (never["hosts"], never["of"], never["first"]) == (1, 1, [rude])
    timeline = ledger.timeline(host=rude)
    assert (timeline["count"], timeline["violations"]) == (4, 4)
    first, second = timeline["entries"][:2]
    assert (first["gap_s"], first["verdicts"]) == (None, ["before robots.txt"])
    assert second["gap_s"] < second["allowed_s"] == 0.1
    assert ledger.timeline(host=polite.upper())["entries"][0]["verdicts"] == []
    assert ledger.timeline(violations=True, limit=1)["count"] == 4
    assert ledger.timeline(address=first["address"])["count"] >= 4
    assert sum(ledger.series()["requests"]) == 5
    assert ledger.report(until=1e-6)["totals"]["requests"] == 0


def test_a_flood_is_complete(tmp_path: Path) -> None:
    each, clients = 3_000, 8
    ledger = tmp_path / "flood"
    with SimulatedInternet(hosts=4, pages=2, ledger=ledger) as net:
        name, address = next(iter(net.hosts.items()))
        ask = f"GET /robots.txt HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()

        def flood() -> None:
            with socket.create_connection((address, net.http_port), timeout=30) as client:
                # Pipelined, so that the client is no bottleneck; the last one closes.
                sender = threading.Thread(target=client.sendall, args=(ask * each,))
                sender.start()
                answers, mark, rest = 0, b"HTTP/1.1 ", b""
                while answers < each and (received := client.recv(1 << 20)):
                    # A mark may be cut in two by the end of what was received.
                    rest += received
                    answers += rest.count(mark)
                    rest = rest[1 - len(mark) :]
                sender.join()

        threads = [threading.Thread(target=flood) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = Ledger(ledger).report()
    assert report["damage"] is None
    assert report["totals"]["by_kind"] == {"robots": each * clients}
    assert report["totals"]["incomplete"] == 0
    assert ledger.stat().st_size < 40 * each * clients


def test_a_cut_ledger_says_what_is_missing(recorded: tuple[Path, str, str], tmp_path: Path) -> None:
    whole = recorded[0].read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: len(whole) * 99 // 100])
    damage = Ledger(cut).damage
    assert damage is not None
    assert "truncated" in damage
    assert "missing" in damage
    done = simnet("report", cut, "--json")
    assert done.returncode == 0
    assert damage in done.stderr
    assert json.loads(done.stdout)["damage"]["why"] == "truncated"


def test_the_command_line_writes_and_asks(tmp_path: Path) -> None:
    ledger = tmp_path / "own.ledger"
    done = simnet("--hosts", "5", "--no-namespace", "--ledger", ledger, "--", "true")
    assert done.returncode == 0, done.stderr
    done = simnet("report", ledger)
    assert done.returncode == 0
    assert "coverage" in done.stdout
    assert done.stderr == ""


def test_timelines_are_lines_that_are_never_cut(recorded: tuple[Path, str, str]) -> None:
    path, _, rude = recorded
    lines = simnet("report", path, "--host", rude).stdout.splitlines()
    assert len(lines) == 6
    assert f"http://{rude}:" in lines[2]
    assert lines[2].endswith("/")
    assert "before robots.txt, too close to the host" in lines[2]
    assert lines[-1] == "4 requests, 4 with a violation"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/no/such/ledger"], ["LEDGER", "/no/such/ledger", "No such file"]),
        ([__file__], ["LEDGER", "lycosa simnet --ledger"]),
        (["{ledger}", "--host", "no.such.host"], ["host", "no.such.host", "12 hosts"]),
        (["{ledger}", "--address", "10.1"], ["address", "10.1"]),
        (["{ledger}", "--from", "soon"], ["from", "soon", "seconds"]),
        (["{ledger}", "--from", "-1"], ["from", "-1"]),
        (["{ledger}", "--from", "5", "--to", "4"], ["to", "4", "more than 5"]),
        (["{ledger}", "--plot", "x.gif"], ["plot", "x.gif", ".png or .svg"]),
        (["{ledger}", "--plot", "/no/such/folder/x.png"], ["plot", "/no/such/folder"]),
        ([], ["LEDGER"]),
        (["{ledger}", "--bogus"], ["--bogus"]),
    ],
)
def test_wrong_questions_get_one_line(recorded: tuple[Path, str, str], arguments: list[str], told: list[str]) -> None:
    done = simnet("report", *(argument.replace("{ledger}", str(recorded[0])) for argument in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in told), done.stderr


def test_report_is_a_command_only_where_it_stands_first(tmp_path: Path) -> None:
    program = tmp_path / "report"
    program.write_text("#!/bin/sh\necho ran $1\n")
    program.chmod(0o755)
    command = ["env", f"PATH={tmp_path}:/usr/bin:/bin", *SIMNET, "--hosts", "5", "--no-namespace"]
    done = subprocess.run([*command, "--", "report", "x"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("ran x\n"), done.stderr
    done = subprocess.run([*command, "report", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_only_ledgers_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(SettingError, match="ledger"):
        SimulatedInternet(hosts=1, pages=1, ledger=file).start()
    assert file.read_text() == "mine"
    done = simnet("--hosts", "5", "--no-namespace", "--ledger", file, "--", "true")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("name", ["x.png", "x.svg"])
def test_the_plot_is_a_picture(recorded: tuple[Path, str, str], tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    done = simnet("report", recorded[0], "--plot", tmp_path / name, "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_a_missing_matplotlib_is_told_by_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lycosa.errors import LycosaError
    from lycosa.simnet import plot

    missing: Any = None
    monkeypatch.setitem(sys.modules, "matplotlib", missing)
    with pytest.raises(LycosaError, match=r"lycosa\[plot\]"):
        plot.check(tmp_path / "x.png")
