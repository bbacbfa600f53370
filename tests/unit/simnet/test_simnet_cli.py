"""``lycosa simnet``: exit statuses, placeholders, reports, and one line for what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SIMNET = [sys.executable, "-m", "lycosa", "simnet"]


def simnet(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``lycosa simnet`` to its end."""
    return subprocess.run([*SIMNET, *arguments], capture_output=True, text=True, timeout=60)


def test_the_commands_status_is_the_exit_status(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = simnet(
        "--hosts", "5", "--pages", "2", "--no-namespace", "--report", str(report), "--", "sh", "-c", "exit 7"
    )
    assert done.returncode == 7, done.stderr
    assert "coverage" in done.stdout
    assert json.loads(report.read_text())["totals"]["requests"] == 0


def test_a_killed_command_is_told_by_its_signal() -> None:
    assert simnet("--hosts", "5", "--no-namespace", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_placeholders_are_replaced() -> None:
    done = simnet(
        "--hosts", "5", "--no-namespace", "--", "sh", "-c", "wc -l <{seeds}; grep -c speed {job}; echo {resolver}"
    )
    seeds, speed, resolver = done.stdout.split()[:3]
    assert (seeds, speed) == ("5", "1")
    assert resolver.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--hosts", "-5"], ["hosts", "-5", "1 to 16516096"]),
        (["--hosts", "99999999"], ["hosts", "99999999", "1 to 16516096"]),
        (["--hosts", "many"], ["hosts", "many", "whole number"]),
        (["--speed", "0"], ["speed", "0", "above 0"]),
        (["--profile", "moon"], ["profile", "moon", "lan"]),
        (["--report", "/no/such/folder/report.json"], ["report", "/no/such/folder/report.json", "written"]),
    ],
)
def test_wrong_values_get_one_line(arguments: list[str], told: list[str]) -> None:
    done = simnet(*arguments, "--no-namespace", "--", "true")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in told), done.stderr


def test_a_command_that_does_not_exist_is_127() -> None:
    done = simnet("--hosts", "5", "--no-namespace", "--", "no-such-command")
    assert done.returncode == 127
    assert len(done.stderr.splitlines()) == 1
    assert "no-such-command" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_command_it_runs_until_stopped(number: signal.Signals) -> None:
    with subprocess.Popen([*SIMNET, "--hosts", "5", "--no-namespace"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        assert lines[0].startswith("resolver   127.0.0.1:")
        assert lines[2].split()[-1].endswith("seeds.txt")
        seeds = Path(lines[2].split()[-1])
        assert seeds.exists()
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=20) == 0
    assert "robots violations" in rest
    assert not seeds.exists()


def test_ctrl_c_reaches_the_command_and_the_report_is_still_printed() -> None:
    script = "trap 'echo stopped; exit 130' INT; echo ready; while :; do sleep 0.05; done"
    command = [*SIMNET, "--hosts", "5", "--no-namespace", "--", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=20) == 130
    assert rest.startswith("stopped\n")
    assert "robots violations" in rest
