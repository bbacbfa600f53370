"""``lycosa dns``: a process that serves, tells systemd, reloads, drains."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import lycosa
import pytest
from lycosa.cli.dns_serve import NO_DESCRIPTORS
from lycosa.simnet import SimulatedInternet

from tests.unit.cli.dns_process import COMMAND, Start, command, dns_message, resolve, serve, statistics

if TYPE_CHECKING:
    from tests.conftest import DnsServer


#: Starts one in a mount namespace of its own, on a disk that has space for no cache of its capacity.
FULL = """
import os, subprocess, sys
from pathlib import Path

disk, command = Path(sys.argv[1]), sys.argv[2:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", str(disk)], check=True)
(disk / "ballast").write_bytes(bytes(39 << 20))
os.execv(command[0], command)
"""


def test_it_says_where_it_listens_answers_and_ends(start: Start) -> None:
    with SimulatedInternet(hosts=20, pages=2, speed=100) as net:
        running = serve(start, net.resolver)
        address = re.escape(running.address)
        wanted = rf"lycosa dns: lower tier, listening on {address} \(UDP, TCP\), asking {net.resolver}, metrics on http://127.0.0.1:\d+"
        assert re.fullmatch(wanted, running.told)
        for _ in range(2):
            found = {
                answer.name: answer.addresses for answer in lycosa.resolve(net.hosts, resolvers=[running.address])
            }
            assert found == {name: [address] for name, address in net.hosts.items()}
        counts = statistics(running)["statistics"]
        assert (counts["misses"], counts["hits"]) == (20, 20)
        assert running.end() == 0


def test_two_tiers_ask_the_outside_once_per_name(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    outside = start_dns()
    uppers = [
        start("--tier", "upper", "--listen", "127.0.0.1:0", "--upstream", outside.address, "--workers", "1").ready()
        for _ in range(2)
    ]
    lowers = [serve(start, *(upper.address for upper in uppers)) for _ in range(2)]
    names = [f"n{number}.example" for number in range(50)]
    for lower in lowers:
        assert resolve(lower, *names) == [["192.0.2.1"]] * 50
    assert {outside.asked[name] for name in names} == {1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_systemd_is_told_of_readiness_reloads_and_the_end(
    number: signal.Signals, start: Start, dns: DnsServer, tmp_path: Path
) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        systemd.settimeout(20)
        running = serve(start, dns.address, notify=path)
        assert systemd.recv(4_096) == b"READY=1"
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
        running.process.send_signal(signal.SIGHUP)
        reloading, when = systemd.recv(4_096).decode().split("\n")
        assert reloading == "RELOADING=1"
        assert before <= int(when.removeprefix("MONOTONIC_USEC=")) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        assert systemd.recv(4_096) == b"READY=1"
        assert running.end(number) == 0
        assert systemd.recv(4_096) == b"STOPPING=1"


def test_systemd_in_the_abstract_name_space_or_none_at_all(start: Start, dns: DnsServer) -> None:
    name = f"lycosa-test-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        systemd.settimeout(20)
        serve(start, dns.address, notify=f"@{name}")
        assert systemd.recv(4_096) == b"READY=1"
    gone = start("--tier", "upper", "--listen", "127.0.0.1:0", "--upstream", dns.address, notify="/nowhere/notify")
    assert gone.ready().line() == "lycosa: cannot send READY=1 to systemd: No such file or directory"
    assert resolve(gone, "www.example") == [["192.0.2.1"]]


def test_the_command_line_wins_and_a_reload_reads_the_file_again(
    start: Start, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    first, second = start_dns(), start_dns()
    file = tmp_path / "dns.toml"
    text = 'tier = "lower"\nlisten = ["127.0.0.1:1"]\nworkers = 1\n'
    file.write_text(f'{text}upstreams = ["{first.address}"]\n')
    running = start("--config", "dns.toml", "--listen", "127.0.0.1:0").ready()
    assert f"asking {first.address}" in running.told
    assert resolve(running, "a.example") == [["192.0.2.1"]]

    def reload() -> str:
        running.process.send_signal(signal.SIGHUP)
        return running.line()

    assert reload() == "lycosa: reloaded; changed: nothing"
    file.write_text(f'{text}upstreams = ["{second.address}"]\nmax_ttl = 7200\n')
    assert reload() == "lycosa: reloaded; changed: upstreams, max_ttl"
    assert resolve(running, "b.example") == [["192.0.2.1"]]
    assert (first.asked["b.example"], second.asked["b.example"]) == (0, 1)
    kept = "lycosa: not reloaded, the old settings stay: "
    for broken, told in [
        ("upstreams = [", f"{kept}--config: 'dns.toml' is not allowed; allowed: a TOML file ("),
        (f'{text}upstreams = ["{first.address}"]\nrat = 5\n', f"{kept}unknown setting rat; did you mean rate?"),
        (
            f'{text}upstreams = ["{first.address}"]\ncookies = false\n',
            f"{kept}cookies: cannot change from True to False at a reload",
        ),
        (f'{text}upstreams = ["{running.address}"]\n', f"{kept}upstreams: '{running.address}' is not allowed"),
    ]:
        file.write_text(broken)
        assert reload().startswith(told)
    file.unlink()
    assert "No such file" in reload()
    assert resolve(running, "c.example") == [["192.0.2.1"]]
    assert second.asked["c.example"] == 1
    assert running.end() == 0


def test_what_is_under_way_at_the_end_is_answered(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    running = serve(start, start_dns(delay=0.7).address)
    asking = subprocess.Popen(
        ["dig", "@127.0.0.1", "-p", running.address.rpartition(":")[2], "+short", "+tries=1", "late.example"],
        stdout=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 10
    while not statistics(running)["statistics"]["waiting"]:
        assert time.monotonic() < until
    assert running.end() == 0
    assert asking.communicate(timeout=10)[0] == "192.0.2.1\n"


def test_it_says_when_nobody_answers_and_when_somebody_does_again(start: Start) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
        upstream.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{upstream.getsockname()[1]}"
        running = serve(start, address)
        for number in range(20):
            next(lycosa.resolve([f"n{number}.example"], resolvers=[running.address], timeout=0.2, attempts=1))
        assert running.line() == f"lycosa: no upstream answers: {address}"
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"http://{running.http}/healthz", timeout=10)
        assert (error.value.code, error.value.read()) == (503, f"no upstream answers: {address}\n".encode())


def test_it_says_that_no_file_descriptors_are_left_and_goes_on_when_there_are(start: Start, dns: DnsServer) -> None:
    running = serve(start, dns.address)
    host, _, port = running.address.rpartition(":")
    limits = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    with socket.create_connection((host, int(port)), timeout=10) as client:
        assert running.line() == f"lycosa: {NO_DESCRIPTORS}"
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, limits)
        question = dns_message("www.example")
        client.sendall(len(question).to_bytes(2) + question)
        assert len(client.recv(512)) > len(question)
    assert running.end() == 0


def test_a_loop_of_tiers_is_told_at_the_start_and_while_it_runs(
    start: Start, free_addresses: list[str], tmp_path: Path
) -> None:
    itself = ["--tier", "upper", "--listen", "0.0.0.0:5399", "--upstream", "127.0.0.5:5399"]
    done = command(*itself, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "it would ask itself" in done.stderr
    assert command(*itself, "--check", cwd=tmp_path).stderr == done.stderr
    pair = [
        start(
            "--tier", "lower", "--listen", own, "--upstream", other, "--workers", "1", "--http", "127.0.0.1:0"
        ).ready()
        for own, other in (free_addresses, reversed(free_addresses))
    ]
    # Each looks at its start, and then every half a minute: the second one mostly finds out at once.
    assert pair[1].line(60).startswith("lycosa: a loop of tiers: its own questions come back")
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"http://{pair[1].http}/healthz", timeout=10)


SERVER = ["--tier", "lower", "--upstream", "192.0.2.1"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ["tier", "'lower' or 'upper'"]),
        (["--tier", "middle", "--upstream", "192.0.2.1"], ["tier: 'middle'"]),
        (["--tier", "lower"], ["upstreams", "at least one"]),
        (["--tier", "lower", "--upstream", "dns.example"], ["upstreams: 'dns.example'", "192.0.2.1:53"]),
        ([*SERVER, "--listen", "localhost"], ["listen: 'localhost'", "127.0.0.1:5300"]),
        ([*SERVER, "--workers", "many"], ["workers: 'many'", "whole number"]),
        ([*SERVER, "--workers", "257"], ["workers: '257'", "256"]),
        ([*SERVER, "--http", "127.0.0.1"], ["http: '127.0.0.1'", "127.0.0.1:9153"]),
        ([*SERVER, "--http", "0.0.0.0:9153"], ["http", "http_public"]),
        ([*SERVER, "--config", "missing.toml"], ["--config: 'missing.toml'", "No such file"]),
        ([*SERVER, "--config", "."], ["--config: '.'", "directory"]),
        ([*SERVER, "--config", "broken.toml"], ["--config: 'broken.toml'", "TOML", "line 1"]),
        ([*SERVER, "--config", "unknown.toml"], ["prefech", "did you mean prefetch?"]),
        ([*SERVER, "--bogus"], ["--bogus"]),
        (["top", "--http", "here"], ["--http: 'here'", "127.0.0.1:9153"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], told: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("tier = lower\n")
    (tmp_path / "unknown.toml").write_text("prefech = true\n")
    done = command(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for part in told:
        assert part in done.stderr


def test_a_check_listens_nowhere(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    running = serve(start, dns.address)
    taken = ["--tier", "lower", "--upstream", "192.0.2.1", "--listen", running.address, "--check"]
    done = command(*taken, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "lycosa dns: nothing is wrong with the settings of this lower server\n"
    assert command(*taken, "-q", cwd=tmp_path).stderr == ""


def test_a_check_finds_what_a_start_would(free_addresses: list[str], tmp_path: Path) -> None:
    own, _ = free_addresses
    (tmp_path / "empty.pem").touch()
    refused = {
        f'zones = ["corp.example={own}"]': f"zones: '{own}' is not allowed; allowed: servers other than this one",
        'ca_file = "missing.pem"': "ca_file: 'missing.pem' is not allowed; allowed: a file that can be read",
        'ca_file = "empty.pem"': "with at least one certificate in PEM",
    }
    for line, told in refused.items():
        (tmp_path / "dns.toml").write_text(f'tier = "upper"\nlisten = "{own}"\nupstreams = "192.0.2.1"\n{line}\n')
        checked = command("--config", "dns.toml", "--check", cwd=tmp_path)
        assert (checked.returncode, len(checked.stderr.splitlines())) == (2, 1), checked.stderr
        assert told in checked.stderr
        assert command("--config", "dns.toml", cwd=tmp_path).stderr == checked.stderr


def test_what_the_system_refuses_is_one_line(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    running = serve(start, dns.address)
    wanted = ["--tier", "lower", "--upstream", dns.address]
    for arguments, told in [
        (["--listen", running.address], f"{running.address}, UDP: the port is in use"),
        (["--listen", "192.0.2.77:5300"], "192.0.2.77:5300, UDP: this machine does not have the address"),
        (["--listen", "127.0.0.1:0", "--http", running.http], f"http {running.http}: Address already in use"),
        (["--listen", "127.0.0.1:0", "--cache", "missing/names"], "missing/names"),
    ]:
        done = command(*wanted, *arguments, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert told in done.stderr
    # Without the right to bind a port below 1024, whoever runs the tests.
    line = [*COMMAND, *wanted, "--listen", "127.0.0.1:53"]
    if os.geteuid() == 0:
        line = ["setpriv", "--bounding-set=-net_bind_service", *line]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "no right to bind" in done.stderr


def test_on_a_full_disk_the_memory_is_the_processs_own_and_answers_go_on(
    start: Start, dns: DnsServer, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    # As root a mount namespace is enough; others need a user namespace for it.
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    line = (*unshare, sys.executable, "-c", FULL, str(tmp_path / "disk"), *COMMAND)
    server = ["--tier", "lower", "--listen", "127.0.0.1:0", "--upstream", dns.address, "--cache", "disk/names"]
    running = start(*server, command=line)
    assert running.line().startswith("lycosa: the cache of names is in memory: ")
    assert resolve(running.ready(), "www.example") == [["192.0.2.1"]]
    assert running.end() == 0


def test_who_listens_for_others_and_refuses_them_is_told(start: Start, dns: DnsServer) -> None:
    running = start("--tier", "lower", "--listen", "0.0.0.0:0", "--upstream", dns.address)
    assert running.line() == "lycosa: others reach this server and are refused: `allow` names this machine alone"


def test_quiet_says_only_what_needs_attention(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        systemd.settimeout(20)
        options = ["-q", "--tier", "lower", "--listen", "127.0.0.1:0", "--upstream", dns.address]
        running = start(*options, notify=path)
        assert systemd.recv(4_096) == b"READY=1"
        running.process.send_signal(signal.SIGHUP)
        assert systemd.recv(4_096).startswith(b"RELOADING=1")
        assert systemd.recv(4_096) == b"READY=1"
        assert running.end() == 0
    assert running.process.stderr is not None
    assert running.process.stderr.read() == b""
