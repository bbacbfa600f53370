"""What a reload changes while a DNS server runs, and what it refuses: each setting is tried."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lycosa.errors import SettingError
from lycosa.names.server import RESTART, Server
from lycosa.names.server_settings import ServerSettings, make_settings

from tests.interop.certificates import certify
from tests.unit.names.dig import dig

if TYPE_CHECKING:
    from tests.conftest import DnsServer
    from tests.unit.names.conftest import Start

#: Of each setting that needs a restart: another value, and how the one of before is told.
OTHERS = [
    ("tier", "upper", "lower"),
    ("listen", ["127.0.0.1:53"], "127.0.0.1:0"),
    ("workers", 2, "1"),
    ("cache", "names.cache", "none"),
    ("capacity", 2_000, "1000"),
    ("packet_memory", 1, "64"),
    ("tcp_connections", 10, "150"),
    ("cookies", False, "True"),
    ("http", "127.0.0.1:9153", "none"),
    ("http_public", True, "False"),
    ("query_log", "queries.jsonl", "none"),
]


@pytest.mark.parametrize(("name", "value", "told"), OTHERS)
def test_what_needs_a_restart_is_refused(name: str, value: object, told: str, start: Start, dns: DnsServer) -> None:
    server = start(dns.address)
    before = server.settings
    with pytest.raises(SettingError, match=f"{name}: cannot change from {re.escape(told)} to .*; restart the server"):
        server.reload(lambda: make_settings({**before.model_dump(), name: value}))
    assert server.settings is before
    assert (server.reloads, server.reloads_refused) == (0, 1)
    assert dig(server, "www.example")["code"] == "NOERROR"


#: Settings of the upstreams with another value: a reload replaces the clients that ask them.
ASKING: dict[str, Any] = {
    "zones": ["corp.example=192.0.2.1"],
    "spread": False,
    "rotate": True,
    "negative_ttl": 60,
    "nxdomain_cut": True,
    "wildcards": True,
    "timeout": 3.0,
    "attempts": 1,
    "in_flight": 5,
    "upstream_rate": 1_000.0,
}


@pytest.mark.parametrize("name", [*ASKING, "ca_file"])
def test_other_settings_of_upstreams_replace_the_clients_that_ask_them(
    name: str, start: Start, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    server = start(start_dns().address)
    for number in range(5):
        dig(server, f"n{number}.example")
    assert server.upstreams()[0]["questions"] >= 5
    certify(tmp_path)
    spread = {"spread": False} if name == "rotate" else {}
    value = ASKING.get(name, tmp_path / "ca.pem")
    assert name in server.reload(lambda: make_settings({**server.settings.model_dump(), **spread, name: value}))
    assert server.upstreams()[0]["questions"] < 5, "counted from the start again"


def data(server: Server, name: str, *options: str) -> object:
    """The data of a name's addresses."""
    return [data for *_, data in dig(server, name, *options)["records"]]


def ttl(server: Server, name: str) -> object:
    """The TTL of a name's address."""
    return dig(server, name)["records"][0][1]


