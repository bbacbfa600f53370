"""A DNS server from Python: what it answers, what a reload may change, when it is in trouble, how it ends."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lycosa
import pytest
from lycosa.errors import LycosaError, SettingError
from lycosa.names import Cache
from lycosa.names.server import Server
from lycosa.names.server_settings import make_settings
from lycosa.settings import NamesSettings, PolitenessSettings
from lycosa.simnet import SimulatedInternet

from tests.unit.names.dig import dig

if TYPE_CHECKING:
    from tests.conftest import DnsServer
    from tests.unit.names.conftest import Start


def test_it_asks_once_and_answers_from_memory(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    upstream = start_dns()
    server = start(upstream.address)
    for transport in ("+notcp", "+tcp"):
        answer = dig(server, "www.example", transport)
        assert (answer["code"], [data for *_, data in answer["records"]]) == ("NOERROR", ["192.0.2.1"])
    assert dig(server, "gone.example")["code"] == "NXDOMAIN"
    assert upstream.asked["www.example"] == 1
    counts = server.statistics()
    assert (counts["questions_udp"], counts["questions_tcp"]) == (2, 1)
    assert (counts["hits"], counts["misses"]) == (1, 2)
    assert (counts["answers_noerror"], counts["answers_nxdomain"]) == (2, 1)
    (known,) = server.upstreams()
    assert (known["server"], known["is_resting"]) == (upstream.address, False)
    assert known["questions"] >= 2
    assert server.trouble() is None


def test_nothing_asked_is_no_trouble_and_silent_upstreams_are(start: Start) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        server = start(address, timeout=0.1, attempts=2, stale=0)
        assert server.trouble() is None
        until = time.monotonic() + 20
        number = 0
        while server.trouble() is None:
            assert time.monotonic() < until
            number += 1
            assert dig(server, f"n{number}.example")["code"] in ("SERVFAIL", None)
        assert server.trouble() == f"no upstream answers: {address}"


def test_a_loop_is_found_out_while_it_runs(start: Start, free_addresses: list[str]) -> None:
    first, second = free_addresses
    pair = [start(second, listen=first), start(first, listen=second)]
    # Each looks at its start, and then every half a minute.
    until = time.monotonic() + 60
    while not (found := [server for server in pair if server.statistics()["loop"]]):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert (found[0].trouble() or "").startswith("a loop of tiers")


def test_a_reload_changes_what_it_may(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    first, second = start_dns(), start_dns()
    server = start(first.address)
    assert dig(server, "a.example")["records"][0][1] <= 3_600
    changed = server.reload(
        lambda: make_settings(
            {**server.settings.model_dump(), "upstreams": [second.address], "max_ttl": 600, "min_ttl": 600}
        )
    )
    assert changed == ["upstreams", "min_ttl", "max_ttl"]
    assert dig(server, "b.example")["records"][0][1] in (599, 600)
    assert (first.asked["b.example"], second.asked["b.example"]) == (0, 1)
    assert [each["server"] for each in server.upstreams()] == [second.address]
    assert (server.reloads, server.reloads_refused) == (1, 0)


def test_who_may_not_ask_is_refused_and_counted(start: Start, dns: DnsServer) -> None:
    server = start(dns.address, allow=["198.51.100.0/24"])
    assert dig(server, "www.example")["code"] == "REFUSED"
    assert dig(server, "www.example", "+tcp")["code"] is None  # its connection is closed
    counts = server.statistics()
    assert counts["answers_refused"] == 1
    assert counts["refused_clients"] >= 2  # dig tries a connection again that was closed
    server.reload(lambda: make_settings({**server.settings.model_dump(), "allow": ["127.0.0.1"]}))
    assert dig(server, "www.example")["code"] == "NOERROR"


def ask_with_cookie(server: Server, cookie: str) -> str:
    """The cookie that a client is given, who shows this one."""
    address, _, port = server.listening[0].rpartition(":")
    command = ["dig", f"@{address}", "-p", port, "+tries=1", f"+cookie={cookie}", "www.example"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    found = re.search(r"COOKIE: ([0-9a-f]{48})", done.stdout)
    assert found is not None, done.stdout
    return found[1]


def test_servers_with_one_secret_take_each_others_cookies(start: Start, dns: DnsServer, tmp_path: Path) -> None:
    file, old, new = tmp_path / "cookies", "e5e973e5a6b2a43f48e7dc849e37bfcf", "445536bcd2513298075a5d379663c962"
    file.touch(mode=0o600)
    file.write_text(old)
    one, other = (start(dns.address, cookie_secret_file=file) for _ in range(2))
    alone = start(dns.address)
    given = ask_with_cookie(one, "2464c4abcf10c957")
    assert given[:24] == "2464c4abcf10c95701000000"
    assert ask_with_cookie(other, given) == given
    assert other.statistics()["bad_cookies"] == 0
    assert ask_with_cookie(alone, given) != given
    assert alone.statistics()["bad_cookies"] == 1
    file.write_text(f"{new}\n{old}\n")
    assert other.reload(lambda: make_settings(other.settings.model_dump())) == ["cookie_secret_file"]
    assert other.reload(lambda: make_settings(other.settings.model_dump())) == []
    renewed = ask_with_cookie(other, given)
    assert renewed != given
    assert other.statistics()["bad_cookies"] == 0
    assert ask_with_cookie(one, renewed) != renewed, "it has not read the new one yet"
    assert one.statistics()["bad_cookies"] == 1
    file.write_text(new)
    other.reload(lambda: make_settings(other.settings.model_dump()))
    ask_with_cookie(other, given)
    assert other.statistics()["bad_cookies"] == 1
    file.write_text("none")
    with pytest.raises(SettingError, match="cookie_secret_file"):
        other.reload(lambda: make_settings(other.settings.model_dump()))
    assert ask_with_cookie(other, renewed) == renewed


def test_a_reload_that_fails_or_makes_a_loop_changes_nothing(start: Start, dns: DnsServer) -> None:
    server = start(dns.address)
    before = server.settings

    def broken() -> Any:
        raise SettingError("min_ttl", "soon", "a number")

    with pytest.raises(SettingError, match="min_ttl"):
        server.reload(broken)
    with pytest.raises(SettingError, match="it would ask itself"):
        server.reload(lambda: make_settings({**before.model_dump(), "upstreams": server.listening}))
    assert server.settings is before
    assert server.reloads_refused == 2


def test_a_port_that_is_taken_is_told_in_one_line(start: Start, dns: DnsServer) -> None:
    server = start(dns.address)
    with pytest.raises((LycosaError, OSError)) as error:
        start(dns.address, listen=server.listening[0])
    assert server.listening[0] in str(error.value)
    assert "\n" not in str(error.value)


def test_memory_is_shared_with_crawlers_and_outlives_the_server(
    start: Start, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    upstream, file = start_dns(), tmp_path / "names"
    server = start(upstream.address, cache=file)
    assert server.fallen_back is None
    dig(server, "learnt.example")
    cache = Cache.open(file)
    found = cache.get("learnt.example")
    assert found is not None
    assert found.addresses == ["192.0.2.1"]
    assert cache.put_entries([("told.example", ["192.0.2.99"], 3_600, 0)], "v4", None) == []
    assert dig(server, "told.example")["records"][0][2] == "192.0.2.99"
    assert upstream.asked["told.example"] == 0
    server.close()
    again = start(upstream.address, cache=file)
    assert dig(again, "learnt.example")["records"][0][2] == "192.0.2.1"
    assert upstream.asked["learnt.example"] == 1


def test_a_crawl_that_shares_the_memory_asks_nothing(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "names"
    pace: PolitenessSettings = {"host_interval": 0, "address_interval": 0, "response_multiple": 0}
    pace |= {"max_crawl_delay": 0, "retries": 0}
    with SimulatedInternet(hosts=20, pages=2, seed=4) as net:
        server = start(net.resolver, cache=file)
        assert len(list(lycosa.resolve(net.hosts, resolvers=server.listening))) == 20
        names: NamesSettings = {"cache_file": file, "capacity": 1_000, "resolvers": server.listening}
        crawl = lycosa.crawl(job=net.job_file(), names=names, politeness=pace)
        assert sum(page.status == 200 for page in crawl) >= 20
    assert crawl.report()["names"]["questions"] == 0


def test_what_is_under_way_is_answered_before_the_end(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    server = start(start_dns(delay=0.6).address)
    answers: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(dig(server, "late.example", within=5)))
    asking.start()
    until = time.monotonic() + 5
    while not server.statistics()["waiting"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert server.drain(5.0)
    asking.join()
    assert answers[0]["code"] == "NOERROR"
    assert (server.draining, server.trouble()) == (True, "it is ending and takes no new questions")
    assert dig(server, "new.example", within=1)["code"] in ("REFUSED", "SERVFAIL", None)


def test_draining_waits_no_longer_than_it_is_told(start: Start, start_dns: Callable[..., DnsServer]) -> None:
    server = start(start_dns().address, timeout=30)
    asking = threading.Thread(target=dig, args=(server, "silent.example"))
    asking.start()
    until = time.monotonic() + 5
    while not server.statistics()["waiting"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    begin = time.monotonic()
    assert not server.drain(0.3)
    assert 0.25 < time.monotonic() - begin < 2
    asking.join()
