"""``lycosa dns``: a process that serves, tells systemd, reloads, drains; and what looks at it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import lycosa
import pytest
from lycosa.cli.dns_serve import NO_DESCRIPTORS
from lycosa.cli.dns_top import compare, render
from lycosa.names.metrics import FAMILIES
from lycosa.simnet import SimulatedInternet
from rich.console import Console

if TYPE_CHECKING:
    from tests.conftest import DnsServer


#: What starts a server.
COMMAND = (sys.executable, "-m", "lycosa", "dns")

#: Starts one in a mount namespace of its own, on a disk that has space for no cache of its capacity.
FULL = """
import os, subprocess, sys
from pathlib import Path

disk, command = Path(sys.argv[1]), sys.argv[2:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", str(disk)], check=True)
(disk / "ballast").write_bytes(bytes(39 << 20))
os.execv(command[0], command)
"""


class Running:
    """A server of its own process."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        notify: str | None = None,
        command: tuple[str, ...] = COMMAND,
        stdout: int | None = None,
    ) -> None:
        """Start it; it says on stderr when it listens."""
        environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=cwd,
            env=environment | ({} if notify is None else {"NOTIFY_SOCKET": notify}),
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
        self.said = b""

    def line(self, within: float = 20.0) -> str:
        """The next line that it says."""
        assert self.process.stderr is not None
        while b"\n" not in self.said:
            assert select.select([self.process.stderr], [], [], within)[0], f"it says only {self.said!r}"
            piece = os.read(self.process.stderr.fileno(), 4_096)
            assert piece, f"it has ended after {self.said!r}"
            self.said += piece
        line, _, self.said = self.said.partition(b"\n")
        return line.decode()

    def ready(self) -> Self:
        """Itself, once it listens."""
        self.told = self.line()
        assert " tier, listening on " in self.told, self.told
        return self

    @property
    def address(self) -> str:
        """Where it listens."""
        found = re.search(r"listening on (\S+) \(UDP, TCP\)", self.told)
        assert found is not None
        return found[1]

    @property
    def http(self) -> str:
        """Where its metrics are."""
        return self.told.rpartition("http://")[2]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(15)


Start = Callable[..., Running]


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


def serve(start: Start, upstream: str, *arguments: str, **others: Any) -> Running:
    """A lower server on a free port, with metrics."""
    options = ["--tier", "lower", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "1"]
    return start(*options, "--upstream", upstream, *arguments, **others).ready()


def dns_message(name: str) -> bytes:
    """A question for IPv4 addresses."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\0\1\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    line = [*COMMAND, *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=60)


def resolve(running: Running, *names: str) -> list[list[str]]:
    """The addresses of names, asked of a server."""
    return [answer.addresses for answer in lycosa.resolve(names, resolvers=[running.address])]


def statistics(running: Running) -> dict[str, Any]:
    """What it tells."""
    with urllib.request.urlopen(f"http://{running.http}/statistics", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


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
