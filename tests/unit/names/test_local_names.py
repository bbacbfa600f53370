"""Names that are known without the usual resolvers: hosts files, local data, zones, search domains, resolv.conf."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lycosa
import pytest
from lycosa import _core
from lycosa.errors import SettingError
from lycosa.job import Names
from lycosa.names import Resolver
from lycosa.names.lookups import Lookups
from lycosa.names.server import Server
from lycosa.names.server_settings import make_settings

if TYPE_CHECKING:
    from tests.conftest import DnsServer

HOSTS = "192.0.2.7 printer.lan printer # on the second floor\n2001:db8::7 printer.lan\nno-address x\n"


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A hosts file."""
    path = tmp_path / "hosts"
    path.write_text(HOSTS)
    return path


def found(names: list[str], **options: Any) -> dict[str, tuple[str, list[str]]]:
    """Status and addresses of names."""
    return {answer.name: (answer.status, answer.addresses) for answer in lycosa.resolve(names, **options)}


def test_a_hosts_file_comes_before_the_resolvers(
    hosts: Path, start_dns: Callable[..., DnsServer], caplog: pytest.LogCaptureFixture
) -> None:
    dns = start_dns()
    with caplog.at_level(logging.WARNING, "lycosa"):
        answers = found(["Printer.LAN", "printer", "www.example"], resolvers=[dns.address], hosts_file=hosts)
    assert answers["Printer.LAN"] == ("ok", ["192.0.2.7"])
    assert answers["printer"] == ("ok", ["192.0.2.7"])
    assert answers["www.example"] == ("ok", ["192.0.2.1"])
    assert set(dns.asked) == {"www.example"}
    assert "hosts line 3: no-address is no address" in caplog.text.replace('"', "")
    only_v4 = found(["printer"], resolvers=[dns.address], hosts_file=hosts, families="v6")
    assert only_v4["printer"] == ("nodata", []), "a name that is listed has no other addresses"


