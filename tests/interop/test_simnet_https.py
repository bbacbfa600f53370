"""Foreign clients agree with the simulated Internet's HTTPS and HTTP/2: openssl, curl, Python's ssl and h2."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events
import pytest
from lycosa.simnet import SimulatedInternet

from tests.interop.programs import require

#: What openssl says about each bad certificate.
FAULTS = {
    "expired": "certificate has expired",
    "not_yet_valid": "certificate is not yet valid",
    "wrong_name": "hostname mismatch",
    "self_signed": "self-signed certificate",
    "unknown_authority": "self-signed certificate in certificate chain",
    "incomplete": "unable to get local issuer certificate",
}


@pytest.fixture(scope="module")
def net() -> Iterator[SimulatedInternet]:
    """One Internet on high ports for all tests of this file: two thirds HTTPS, a third of that bad."""
    with SimulatedInternet(hosts=150, pages=10, seed=11, https=0.66, bad_certificates=0.33) as running:
        yield running


def good_hosts(net: SimulatedInternet) -> list[str]:
    """Hosts on HTTPS with a good certificate."""
    return [name for name, kind in net.certificates.items() if kind == "good"]


def verify(net: SimulatedInternet, name: str) -> str:
    """What openssl says about a host's certificate."""
    command = [require("openssl"), "s_client", "-connect", f"{net.hosts[name]}:{net.https_port}", "-servername", name]
    command += ["-verify_hostname", name, "-CAfile", str(net.ca_file), "-verify_return_error", "-brief"]
    command += ["-no-CApath", "-no-CAstore"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def curl(net: SimulatedInternet, name: str, *arguments: str) -> bytes:
    """What curl prints for a host."""
    address = net.hosts[name]
    command = [require("curl"), "-sS", "--max-time", "10", "--cacert", str(net.ca_file)]
    for port in (net.http_port, net.https_port):
        command += ["--resolve", f"{name}:{port}:{address}"]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=30).stdout


def trust_of(net: SimulatedInternet, handshakes: int) -> dict[str, Any]:
    """What the ledger knows of certificates, once so many handshakes have ended: servers learn it after clients.

    openssl sends its alert late in TLS 1.3: the server may have been content already.
    """
    deadline = time.monotonic() + 10
    while True:
        certificates: dict[str, Any] = net.report()["certificates"]
        ended = certificates["failed_handshakes"] + certificates["handshakes"]
        if ended >= handshakes:
            assert ended == handshakes
            return certificates
        assert time.monotonic() < deadline, certificates
        time.sleep(0.02)


def test_openssl_verifies_good_chains(net: SimulatedInternet) -> None:
    for name in good_hosts(net)[:10]:
        said = verify(net, name)
        assert "Verification: OK" in said, said
        assert f"Verified peername: {name}" in said


@pytest.mark.parametrize(("kind", "fault"), FAULTS.items())
def test_openssl_names_the_fault_of_each_bad_certificate(net: SimulatedInternet, kind: str, fault: str) -> None:
    names = [name for name, found in net.certificates.items() if found == kind]
    assert names
    for name in names[:3]:
        said = verify(net, name)
        assert fault in said, said
        assert "Verification: OK" not in said


def test_hosts_without_https_have_no_certificate(net: SimulatedInternet) -> None:
    name = next(name for name in net.hosts if name not in net.certificates)
    assert "alert" in verify(net, name)


def test_a_host_on_https_redirects_whoever_comes_without(net: SimulatedInternet) -> None:
    for name in good_hosts(net)[:5]:
        told = curl(
            net, name, "-o", os.devnull, "-w", "%{http_code} %{redirect_url}", f"http://{name}:{net.http_port}/a?b"
        )
        assert told.decode() == f"301 https://{name}:{net.https_port}/a?b"


