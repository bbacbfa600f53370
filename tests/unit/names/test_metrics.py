"""What a DNS server tells over HTTP, read by foreign software; and that nobody can hold it up."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import lycosa
import pytest
from lycosa import status_server
from lycosa.errors import LycosaError
from lycosa.names.metrics import FAMILIES, UPSTREAM_FAMILIES, overview, prometheus, serve_metrics
from lycosa.names.server import Server
from lycosa.names.server_settings import make_settings
from lycosa.status_server import StatusServer
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from tests.conftest import DnsServer


@pytest.fixture
def server(dns: DnsServer) -> Iterator[Server]:
    """A server that has answered."""
    settings = {"tier": "upper", "listen": "127.0.0.1:0", "upstreams": [dns.address], "workers": 1, "capacity": 1_000}
    with Server(make_settings(settings)) as running:
        names = ["a.example", "b.example", "gone.example"]
        assert len(list(lycosa.resolve(names, resolvers=running.listening))) == 3
        yield running


@pytest.fixture
def served(server: Server) -> Iterator[StatusServer]:
    """The same, over HTTP."""
    with serve_metrics(server, "127.0.0.1:0") as running:
        yield running


def get(served: StatusServer, target: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    """One request: status, headers, text."""
    asking = http.client.HTTPConnection(served.address, timeout=10)
    try:
        asking.request(method, target)
        answer = asking.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        asking.close()


def test_every_count_has_its_metric_once(server: Server) -> None:
    counts = [count for family in FAMILIES for count, _ in family.series]
    assert sorted(counts) == sorted(server.statistics())
    told = {count for family in UPSTREAM_FAMILIES for count, _ in family.series}
    assert told | {"server"} <= set(server.upstreams()[0])


def test_prometheus_reads_what_the_server_counts(server: Server, served: StatusServer, dns: DnsServer) -> None:
    status, headers, text = get(served, "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families.values()
        for sample in family.samples
    }
    counts = server.statistics()
    for family in FAMILIES:
        for count, labels in family.series:
            pairs = [(name, value.strip('"')) for name, _, value in [labels.partition("=")] if name]
            if count not in ("cache_bytes", "waiting"):  # may move meanwhile
                assert found[(f"lycosa_dns_{family.name}", *pairs)] == counts[count], count
        assert families[f"lycosa_dns_{family.name.removesuffix('_total')}"].type == family.kind
    assert found["lycosa_dns_questions_total", ("transport", "udp")] >= 3
    assert found["lycosa_dns_answers_total", ("rcode", "nxdomain")] == 1
    assert found["lycosa_dns_upstream_questions_total", ("server", dns.address)] >= 3
    assert found["lycosa_dns_upstream_round_trip_seconds", ("server", dns.address)] > 0
    assert found["lycosa_dns_upstream_resting", ("server", dns.address)] == 0
    assert found["lycosa_dns_info", ("tier", "upper"), ("version", lycosa.__version__)] == 1
    assert found[("process_cpu_seconds_total",)] > 0
    assert found[("process_resident_memory_bytes",)] > 1e6
    assert all(family.documentation for family in families.values())
    assert found["lycosa_dns_answer_seconds_count", ("source", "upstream")] == 3
    assert found["lycosa_dns_answer_seconds_bucket", ("le", "+Inf"), ("source", "upstream")] == 3
    assert found["lycosa_dns_answer_seconds_sum", ("source", "upstream")] > 0
    assert found["lycosa_dns_answer_seconds_count", ("source", "cache")] == 0
    assert found["lycosa_dns_upstream_seconds_count", ("server", dns.address)] >= 3
    assert families["lycosa_dns_upstream_seconds"].type == "histogram"


def test_an_upstream_that_never_answered_has_no_round_trip() -> None:
    with Server(
        make_settings({"tier": "lower", "listen": "127.0.0.1:0", "upstreams": ["127.0.0.1:9"], "workers": 1})
    ) as server:
        until = time.monotonic() + 10
        while not server.upstreams():  # known once the thread that asks them has begun
            assert time.monotonic() < until
        text = prometheus(server)
    assert 'lycosa_dns_upstream_questions_total{server="127.0.0.1:9"}' in text
    assert "lycosa_dns_upstream_round_trip_seconds{" not in text


def test_programs_get_everything_as_json(server: Server, served: StatusServer) -> None:
    status, headers, text = get(served, "/statistics?pretty")
    assert (status, headers["content-type"]) == (200, "application/json")
    found = json.loads(text)
    assert found.keys() == overview(server).keys()
    assert (found["tier"], found["listening"], found["status"]) == ("upper", server.listening, "ok")
    assert found["statistics"]["answers_nxdomain"] == 1
    times = found["answer_seconds"]["upstream"]
    assert (len(times["counts"]), sum(times["counts"])) == (len(found["time_bounds"]) + 1, 3)
    (upstream,) = found["upstreams"]
    assert sum(upstream["round_trips"]["counts"]) == upstream["answers"]


def test_health_is_ok_or_says_why_not(server: Server, served: StatusServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get(served, "/healthz")[::2] == (200, "ok\n")
    monkeypatch.setattr(server, "trouble", lambda: "no upstream answers: 192.0.2.1:53")
    assert get(served, "/healthz")[::2] == (503, "no upstream answers: 192.0.2.1:53\n")
    monkeypatch.undo()
    server.drain(1.0)
    assert get(served, "/healthz")[::2] == (503, "it is ending and takes no new questions\n")


def test_nothing_else_is_answered_and_nothing_changed(served: StatusServer) -> None:
    status, _, text = get(served, "/")
    assert (status, text) == (404, "available: /metrics, /healthz, /statistics\n")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = get(served, "/statistics", method)
        assert (status, headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("sent", [b"\x00\xff\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET /healthz SPDY/3\r\n\r\n"])
def test_what_is_no_request_is_told_so(served: StatusServer, sent: bytes) -> None:
    assert exchange(served, sent).startswith(b"HTTP/1.1 400 ")


def test_a_head_without_end_is_cut_off(served: StatusServer) -> None:
    assert exchange(served, b"GET /healthz".ljust(status_server.MAX_HEAD, b"x")).startswith(b"HTTP/1.1 400 ")


def exchange(served: StatusServer, sent: bytes) -> bytes:
    """Send bytes and give what comes back."""
    host, _, port = served.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(4_096):
            received += piece
        return received


def test_slow_clients_hold_others_up_for_a_bounded_time(
    served: StatusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_server, "WITHIN", 0.5)
    host, _, port = served.address.rpartition(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(2 * status_server.THREADS)]
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(0.05):
            for connection in slow:
                try:
                    connection.sendall(b"G")
                except OSError:  # cut off
                    continue

    dripping = threading.Thread(target=drip)
    dripping.start()
    begin = time.monotonic()
    assert get(served, "/healthz")[0] == 200
    # Eight that are slow, four at a time.
    assert time.monotonic() - begin < 3
    ended.set()
    dripping.join()
    for connection in slow:
        connection.close()


def test_an_error_of_ours_is_told_and_the_next_one_answered(
    served: StatusServer, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Any:
        raise KeyError("hits")

    monkeypatch.setattr(server, "statistics", broken)
    for _ in range(status_server.THREADS + 1):
        assert get(served, "/metrics")[0] == 500
    assert "/metrics failed" in caplog.text
    monkeypatch.undo()
    assert get(served, "/metrics")[0] == 200


def test_a_port_that_is_taken_is_told_in_one_line(served: StatusServer, server: Server) -> None:
    with pytest.raises(LycosaError, match=f"^http {served.address}: Address already in use; choose another"):
        serve_metrics(server, served.address)


def test_closing_ends_its_threads(server: Server) -> None:
    served = serve_metrics(server, "[::1]:0")
    assert served.address.startswith("[::1]:")
    served.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lycosa-http")]
    with pytest.raises(ConnectionRefusedError):
        get(served, "/healthz")