def test_a_hosts_file_is_read_again_when_it_changes(hosts: Path, dns: DnsServer) -> None:
    with Resolver(resolvers=[dns.address], hosts_file=hosts) as resolver:

        def ask() -> list[str]:
            resolver.submit(["printer"], 0)
            (answer,) = resolver.take(1, 5.0)
            return answer.addresses

        assert ask() == ["192.0.2.7"]
        hosts.write_text("192.0.2.8 printer\n")
        until = time.monotonic() + 10
        while ask() != ["192.0.2.8"]:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_local_data_has_records_of_several_types(hosts: Path, start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    data = ["scan.lan CNAME printer.lan", 'printer.lan 60 TXT "second floor"', "printer.lan A 192.0.2.9", ""]
    answers = lycosa.resolve(
        ["scan.lan", "printer", "192.0.2.7"],
        resolvers=[dns.address],
        types=["A", "TXT", "PTR"],
        local_data=data,
        hosts_file=hosts,
    )
    by_name = {answer.name: answer for answer in answers}
    scan = by_name["scan.lan"]
    assert (scan.status, scan.addresses) == ("ok", ["192.0.2.9"])
    assert [record[1:] for record in scan.records] == [
        ("CNAME", 3600, "printer.lan."),
        ("TXT", 60, '"second floor"'),
    ]
    assert by_name["printer"].addresses == ["192.0.2.7"]
    assert [record[3] for record in by_name["192.0.2.7"].records] == ["printer.lan.", "printer."]
    assert not dns.asked


def test_names_of_a_zone_are_asked_of_its_own_resolvers(start_dns: Callable[..., DnsServer]) -> None:
    outside, inside, lab = (start_dns() for _ in range(3))
    zones = [f"corp.example={inside.address}", f"lab.corp.example={lab.address}"]
    names = ["www.example", "www.corp.example", "a.b.corp.example", "x.lab.corp.example", "xcorp.example"]
    answers = found(names, resolvers=[outside.address], zones=zones)
    assert {status for status, _ in answers.values()} == {"ok"}
    assert set(outside.asked) == {"www.example", "xcorp.example"}
    assert set(inside.asked) == {"www.corp.example", "a.b.corp.example"}
    assert set(lab.asked) == {"x.lab.corp.example"}
    # A zone's resolver that is silent is not replaced by those outside, who must not learn of its names.
    answers = found(["silent.corp.example"], resolvers=[outside.address], zones=zones, timeout=0.1, attempts=2)
    assert answers["silent.corp.example"][0] == "timeout"
    assert "silent.corp.example" not in outside.asked


def test_search_domains_are_tried_one_after_the_other(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    with Lookups(resolvers=[dns.address], search=["gone.example", "corp.example"], ndots=1) as lookups:
        assert lookups.wait("www").name == "www.corp.example"
        assert lookups.wait("www.corp.example").name == "www.corp.example"
        assert lookups.wait("gone.").status == "nxdomain"
        assert lookups.wait("192.0.2.7").addresses == ["192.0.2.7"]
        assert lookups.wait("a b").status == "bad-name"
        with pytest.raises(socket.gaierror):
            lookups.addresses(lookups.wait("gone"))
    assert [name for name in dns.asked if name.startswith("www")] == ["www.gone.example", "www.corp.example"]
    assert {"gone", "gone.gone.example", "gone.corp.example"} <= set(dns.asked)


def test_a_server_has_zones_hosts_and_local_data(hosts: Path, start_dns: Callable[..., DnsServer]) -> None:
    outside, inside = start_dns(), start_dns()
    settings = {
        "tier": "upper",
        "listen": "127.0.0.1:0",
        "upstreams": outside.address,
        "zones": [f"corp.example={inside.address}"],
        "hosts_file": hosts,
        "local_data": ["mail.lan MX 5 printer.lan", "app.local A 192.0.2.5"],
    }
    with contextlib.closing(Server(make_settings(settings))) as server:
        names = ["www.example", "www.corp.example", "printer", "app.local"]
        answers = found(names, resolvers=[server.listening[0]], families="v4")
        assert {name: addresses for name, (_, addresses) in answers.items()} == {
            "www.example": ["192.0.2.1"],
            "www.corp.example": ["192.0.2.1"],
            "printer": ["192.0.2.7"],
            "app.local": [],
        }, "a client of its own knows that .local is not in the DNS"
        (mail,) = lycosa.resolve(["mail.lan"], resolvers=[server.listening[0]], types=["MX"])
        assert [record[1:] for record in mail.records] == [("MX", 3600, "5 printer.lan.")]
        assert server.statistics()["local"] == 2
        # A reload takes other local data.
        changed = {**settings, "local_data": ["mail.lan MX 7 printer.lan"]}
        server.reload(lambda: make_settings(changed))
        (mail,) = lycosa.resolve(["mail.lan"], resolvers=[server.listening[0]], types=["MX"])
        assert mail.records[0][3] == "7 printer.lan."
    asked = {name for name in inside.asked if not name.endswith("loop.lycosa.alt")}
    assert asked == {"www.corp.example"}


@pytest.mark.parametrize(
    ("option", "given", "told"),
    [
        ("zones", ["corp.example"], "corp.example=192.0.2.1"),
        ("zones", ["corp.example=nowhere"], "corp.example=192.0.2.1"),
        ("zones", ["a=192.0.2.1", "A=192.0.2.2"], "twice"),
        ("zones", "corp.example=192.0.2.1", "a list"),
        ("local_data", ["printer.lan A nowhere"], "IPv4"),
        ("local_data", ["a.lan CNAME b.example"], "leads to no local name"),
        ("local_data", ["a.lan NAPTR x"], "A, AAAA, CNAME"),
    ],
)
def test_bad_input_is_told(option: str, given: Any, told: str, dns: DnsServer) -> None:
    with pytest.raises(SettingError) as error:
        Resolver(resolvers=[dns.address], **{option: given})
    assert told in str(error.value)


def test_a_resolv_conf_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(
        "nameserver 192.0.2.1\nnameserver fe80::1%lo\nsearch a.example b.example\n"
        "options ndots:2 timeout:3 rotate use-vc no-aaaa what-is-this\n"
    )
    conf = _core.resolv_conf(path)
    assert conf["resolvers"][0] == "192.0.2.1:53"
    assert len(conf["resolvers"]) == 2, "also a link-local one"
    assert (conf["search"], conf["ndots"], conf["timeout"]) == (["a.example", "b.example"], 2, 3.0)
    assert conf["rotate"]
    assert conf["use_vc"]
    assert conf["no_aaaa"]
    assert any("what-is-this" in text and "allowed" in text for text in conf["warnings"])


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    """No test here waits for long."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < 30


def test_a_zone_below_local_is_asked_for_where_it_has_resolvers(start_dns: Callable[..., DnsServer]) -> None:
    outside, inside = start_dns(), start_dns()
    zones = [f"cluster.local={inside.address}"]
    options: dict[str, Any] = {"resolvers": [outside.address], "zones": zones}
    answers = found(["api.cluster.local", "printer.local"], **options)
    assert answers == {"api.cluster.local": ("ok", ["192.0.2.1"]), "printer.local": ("nxdomain", [])}
    (records,) = lycosa.resolve(["api.cluster.local"], types=["TXT"], **options)
    assert records.status == "nodata"
    assert inside.asked == {"api.cluster.local": 2}
    settings = {"tier": "upper", "listen": "127.0.0.1:0", "upstreams": outside.address, "zones": zones}
    with contextlib.closing(Server(make_settings(settings))) as server:
        (answer,) = lycosa.resolve(
            ["b.cluster.local"], resolvers=[server.listening[0]], zones=[f"cluster.local={server.listening[0]}"]
        )
        assert answer.status == "ok"
    assert not [name for name in outside.asked if name.endswith(".local")]


def test_localhost_has_addresses_alone(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    (answer,) = lycosa.resolve(["localhost"], resolvers=[dns.address], types=["MX"])
    assert (answer.status, dict(dns.asked)) == ("nodata", {})


def test_a_server_that_several_zones_have_is_told_of_once(dns: DnsServer) -> None:
    zones = [f"a.example={dns.address}", f"b.example={dns.address}"]
    with Resolver(resolvers=[dns.address], zones=zones) as resolver:
        resolver.submit(["www.a.example", "www.b.example", "www.c.example"], 0)
        while resolver.pending():
            resolver.take(10, 1.0)
        (figures,) = resolver.upstreams()
        assert (figures["server"], figures["questions"], figures["answers"]) == (dns.address, 3, 3)


def test_resolvers_can_be_left_out(dns: DnsServer) -> None:
    with Resolver(resolvers=["127.0.0.1:9", dns.address], leave_out=["127.0.0.1:9"]) as resolver:
        assert resolver.resolvers == [dns.address]


@pytest.mark.parametrize(
    ("key", "given", "told"),
    [
        ("zones", ["a.example=192.0.2.1", "A.Example=192.0.2.2"], "twice"),
        ("local_data", ["a.lan CNAME b.example"], "leads to no local name"),
    ],
)
def test_a_check_of_a_server_s_settings_finds_what_its_start_would(key: str, given: list[str], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        make_settings({"tier": "upper", "upstreams": "192.0.2.1", key: given})


def test_a_zone_does_not_lead_back_to_the_server(free_addresses: list[str]) -> None:
    own, _ = free_addresses
    settings = make_settings(
        {"tier": "upper", "listen": own, "upstreams": "192.0.2.1", "zones": [f"corp.example={own}"]}
    )
    with pytest.raises(SettingError, match="ask itself") as error:
        Server(settings)
    assert (error.value.name, error.value.value) == ("zones", own)


@pytest.mark.parametrize(
    ("lines", "value", "told"),
    [
        (
            ["a.lan A 192.0.2.1", "", "b.lan A nowhere"],
            "b.lan A nowhere",
            'local_data: line 3: "nowhere"; allowed: an IPv4 address: 192.0.2.7',
        ),
        (["a.lan A 192.0.2.1\nb.lan A x", "c.lan A y"], "b.lan A x", 'local_data: line 2: "x"; allowed: an IPv4'),
        (
            ["ok.lan A 192.0.2.1", "scan.lan CNAME printer.example"],
            "scan.lan",
            "local_data: the alias scan.lan leads to no local name; allowed: a CNAME to a name with local data",
        ),
    ],
)
def test_bad_local_data_is_told_by_its_line_and_once_what_is_allowed(
    lines: list[str], value: str, told: str, dns: DnsServer
) -> None:
    with pytest.raises(SettingError) as error:
        Resolver(resolvers=[dns.address], local_data=lines)
    assert str(error.value).startswith(told)
    assert str(error.value).count("allowed") == 1
    assert (error.value.name, error.value.value) == ("local_data", value)


def test_a_hosts_file_that_is_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path: Path, dns: DnsServer) -> None:
    os.mkfifo(tmp_path / "hosts")
    with pytest.raises(OSError, match="has to be a regular file"):
        Resolver(resolvers=[dns.address], hosts_file=tmp_path / "hosts")


@pytest.mark.parametrize(
    ("key", "given", "told"),
    [
        ("zones", "corp.example", "names.zones: 'corp.example' is not allowed"),
        ("local_data", "a.lan A x", 'names.local_data: line 1: "x"; allowed: an IPv4 address'),
    ],
)
def test_a_job_names_the_section_of_what_is_refused(key: str, given: str, told: str) -> None:
    with pytest.raises(SettingError) as error:
        Names(**{key: (given,)})
    assert str(error.value).startswith(told)
    assert error.value.name == f"names.{key}"
