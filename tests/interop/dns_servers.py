"""Foreign DNS servers as judges: NSD and Knot with a zone, Unbound that forwards; programs that ask. Not a test."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.dns_peers import unbound
from benchmarks.dns_servers import Recipe, Server, running, running_ours
from benchmarks.ports import free_port
from tests.interop.programs import require

ZONE = "lycosa.example"
HOSTS = 100  # host0 to host99
LONG = 30  # TXT records of `long`: about 3 kB, more than any datagram here may have

#: Names and what they resolve to, in the order of addresses.
PRIVATE = {
    "loopback": "127.0.0.1",
    "this-host": "0.0.0.0",
    "ten": "10.1.2.3",
    "link": "169.254.169.254",
    "shared": "100.64.0.1",
    "home": "192.168.1.1",
}
PRIVATE_V6 = {"loopback6": "::1", "unique6": "fd00::1", "link6": "fe80::1", "mapped6": "::ffff:10.0.0.1"}


def address(number: int) -> str:
    """The address of a host."""
    return str(ipaddress.IPv4Address("192.0.2.0") + number)


def zone(ttl: int = 3600) -> str:
    """A small zone with a name of each kind."""
    lines = [
        f"$ORIGIN {ZONE}.",
        f"$TTL {ttl}",
        "@ SOA ns hostmaster 1 3600 900 604800 300",
        "@ NS ns",
        "@ MX 10 mail",
        "ns A 192.0.2.53",
        "www A 192.0.2.1",
        "www A 192.0.2.2",
        "www AAAA 2001:db8::1",
        "mail A 192.0.2.3",
        "text TXT hello",
        "alias CNAME further",
        "further CNAME www",
        "nowhere CNAME gone",
        "*.wild A 192.0.2.7",
        "mixed A 198.41.0.4",
        "mixed A 10.9.9.9",
    ]
    lines += [f"host{number} A {address(number)}" for number in range(HOSTS)]
    lines += [f"{name} A {text}" for name, text in PRIVATE.items()]
    lines += [f"{name} AAAA {text}" for name, text in PRIVATE_V6.items()]
    lines += [f'long TXT "{number:03} {"x" * 90}"' for number in range(LONG)]
    return "\n".join(lines) + "\n"


def nsd(*, ttl: int = 3600) -> Recipe:
    """NSD with the zone."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        (folder / "zone").write_text(zone(ttl))
        (folder / "nsd.conf").write_text(
            f'server:\n ip-address: 127.0.0.1@{port}\n username: ""\n zonesdir: "{folder}"\n database: ""\n'
            f' pidfile: "{folder}/pid"\n xfrdfile: "{folder}/xfrd"\n zonelistfile: "{folder}/zones"\n'
            f' xfrdir: "{folder}"\n server-count: 1\nremote-control:\n control-enable: no\n'
            f'zone:\n name: "{ZONE}"\n zonefile: "zone"\n'
        )
        return ["-d", "-c", str(folder / "nsd.conf")]

    return Recipe("NSD", "nsd", "nsd", prepare)


