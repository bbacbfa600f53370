"""Trouble of a simulated Internet is what it says, seen from its clients' sockets, and passes when it is calm."""

from __future__ import annotations

import http.client
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from typing import get_args

import pytest
from lycosa.errors import SettingError
from lycosa.simnet import SimulatedInternet, Trouble

#: How long what never comes is waited for, in seconds.
PATIENCE = 0.3

PORTAL = "127.0.0.80"


@pytest.fixture(scope="module")
def running() -> Iterator[SimulatedInternet]:
    """An Internet of two threads, whose listeners share a port."""
    with SimulatedInternet(hosts=40, pages=3, threads=2) as net:
        yield net


@pytest.fixture
def net(running: SimulatedInternet) -> Iterator[SimulatedInternet]:
    """It, without trouble before and after."""
    yield running
    running.calm()


def ask(net: SimulatedInternet, name: str, tcp: bool = False) -> tuple[int, str | None] | str:
    """Response code and address of a name, or what went wrong."""
    host, port = net.resolver.split(":")
    question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0)
    question += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0\0\1\0\1"
    with socket.socket(type=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        try:
            client.connect((host, int(port)))
            client.sendall((len(question).to_bytes(2) if tcp else b"") + question)
            answer = client.recv(2_000)[2 if tcp else 0 :]
        except OSError as error:
            return type(error).__name__
    address = socket.inet_ntoa(answer[-4:]) if int.from_bytes(answer[6:8]) else None
    return answer[3] & 15, address


def connect(net: SimulatedInternet, name: str) -> socket.socket:
    """A connection to a host."""
    return socket.create_connection((net.hosts[name], net.http_port), timeout=PATIENCE)


def request(connection: socket.socket, name: str, path: str = "/") -> tuple[int, bytes]:
    """Status and body."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
    with http.client.HTTPResponse(connection) as response:
        response.begin()
        return response.status, response.read()


def fetch(net: SimulatedInternet, name: str, path: str = "/") -> tuple[int | str, bytes]:
    """Status and body over a new connection, or what went wrong."""
    try:
        with connect(net, name) as connection:
            return request(connection, name, path)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__, b""


def other(net: SimulatedInternet, name: str) -> str:
    """A host at another address."""
    return next(host for host, address in net.hosts.items() if address != net.hosts[name])


@pytest.fixture
def name(net: SimulatedInternet) -> str:
    """A host."""
    return next(iter(net.hosts))


@pytest.mark.parametrize("trouble", get_args(Trouble))
def test_all_is_as_before_when_it_is_calm(net: SimulatedInternet, name: str, trouble: Trouble) -> None:
    for _ in range(3):
        net.trouble(trouble)
        net.calm(trouble)
        assert [ask(net, name, tcp) for tcp in (False, True)] == [(0, net.hosts[name])] * 2
        status, body = fetch(net, name)
        assert status == 200
        assert b"guest network" not in body


def test_a_resolver_is_silent_fails_or_is_closed(net: SimulatedInternet, name: str) -> None:
    answers: dict[Trouble, object] = {
        "resolver-silent": "TimeoutError",
        "resolver-servfail": (2, None),
        "resolver-nxdomain": (3, None),
        "resolver-refused": "ConnectionRefusedError",
    }
    for trouble, answer in answers.items():
        net.trouble(trouble)
        assert [ask(net, name, tcp) for tcp in (False, True)] == [answer] * 2, trouble
        assert fetch(net, name)[0] == 200, "the hosts go on"
        net.calm()


def test_an_uplink_that_refuses_resets_what_there_is(net: SimulatedInternet, name: str) -> None:
    with connect(net, name) as connection:
        assert request(connection, name)[0] == 200
        net.trouble("uplink-refused")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    assert [fetch(net, host)[0] for host in net.hosts] == ["ConnectionRefusedError"] * 40
    assert ask(net, name) == (0, net.hosts[name])


def test_an_uplink_that_is_a_black_hole_answers_nothing(net: SimulatedInternet, name: str) -> None:
    with connect(net, name) as connection:
        assert request(connection, name)[0] == 200
        net.trouble("uplink-black-hole")
        with pytest.raises(TimeoutError):
            request(connection, name)
        with socket.socket() as client:
            client.settimeout(PATIENCE)
            with pytest.raises(TimeoutError):
                client.connect((net.hosts[name], net.http_port))
        net.calm()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_an_uplink_breaks_or_is_silent_once_it_was_asked(net: SimulatedInternet, name: str) -> None:
    before = net.report()["totals"]["by_status"].get("0", 0)
    net.trouble("uplink-broken")
    assert fetch(net, name)[0] == "ConnectionResetError"
    net.calm()
    net.trouble("uplink-silent")
    assert fetch(net, name)[0] == "TimeoutError"
    assert net.report()["totals"]["by_status"]["0"] == before + 2, "the ledger knows what was not answered"


def test_a_captive_portal_answers_for_everybody(net: SimulatedInternet, name: str) -> None:
    served = net.report()["coverage"]["served"]
    net.trouble("captive")
    assert {ask(net, host) for host in [*net.hosts, "no-such-name.example"]} == {(0, PORTAL)}
    pages = {fetch(net, host, path) for host in net.hosts for path in ("/", "/robots.txt", "/no-such-page")}
    with socket.create_connection((PORTAL, net.http_port), timeout=PATIENCE) as connection:
        pages.add(request(connection, name))
    ((status, body),) = pages
    assert status == 200
    assert b"guest network" in body
    net.trouble("captive-redirect")
    net.calm("captive")
    assert fetch(net, name)[0] == 302
    with socket.create_connection((PORTAL, net.http_port), timeout=PATIENCE) as connection:
        assert request(connection, "portal.simnet", "/login") == (200, body)
    net.trouble("captive-varied")
    net.calm("captive-redirect")
    assert len({fetch(net, host) for host in net.hosts}) == len(net.hosts)
    net.trouble("captive-refusal")
    net.calm("captive-varied")
    assert {fetch(net, host) for host in net.hosts} == {(403, body)}
    assert ask(net, name) == (0, net.hosts[name]), "names lead to their hosts"
    report = net.report()
    assert report["totals"]["by_kind"]["captive"] == 40 * 3 + 3 + 2 * 40
    assert report["coverage"]["served"] == served, "what the portal says covers nothing"


def test_trouble_strikes_tls_too() -> None:
    with SimulatedInternet(hosts=10, pages=1, https=1.0) as net:
        name, address = next(iter(net.hosts.items()))
        context = ssl.create_default_context(cadata=net.authority)

        def get() -> int | str:
            try:
                with (
                    socket.create_connection((address, net.https_port), timeout=PATIENCE) as plain,
                    context.wrap_socket(plain, server_hostname=name) as connection,
                ):
                    return request(connection, name)[0]
            except (OSError, http.client.HTTPException) as error:
                return type(error).__name__

        assert get() == 200
        answers: dict[Trouble, str] = {
            "uplink-refused": "ConnectionRefusedError",
            "uplink-black-hole": "TimeoutError",
            # A reset, too: Python does not tell it from an end.
            "uplink-broken": "RemoteDisconnected",
            "uplink-silent": "TimeoutError",
            "captive": "SSLError",
        }
        for trouble, answer in answers.items():
            net.trouble(trouble)
            assert get() == answer, trouble
            net.calm()
            assert get() == 200, trouble


def test_half_of_all_packets_are_lost(net: SimulatedInternet, name: str) -> None:
    net.trouble("loss", share=0.5)
    asked: Counter[object] = Counter()
    connected: Counter[str] = Counter()

    def work() -> None:
        asked.update(ask(net, name) for _ in range(10))
        connected[str(fetch(net, name)[0])] += 1

    threads = [threading.Thread(target=work) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 220 < asked["TimeoutError"] < 380, asked
    assert 10 < connected["TimeoutError"] < 50, connected
    assert asked[0, net.hosts[name]] + asked["TimeoutError"] == 600
    assert connected["200"] + connected["TimeoutError"] == 60, "what is connected is served"


def test_robots_files_that_are_unavailable_forbid_their_hosts() -> None:
    with SimulatedInternet(hosts=10, pages=1, host_interval=0, address_interval=0) as net:
        one, two, three = list(net.hosts)[:3]
        assert fetch(net, one, "/robots.txt")[0] in (200, 404)
        net.trouble("robots-unavailable")
        assert {fetch(net, host, "/robots.txt")[0] for host in (one, two, three)} == {503}
        assert fetch(net, one)[0] == fetch(net, two)[0] == 200
        first = net.report()["robots"]["first"]
        assert len(first) == 1, "what was had before is still a rule"
        assert first[0].startswith(f"disallowed: http://{two}")
        net.calm()
        assert fetch(net, three, "/robots.txt")[0] in (200, 404)
        assert fetch(net, three)[0] == 200
        assert net.report()["robots"]["count"] == 1


@pytest.mark.parametrize(
    ("trouble", "answer"),
    [
        ("uplink-refused", "ConnectionRefusedError"),
        ("uplink-black-hole", "TimeoutError"),
        ("uplink-broken", "ConnectionResetError"),
        ("uplink-silent", "TimeoutError"),
        ("loss", "TimeoutError"),
    ],
)
def test_hosts_can_be_in_trouble_alone(net: SimulatedInternet, name: str, trouble: Trouble, answer: str) -> None:
    alone = [host for host, address in net.hosts.items() if address == net.hosts[name]]
    net.trouble(trouble, hosts=[*alone, list(net.hosts)[20]], share=1)
    assert {fetch(net, host)[0] for host in alone} == {answer}
    well = {fetch(net, host)[0] for host in list(net.hosts)[1:10] if host not in alone}
    assert well == {200}
    net.calm()
    assert fetch(net, name)[0] == 200


def test_names_can_be_in_trouble_alone(net: SimulatedInternet, name: str) -> None:
    well = other(net, name)
    answers: dict[Trouble, object] = {
        "resolver-silent": "TimeoutError",
        "resolver-servfail": (2, None),
        "captive": (0, PORTAL),
    }
    for trouble, answer in answers.items():
        net.trouble(trouble, hosts=[name])
        assert (ask(net, name), ask(net, well)) == (answer, (0, net.hosts[well])), trouble
        assert fetch(net, well)[0] == 200
        net.calm()


def test_hosts_in_trouble_for_good_count_in_no_coverage() -> None:
    with SimulatedInternet(hosts=10, pages=1) as net:
        first, *others = net.hosts
        for host in [*others, first]:
            fetch(net, host, "/robots.txt" if host == first else "/")
        whole, without, alone = (net.report(without)["coverage"] for without in ([], [first], others))
    assert whole["served"] == without["served"] == len(others)
    assert alone["served"] == 0
    assert whole["reachable"] == without["reachable"] + alone["reachable"]
    assert all(f"//{first}" in url for url in alone["missed"])
    assert not any(f"//{first}" in url for url in without["missed"])


def test_what_there_is_not_is_told(net: SimulatedInternet, name: str) -> None:
    with pytest.raises(SettingError, match="resolver-silent, resolver-servfail"):
        net.trouble("rain")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="hosts"):
        net.trouble("uplink-refused", hosts=["no-such-name.example"])
    with pytest.raises(SettingError, match="share"):
        net.trouble("loss", share=1.5)
    with pytest.raises(SettingError, match="closed for all hosts"):
        net.trouble("resolver-refused", hosts=[name])
    assert fetch(net, name)[0] == 200
