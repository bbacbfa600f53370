"""DNS over TLS against Unbound: in the library, on the command line, in a crawl; who has no good certificate."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lycosa
import pytest
from lycosa.errors import SettingError
from lycosa.names import Resolver
from lycosa.names.probe import silent

from benchmarks.ports import free_port
from tests.interop.certificates import certify
from tests.interop.dns_servers import ask, our_server

#: Hosts of the zone that Unbound serves.
HOSTS = 500

#: TXT records of its name `long`: about 3 kB, more than a datagram has here.
LONG = 30


@dataclass(frozen=True)
class Server:
    """Unbound over TLS, and whom it says it is."""

    address: str
    ca_file: Path

    def text(self, name: str = "dns.example") -> str:
        """As a resolver that must have this name."""
        return f"tls://{self.address}#{name}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Unbound with a zone of its own, on loopback only."""
    folder = tmp_path_factory.mktemp("unbound")
    certify(folder)
    port = free_port()
    zone = "\n".join(f'    local-data: "h{n}.zone.example. 3600 IN A 192.0.2.{n % 250 + 1}"' for n in range(HOSTS))
    texts = "\n".join(f"    local-data: 'long.zone.example. 3600 IN TXT \"{n:03} {'x' * 90}\"'" for n in range(LONG))
    (folder / "unbound.conf").write_text(
        f"""server:
    interface: 127.0.0.1@{port}
    tls-port: {port}
    tls-service-key: "{folder}/dns.key"
    tls-service-pem: "{folder}/dns.pem"
    username: ""
    chroot: ""
    directory: "{folder}"
    pidfile: ""
    use-syslog: no
    module-config: "iterator"
    access-control: 127.0.0.0/8 allow
    local-zone: "zone.example." static
{zone}
{texts}
    local-zone: "root-servers.net." static
remote-control:
    control-enable: no
"""
    )
    command = ["unbound", "-d", "-c", str(folder / "unbound.conf")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        found = Server(f"127.0.0.1:{port}", folder / "ca.pem")
        try:
            until = time.monotonic() + 20
            while silent([found.text()], found.ca_file, within=0.3):
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until, (folder / "log").read_text()
            yield found
        finally:
            process.terminate()


def test_names_are_resolved_over_tls(server: Server) -> None:
    names = [*(f"h{n}.zone.example" for n in range(HOSTS)), "gone.zone.example"]
    with Resolver(resolvers=[server.text()], ca_file=server.ca_file) as resolver:
        assert resolver.resolvers == [server.text()]
        assert resolver.submit(names, 0) == len(names)
        answers = []
        while resolver.pending():
            answers += list(resolver.take(1_000, 1.0))
        assert {answer.name for answer in answers if answer.status == "ok"} == set(names[:-1])
        assert [answer.name for answer in answers if answer.status == "nxdomain"] == names[-1:]
        (upstream,) = resolver.upstreams()
        assert (upstream["server"], upstream["trouble"], upstream["is_resting"]) == (server.text(), None, False)
    by_address = f"tls://{server.address}"
    (answer,) = lycosa.resolve(["h7.zone.example"], resolvers=[by_address], ca_file=server.ca_file)
    assert answer.addresses == ["192.0.2.8"]


def test_who_has_no_good_certificate_is_told_and_not_asked(server: Server) -> None:
    (answer,) = lycosa.resolve(["h1.zone.example"], resolvers=[server.text()], attempts=2)
    assert answer.status == "servfail"
    assert answer.detail == f"{server.text()}: TLS: invalid peer certificate: UnknownIssuer"
    other = server.text("other.example")
    (answer,) = lycosa.resolve(["h1.zone.example"], resolvers=[other], ca_file=server.ca_file, attempts=2)
    assert answer.status == "servfail"
    assert str(answer.detail).startswith(f"{other}: TLS: invalid peer certificate: certificate not valid for name")
    names = [f"h{n}.zone.example" for n in range(50)]
    answers = list(lycosa.resolve(names, resolvers=[other, server.text()], ca_file=server.ca_file))
    assert {answer.status for answer in answers} == {"ok"}


def test_on_the_command_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("h1.zone.example\nh2.zone.example\n")
    (tmp_path / "servers").write_text(f"# two\n{server.text()} # good\n{server.text('other.example')}\n")
    command = [sys.executable, "-m", "lycosa", "resolve", "names", "-o", "out.jsonl", "--resolvers", "servers"]
    done = subprocess.run(
        [*command, "--ca-file", str(server.ca_file), "--json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = f"resolver {server.text('other.example')} (TLS: invalid peer certificate: "
    assert told in done.stderr.replace("\n", " ")
    report = json.loads(done.stdout)
    assert report["statuses"]["ok"] == 2
    assert [upstream["server"] for upstream in report["upstreams"]] == [server.text()]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "no resolver answers" in refused.stderr
    assert "UnknownIssuer" in refused.stderr


def test_a_crawl_asks_over_tls(server: Server, tmp_path: Path) -> None:
    crawl = lycosa.crawl(
        "http://h1.zone.example/",
        user_agent="test/1.0 (test@example.org)",
        directory=tmp_path / "crawl",
        names={"resolvers": [server.text()]},
        fetch={"ca_file": server.ca_file},
        frontier={"patience": 0},  # what resolves is asked for once
    )
    (page,) = crawl
    assert (page.error, page.status) == ("address-refused", None), "what it resolves to is for documents only"
    names = crawl.report()["names"]
    assert (names["answers"], names["failed"]) == (1, 0)


def test_a_tier_asks_over_tls_also_for_what_it_passes_through(server: Server, tmp_path: Path) -> None:
    settings = f'ca_file = "{server.ca_file}"\npacket_memory = 0'
    with our_server(tmp_path / "dns", server.text(), tier="upper", settings=settings) as ours:
        assert ask("dig", ours.port, "h7.zone.example", "A", "+short") == "192.0.2.8\n"
        assert "status: NXDOMAIN" in ask("dig", ours.port, "gone.zone.example", "A")
        cut = ask("dig", ours.port, "long.zone.example", "TXT", "+ignore")
        assert "flags: qr tc" in cut
        whole = ask("dig", ours.port, "long.zone.example", "TXT", "+tcp", "+short")
        assert len(whole.splitlines()) == LONG
        assert ours.statistics()["passed_through"] == 2


def test_a_tier_asks_nobody_without_a_good_certificate(server: Server, tmp_path: Path) -> None:
    settings = "attempts = 1\ntimeout = 1.0"
    with our_server(tmp_path / "dns", server.text(), tier="upper", settings=settings) as ours:
        for kind in ("A", "TXT"):
            assert "status: SERVFAIL" in ask("dig", ours.port, "h7.zone.example", kind)


def test_texts_that_are_no_server_over_tls_are_told(server: Server) -> None:
    for text in ("tls://dns.example", "tls://192.0.2.1#", f"{server.address}#dns.example"):
        with pytest.raises(SettingError, match=r"tls://192\.0\.2\.1#dns\.example"):
            Resolver(resolvers=[text])