#: Of each other setting: what is given before and at the reload, what is looked at (by a name that is asked for for
#: the first time), and what is seen before and after.
Seen = tuple[dict[str, Any], dict[str, Any], Callable[[Server, str], object], object, object]
ANSWERING: dict[str, Seen] = {
    "local_data": (
        {}, {"local_data": ["a.local.example A 192.0.2.99"]},
        lambda server, _: data(server, "a.local.example"), ["192.0.2.1"], ["192.0.2.99"],
    ),
    "min_ttl": ({"min_ttl": 60}, {"min_ttl": 7_200}, ttl, 3_600, 7_200),
    "max_ttl": ({}, {"max_ttl": 600}, ttl, 3_600, 600),
    "keep_ttl": ({"min_ttl": 7_200}, {"keep_ttl": ["example"]}, ttl, 7_200, 3_600),
    "allow": ({}, {"allow": []}, lambda server, name: dig(server, name)["code"], "NOERROR", "REFUSED"),
    "filter_private": (
        {}, {"filter_private": True}, lambda server, name: data(server, f"private.{name}"), ["10.0.0.1"], [],
    ),
    "private_names": (
        {"filter_private": True}, {"private_names": ["example"]},
        lambda server, name: data(server, f"private.{name}"), [], ["10.0.0.1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERING)
def test_a_reload_takes_effect_at_the_next_answer(
    name: str, start: Start, start_dns: Callable[..., DnsServer]
) -> None:
    given, changed, see, before, after = ANSWERING[name]
    upstream = start_dns()
    upstream.hosts = {f"private.{asked}.example": ["10.0.0.1"] for asked in ("first", "second")}
    server = start(upstream.address, **given)
    assert see(server, "first.example") == before
    assert server.reload(lambda: make_settings({**server.settings.model_dump(), **changed})) == [name]
    assert see(server, "second.example") == after


def test_a_reload_reads_another_hosts_file(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    server, hosts = start(dns.address), tmp_path / "hosts"
    hosts.write_text("192.0.2.77 www.hosts.example\n")
    assert data(server, "www.hosts.example") == ["192.0.2.1"]
    server.reload(lambda: make_settings({**server.settings.model_dump(), "hosts_file": hosts}))
    assert data(server, "www.hosts.example") == ["192.0.2.77"]


def test_a_reload_limits_the_rate_of_answers(start: Start, dns: DnsServer) -> None:
    server = start(dns.address)
    for _ in range(4):
        dig(server, "www.example")
    assert server.statistics()["limited"] == 0
    server.reload(lambda: make_settings({**server.settings.model_dump(), "rate": 0.01}))
    for _ in range(4):
        dig(server, "www.example", within=1)
    assert server.statistics()["limited"] > 0


def test_a_reload_closes_idle_connections_earlier(start: Start, dns: DnsServer) -> None:
    server = start(dns.address, tcp_idle=3_600)
    server.reload(lambda: make_settings({**server.settings.model_dump(), "tcp_idle": 0.1}))
    address, _, port = server.listening[0].rpartition(":")
    with socket.create_connection((address, int(port)), timeout=5) as connection:
        assert connection.recv(1) == b""


def test_a_reload_logs_more_of_clients_addresses(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    log = tmp_path / "queries.jsonl"
    server = start(dns.address, query_log=log)

    def logged(lines: int) -> object:
        """The client in the last line, once there are so many."""
        dig(server, "www.example")
        until = time.monotonic() + 10
        while len(known := log.read_text().splitlines()) < lines:
            assert time.monotonic() < until
            time.sleep(0.01)
        return json.loads(known[-1])["client"]

    assert logged(1) == "127.0.0.0/24"
    server.reload(lambda: make_settings({**server.settings.model_dump(), "query_log_clients": True}))
    assert logged(2) == "127.0.0.1"


#: Settings that other tests reload. The policy is replaced as a whole; what these of it do, time shows: the tests of
#: crates/names-server let it pass.
ELSEWHERE = {
    "upstreams": "test_a_reload_changes_what_it_may",
    "cookie_secret_file": "test_servers_with_one_secret_take_each_others_cookies",
    "hosts_file": "above",
    "rate": "above",
    "tcp_idle": "above",
    "query_log_clients": "above",
    "failure_pause": "the policy",
    "stale": "the policy",
    "prefetch": "the policy",
}


def test_each_setting_needs_a_restart_or_is_tried_by_a_reload() -> None:
    groups = [{name for name, *_ in OTHERS}, {*ASKING, "ca_file"}, set(ANSWERING), set(ELSEWHERE)]
    assert groups[0] == set(RESTART)
    assert sorted(name for group in groups for name in group) == sorted(ServerSettings.model_fields)