def test_http_2_serves_the_same_bytes_as_http_1(net: SimulatedInternet) -> None:
    for name in good_hosts(net)[:10]:
        for path in ("/", "/robots.txt", "/no/such/page"):
            url = f"https://{name}:{net.https_port}{path}"
            one = curl(net, name, "--compressed", "--http1.1", "-w", "\n%{http_code} %{http_version}", url)
            two = curl(net, name, "--compressed", "--http2", "-w", "\n%{http_code} %{http_version}", url)
            assert one.endswith(b" 1.1")
            assert two == one.removesuffix(b"1.1") + b"2"
        head = curl(net, name, "--http2", "--head", f"https://{name}:{net.https_port}/").lower()
        assert head.startswith(b"http/2 200")
        assert b"\ncontent-length: " in head


def test_two_simnets_of_one_seed_show_the_same_certificate(net: SimulatedInternet) -> None:
    name = good_hosts(net)[0]

    def shown(net: SimulatedInternet) -> bytes | None:
        context = ssl.create_default_context(cafile=net.ca_file)
        with (
            socket.create_connection((net.hosts[name], net.https_port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=name) as secure,
        ):
            return secure.getpeercert(binary_form=True)

    with SimulatedInternet(hosts=150, pages=10, seed=11, https=0.66, bad_certificates=0.33) as other:
        assert other.authority == net.authority
        assert shown(other) == shown(net)


def test_a_http_2_client_gets_many_pages_on_one_connection(net: SimulatedInternet) -> None:
    name = max(good_hosts(net), key=lambda name: len(curl(net, name, f"https://{name}:{net.https_port}/")))
    before = net.report()["totals"]
    context = ssl.create_default_context(cafile=net.ca_file)
    context.set_alpn_protocols(["h2"])
    bodies: dict[int, bytes] = {}
    statuses: dict[int, bytes] = {}
    with (
        socket.create_connection((net.hosts[name], net.https_port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        assert secure.selected_alpn_protocol() == "h2"
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding=None))
        client.initiate_connection()
        paths = ["/", "/about", "/robots.txt", "/no-such-page"] * 10
        for number, path in enumerate(paths):
            fields = [
                (":method", "GET"),
                (":scheme", "https"),
                (":authority", f"{name}:{net.https_port}"),
                (":path", path),
            ]
            client.send_headers(2 * number + 1, fields, end_stream=True)
        ended = 0
        while ended < len(paths):
            secure.sendall(client.data_to_send())
            for event in client.receive_data(secure.recv(65_536)):
                if isinstance(event, h2.events.ResponseReceived):
                    statuses[event.stream_id] = dict(event.headers)[b":status"]
                elif isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                    client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    ended += 1
                else:
                    assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)), event
    assert client.remote_settings.max_concurrent_streams == 128
    assert len({bodies[2 * number + 1] for number in range(0, 40, 4)}) == 1
    assert bodies[1] == curl(net, name, "--http1.1", f"https://{name}:{net.https_port}/")
    assert (statuses[1], statuses[7]) == (b"200", b"404")
    after = net.report()["totals"]
    assert after["requests"] - before["requests"] == 40 + 1
    assert after["connections"] - before["connections"] == 1 + 1


def test_the_ledger_sees_who_accepts_bad_certificates() -> None:
    with SimulatedInternet(hosts=60, pages=3, seed=3, https=1.0, bad_certificates=0.5) as net:
        bad = [name for name, kind in net.certificates.items() if kind != "good"]
        for name in bad[:5]:
            with pytest.raises(subprocess.CalledProcessError):
                curl(net, name, f"https://{name}:{net.https_port}/")
        certificates = trust_of(net, handshakes=5)
        assert certificates["count"] == 0
        assert certificates["bad_hosts"] == len(bad)
        for name in bad[:5]:
            curl(net, name, "--insecure", f"https://{name}:{net.https_port}/")
        certificates = net.report()["certificates"]
        assert certificates["count"] == sum(certificates["accepted"].values()) == 5
        assert urlsplit(certificates["first"][0].split()[-1]).hostname in bad