def knot(*, ttl: int = 3600, signed: bool = False) -> Recipe:
    """Knot DNS with the zone, which it can sign."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        (folder / "zone").write_text(zone(ttl))
        (folder / "db").mkdir()
        signing = "    dnssec-signing: on\n    zonefile-sync: -1\n    journal-content: none\n" if signed else ""
        (folder / "knot.conf").write_text(
            f"server:\n    rundir: {folder}\n    listen: 127.0.0.1@{port}\n    udp-workers: 1\n    tcp-workers: 1\n"
            f"database:\n    storage: {folder}/db\nlog:\n  - target: stderr\n    any: warning\n"
            f"zone:\n  - domain: {ZONE}\n    storage: {folder}\n    file: zone\n{signing}"
        )
        return ["-c", str(folder / "knot.conf")]

    return Recipe("Knot DNS", "knotd", "knot", prepare)


#: Authoritative servers, which do without recursion what ours asks them.
AUTHORITIES = {"nsd": nsd, "knot": knot}


def forwarder(upstream: str, *, anchors: Sequence[str] = (), validate: bool = False) -> Recipe:
    """Unbound that asks `upstream` for everything, and may validate by trust anchors, DNSKEY records as text."""
    plain = unbound(upstream, validate=validate)

    def prepare(folder: Path, port: int) -> Sequence[str]:
        arguments = plain.prepare(folder, port)
        file = Path(arguments[-1])
        trusted = "".join(f'    trust-anchor: "{anchor}"\n' for anchor in anchors)
        file.write_text(file.read_text().replace("server:\n", f"server:\n{trusted}", 1))
        return arguments

    return Recipe(plain.name, plain.program, plain.package, prepare)


def bind(upstream: str, anchors: Sequence[str]) -> Recipe:
    """BIND that asks `upstream` for everything, and validates by trust anchors, DNSKEY records as text."""
    host, port_of = upstream.rsplit(":", 1)

    def prepare(folder: Path, port: int) -> Sequence[str]:
        keys = [anchor.split(" DNSKEY ")[0] + " static-key " + _static(anchor) + ";" for anchor in anchors]
        (folder / "named.conf").write_text(
            f'options {{ directory "{folder}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n'
            f"  forwarders {{ {host} port {port_of}; }}; forward only; recursion yes; dnssec-validation yes;\n"
            '  pid-file none; session-keyfile none; lock-file none; managed-keys-directory ".";\n'
            "  automatic-interface-scan no; interface-interval 0; };\n"  # others make interfaces meanwhile
            f"controls {{ }};\ntrust-anchors {{ {' '.join(keys)} }};\n"
        )
        return ["-g", "-u", "root", "-n", "1", "-c", str(folder / "named.conf")]

    return Recipe("BIND", "named", "bind9", prepare)


def _static(anchor: str) -> str:
    """A DNSKEY record as `trust-anchors` has it: flags, protocol, algorithm, and the key as one text."""
    flags, protocol, algorithm, *key = anchor.split(" DNSKEY ")[1].split()
    return f'{flags} {protocol} {algorithm} "{"".join(key)}"'


@contextlib.contextmanager
def serving(recipe: Recipe, folder: Path, name: str = f"www.{ZONE}") -> Iterator[Server]:
    """Run a foreign server that knows a name; where it is not installed the test is skipped, but not in CI."""
    require(recipe.program)
    with running(recipe, folder, name=name) as server, telling(server):
        yield server


@contextlib.contextmanager
def telling(server: Server) -> Iterator[None]:
    """Add what a server has printed to whatever a test fails with; of fixtures' servers nothing is told."""
    try:
        yield
    except BaseException as error:  # pytest's own failures are no Exception
        error.add_note(f"{server.name} printed: {server.log.read_text(errors='replace')[-3_000:]}")
        raise


class Ours:
    """A running `lycosa dns`, and what its HTTP side says."""

    def __init__(self, server: Server, http: int) -> None:
        """`http`: the port of its HTTP side."""
        self.server, self._http = server, http

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.server.port

    @property
    def address(self) -> str:
        """Where it listens, with the address."""
        return self.server.address

    def statistics(self) -> dict[str, int]:
        """Its counts."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/statistics", timeout=5) as answer:
            counts: dict[str, int] = json.load(answer)["statistics"]
        return counts

    def has_http(self) -> bool:
        """Whether its HTTP side listens: it begins a moment after the names' side."""
        with contextlib.suppress(urllib.error.URLError):
            return bool(self.statistics())
        return False


@contextlib.contextmanager
def our_server(folder: Path, *upstreams: str, tier: str = "lower", settings: str = "") -> Iterator[Ours]:
    """Run `lycosa dns` with one worker; `settings`: further lines of its configuration."""
    http = free_port()
    lines = f'workers = 1\ncapacity = 10_000\nhttp = "127.0.0.1:{http}"\n{settings}'
    with running_ours(folder, upstreams, tier=tier, settings=lines) as server:
        ours = Ours(server, http)
        wait_for("its HTTP side listens", ours.has_http)
        with telling(server):
            yield ours
        assert server.alive, server.log.read_text()


def ask(program: str, port: int, *arguments: str) -> str:
    """What dig or kdig prints; it must succeed."""
    command = [require(program), "@127.0.0.1", "-p", str(port), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired as error:
        raise AssertionError((command, error.stdout, error.stderr)) from None
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def datagram(port: int, message: bytes, within: float = 2.0) -> bytes | None:
    """The answer to any bytes over UDP, or None when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(within)
        client.connect(("127.0.0.1", port))
        client.send(message)
        try:
            return client.recv(65_535)
        except TimeoutError:
            return None


def wait_for(what: str, is_so: Any, within: float = 10.0) -> None:
    """Return when something is so; fail with its name when it never is."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, f"never so: {what}"
        time.sleep(0.05)
