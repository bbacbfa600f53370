"""DNS over HTTPS against Unbound and dnsdist: in the library, on the command line, in a crawl; bad certificates."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
from tests.interop.programs import require

#: Hosts of the zone that Unbound serves.
HOSTS = 2_000

#: TXT records of its name `long`: about 3 kB, more than a datagram has here.
LONG = 30

#: Questions that Unbound takes at a time on a connection.
STREAMS = 10


@dataclass(frozen=True)
class Server:
    """A server over HTTPS, and whom it says it is."""

    address: str
    ca_file: Path

    def text(self, name: str = "dns.example", path: str = "/dns-query") -> str:
        """As a resolver that must have this name."""
        return f"https://{self.address}{path}#{name}"


@contextmanager
def _running(command: list[str], folder: Path, log: str, wanted: Server | None) -> Iterator[None]:
    """Run a server; where it is one over HTTPS, from when it answers."""
    with (folder / log).open("wb") as told, subprocess.Popen(command, stdout=told, stderr=told) as process:
        try:
            until = time.monotonic() + 20
            while wanted and silent([wanted.text()], wanted.ca_file, within=0.3):
                assert process.poll() is None, (folder / log).read_text()
                assert time.monotonic() < until, (folder / log).read_text()
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """Unbound with a zone of its own, and dnsdist before it, on loopback only."""
    require("unbound")
    require("dnsdist")
    folder = tmp_path_factory.mktemp("https")
    certify(folder)
    plain, unbound_port, dnsdist_port, unused = (free_port() for _ in range(4))
    zone = "\n".join(f'    local-data: "h{n}.zone.example. 3600 IN A 192.0.2.{n % 250 + 1}"' for n in range(HOSTS))
    texts = "\n".join(f"    local-data: 'long.zone.example. 3600 IN TXT \"{n:03} {'x' * 90}\"'" for n in range(LONG))
    (folder / "unbound.conf").write_text(
        f"""server:
    interface: 127.0.0.1@{plain}
    interface: 127.0.0.1@{unbound_port}
    https-port: {unbound_port}
    http-endpoint: "/dns-query"
    http-max-streams: {STREAMS}
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
    (folder / "dnsdist.conf").write_text(
        f"""setLocal("127.0.0.1:{unused}")
setSecurityPollSuffix("")
addDOHLocal("127.0.0.1:{dnsdist_port}", "{folder}/dns.pem", "{folder}/dns.key", {{"/dns-query"}})
newServer({{address="127.0.0.1:{plain}", checkInterval=1, mustResolve=false, checkName="h0.zone.example."}})
"""
    )
    unbound = Server(f"127.0.0.1:{unbound_port}", folder / "ca.pem")
    dnsdist = Server(f"127.0.0.1:{dnsdist_port}", folder / "ca.pem")
    with ExitStack() as running:
        command = ["unbound", "-d", "-c", str(folder / "unbound.conf")]
        running.enter_context(_running(command, folder, "unbound.log", unbound))
        command = ["dnsdist", "--supervised", "--disable-syslog", "-C", str(folder / "dnsdist.conf")]
        running.enter_context(_running(command, folder, "dnsdist.log", dnsdist))
        yield {"unbound": unbound, "dnsdist": dnsdist}


@pytest.fixture
def server(servers: dict[str, Server]) -> Server:
    """Unbound."""
    return servers["unbound"]


@pytest.mark.parametrize("kind", ["unbound", "dnsdist"])
def test_names_are_resolved_over_https(servers: dict[str, Server], kind: str) -> None:
    server = servers[kind]
    names = [*(f"h{n}.zone.example" for n in range(HOSTS)), "gone.zone.example"]
    with Resolver(resolvers=[server.text()], ca_file=server.ca_file, concurrency=5_000) as resolver:
        assert resolver.resolvers == [server.text()]
        assert resolver.submit(names, 0) == len(names)
        answers = []
        while resolver.pending():
            answers += list(resolver.take(1_000, 1.0))
        assert {answer.name for answer in answers if answer.status == "ok"} == set(names[:-1])
        assert [answer.name for answer in answers if answer.status == "nxdomain"] == names[-1:]
        (upstream,) = resolver.upstreams()
        assert (upstream["server"], upstream["trouble"], upstream["is_resting"]) == (server.text(), None, False)
    by_address = f"https://{server.address}"
    (answer,) = lycosa.resolve(["h7.zone.example"], resolvers=[by_address], ca_file=server.ca_file)
    assert answer.addresses == ["192.0.2.8"]


@pytest.mark.parametrize("kind", ["unbound", "dnsdist"])
def test_who_does_not_serve_dns_there_says_so(servers: dict[str, Server], kind: str) -> None:
    elsewhere = servers[kind].text(path="/elsewhere")
    (answer,) = lycosa.resolve(["h1.zone.example"], resolvers=[elsewhere], ca_file=servers[kind].ca_file, attempts=2)
    assert answer.status == "servfail"
    assert answer.detail == f"{elsewhere}: HTTPS: status 404"


def test_who_has_no_good_certificate_is_told_and_not_asked(server: Server) -> None:
    (answer,) = lycosa.resolve(["h1.zone.example"], resolvers=[server.text()], attempts=2)
    assert answer.status == "servfail"
    assert answer.detail == f"{server.text()}: TLS: invalid peer certificate: UnknownIssuer"
    other = server.text("other.example")
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


def test_a_crawl_asks_over_https(server: Server, tmp_path: Path) -> None:
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


def test_a_tier_asks_over_https_also_for_what_it_passes_through(server: Server, tmp_path: Path) -> None:
    settings = f'ca_file = "{server.ca_file}"\npacket_memory = 0'
    with our_server(tmp_path / "dns", server.text(), tier="upper", settings=settings) as ours:
        assert ask("dig", ours.port, "h7.zone.example", "A", "+short") == "192.0.2.8\n"
        assert "status: NXDOMAIN" in ask("dig", ours.port, "gone.zone.example", "A")
        whole = ask("dig", ours.port, "long.zone.example", "TXT", "+tcp", "+short")
        assert len(whole.splitlines()) == LONG
        assert ours.statistics()["passed_through"] == 1


def test_texts_that_are_no_server_over_https_are_told() -> None:
    for text in ("https://dns.example/dns-query", "https://192.0.2.1/dns-query{?dns}", "http://192.0.2.1"):
        with pytest.raises(SettingError, match=r"https://192\.0\.2\.1/dns-query#dns\.example"):
            Resolver(resolvers=[text])
