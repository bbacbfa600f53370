"""``lycosa simnet``: exit statuses, placeholders, reports, and one line for what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
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
        (["--https", "1.5"], ["https", "1.5", "0 to 1"]),
        (["--bad-certificates", "0.9"], ["bad_certificates", "0.9", "0 to 0.75"]),
        (["--ipv6", "1.5"], ["ipv6_share", "1.5", "0 to 1"]),
        (["--https-port", "70000"], ["https_port", "70000", "65535"]),
        (["--ipv6", "0.5"], ["ipv6", "private namespaces", "without --no-namespace"]),
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


@pytest.mark.parametrize("kind", ["http", "https", "dns"])
def test_a_port_in_use_is_told_with_the_option_that_avoids_it(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = simnet("--https", "0.5", "--no-namespace", f"--{kind}-port", port, "--", "true")
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert all(word in done.stderr for word in [f"{kind}_port", port, f"--{kind}-port 0"]), done.stderr
        assert simnet("--https", "0.5", "--no-namespace", f"--{kind}-port", "0", "--", "true").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lose a right")
@pytest.mark.parametrize("right", ["sys_admin", "net_admin"])
def test_without_the_right_to_namespaces_the_option_that_does_without_is_told(right: str) -> None:
    command = ["setpriv", f"--bounding-set=-{right}", *SIMNET, "--hosts", "5"]
    done = subprocess.run([*command, "--", "true"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "--no-namespace" in done.stderr
    done = subprocess.run([*command, "--no-namespace", "--", "true"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


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


CRAWL = ("--hosts", "5", "--pages", "3", "--speed", "200")


def test_what_is_required_decides_the_exit_status(tmp_path: Path) -> None:
    crawl = ["--", sys.executable, "-m", "lycosa", "crawl", "--job", "{job}", "--quiet", "--dir", str(tmp_path / "d")]
    good = simnet(*CRAWL, "--no-namespace", "--require", "coverage=1,violations=0,repeats=0", *crawl)
    assert good.returncode == 0, good.stderr
    bad = simnet(
        *CRAWL, "--no-namespace", "--require", "coverage=1,violations=0", *crawl, "--max-pages", "2", "--fresh"
    )
    assert bad.returncode == 1
    assert "required: coverage of at least 100.00%; it is" in bad.stderr
    failed = simnet(*CRAWL, "--no-namespace", "--require", "coverage=1", "--", "sh", "-c", "exit 7")
    assert failed.returncode == 7, "the command's own failure comes first"
    wrong = simnet("--require", "speed=1", "--", "true")
    assert wrong.returncode == 2
    assert "coverage, violations" in wrong.stderr


def test_a_program_that_reaches_nothing_is_told_why() -> None:
    nothing = simnet(*CRAWL, "--no-namespace", "--", "true")
    assert nothing.returncode == 0
    assert "has to ask the resolver at {resolver}" in nothing.stderr


def test_the_documented_example_works_again_and_again(tmp_path: Path) -> None:
    example = ["--", sys.executable, "-m", "lycosa", "crawl", "--job", "{job}", "--fresh", "--quiet"]
    for where in ((), ("--no-namespace",), ("--no-namespace",)):
        done = subprocess.run(
            [*SIMNET, *CRAWL, *where, "--require", "coverage=1,violations=0", *example],
            cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run([*SIMNET, *CRAWL, *example[:-2]], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "--fresh" in again.stderr, "a crawl that has finished, or another one, is told as such"
