"""Settings of a DNS server: what is taken, what is refused, and how either is told."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.errors import SettingError
from lycosa.names.server_settings import ServerSettings, check_loop, endpoint, make_settings, told

DOCUMENT = Path(__file__).parents[3] / "docs" / "dns.md"


def made(**others: Any) -> ServerSettings:
    """Settings of an upper server."""
    return make_settings({"tier": "upper", "upstreams": ["192.0.2.1"], **others})


@given(st.ip_addresses(), st.integers(0, 65_535))
def test_addresses_and_ports_survive_being_told(address: Any, port: int) -> None:
    if getattr(address, "scope_id", None) is None:
        assert endpoint(told(address, port)) == (address, port)
        assert endpoint(str(address)) == (address, None)


@given(st.text(alphabet="0123456789abf:.[]% ", max_size=24))
def test_a_text_is_an_address_of_this_machines_library_or_none(text: str) -> None:
    found = endpoint(text)
    if found is not None:
        address, port = found
        assert told(address, port or 0).endswith(f":{port or 0}")
        assert port is None or 0 <= port <= 65_535
        ipaddress.ip_address(str(address))


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("127.0.0.1", ("127.0.0.1:53",)),
        (["127.0.0.1:5300", "[::1]:0"], ("127.0.0.1:5300", "[::1]:0")),
        ("0.0.0.0, 2001:DB8:0::1", ("0.0.0.0:53", "[2001:db8::1]:53")),
        ("[::1]", ("[::1]:53",)),
    ],
)
def test_addresses_have_ports_and_one_form(given: object, taken: tuple[str, ...]) -> None:
    assert made(listen=given).listen == taken


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("tls://192.0.2.1", "tls://192.0.2.1:853"),
        (" tls://192.0.2.1:8853#dns.example", "tls://192.0.2.1:8853#dns.example"),
        ("tls://[2001:DB8::1]#dns.example", "tls://[2001:db8::1]:853#dns.example"),
        ("https://192.0.2.1#dns.example", "https://192.0.2.1:443/dns-query#dns.example"),
        (" https://[2001:DB8::1]:8443/q", "https://[2001:db8::1]:8443/q"),
    ],
)
def test_upstreams_can_be_asked_over_tls_and_https(given: str, taken: str) -> None:
    assert made(upstreams=given).upstreams == (taken,)


def test_names_have_the_form_in_which_they_are_compared() -> None:
    assert made(keep_ttl="Bücher.Example., _dyn.example").keep_ttl == ("xn--bcher-kva.example", "_dyn.example")


def test_tiers_differ_in_what_is_not_said() -> None:
    lower = make_settings({"tier": "lower", "upstreams": "192.0.2.1"})
    upper = made()
    assert (lower.spread, lower.min_ttl, lower.timeout, lower.attempts) == (True, 300, 6.0, 2)
    assert (upper.spread, upper.min_ttl, upper.timeout, upper.attempts) == (False, 60, 1.5, 3)
    assert made(min_ttl=5, spread=True).min_ttl == 5
    differing = {name for name in ServerSettings.model_fields if getattr(lower, name) != getattr(upper, name)}
    assert differing == {"tier", "spread", "min_ttl", "timeout", "attempts"}
    assert lower.workers == len(os.sched_getaffinity(0))


def test_upstreams_take_turns_or_have_names_of_their_own() -> None:
    turning = make_settings({"tier": "lower", "upstreams": "192.0.2.1", "rotate": True})
    assert turning.rotate
    assert not turning.spread
    assert make_settings({"tier": "lower", "upstreams": "192.0.2.1", "rotate": "false"}).spread
    with pytest.raises(SettingError, match="rotate: 'True' is not allowed; allowed: false while spread"):
        made(rotate=True, spread=True)


def test_the_document_has_every_key_and_its_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == list(ServerSettings.model_fields)
    lower, upper = make_settings({"tier": "lower", "upstreams": "192.0.2.1"}), made()
    for name, told_default in rows:
        defaults = [getattr(lower, name), getattr(upper, name)]
        if name in ("tier", "upstreams"):
            assert told_default.strip() == "needed"
        elif name == "workers":
            assert told_default.strip() == "cores"
        else:
            words = [_word(each) for each in defaults]
            wanted = words[0] if words[0] == words[1] else f"lower {words[0]}, upper {words[1]}"
            assert told_default.strip().replace("`", "").replace("_", "") == wanted, name


def _word(value: object) -> str:
    """A default as the document has it."""
    return "none" if value is None else json.dumps(value)


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"tier": ""}, ["tier: ''", "'lower' or 'upper'"]),
        ({"tier": "middle"}, ["tier: 'middle'", "'lower' or 'upper'"]),
        ({"tier": ["lower"]}, ["tier", "'lower' or 'upper'"]),
        ({"upstreams": []}, ["upstreams: ''", "at least one"]),
        ({"upstreams": [], "upstream": ["192.0.2.1"]}, ["unknown setting upstream; did you mean upstreams?"]),
        ({"upstreams": 5}, ["upstreams: '5'", "list"]),
        ({"upstreams": ["1.2.3"]}, ["upstreams: '1.2.3'", "192.0.2.1:53"]),
        ({"upstreams": ["dns.example"]}, ["upstreams: 'dns.example'", "192.0.2.1:53"]),
        ({"upstreams": ["0.0.0.0"]}, ["upstreams: '0.0.0.0'"]),
        ({"upstreams": ["192.0.2.1:0"]}, ["upstreams: '192.0.2.1:0'"]),
        ({"upstreams": ["tls://0.0.0.0#dns.example"]}, ["upstreams: 'tls://0.0.0.0#dns.example'"]),
        ({"upstreams": ["https://0.0.0.0#dns.example"]}, ["upstreams: 'https://0.0.0.0#dns.example'"]),
        ({"upstreams": ["https://192.0.2.1:0/q"]}, ["upstreams: 'https://192.0.2.1:0/q'"]),
        (
            {"upstreams": ["https://dns.example/q"]},
            ["upstreams: 'https://dns.example/q'", "https://192.0.2.1/dns-query#"],
        ),
        ({"upstreams": ["tls://192.0.2.1:0"]}, ["upstreams: 'tls://192.0.2.1:0'"]),
        ({"upstreams": ["tls://dns.example"]}, ["upstreams: 'tls://dns.example'", "tls://192.0.2.1#dns.example"]),
        ({"listen": ["tls://192.0.2.1"]}, ["listen: 'tls://192.0.2.1'"]),
        ({"upstreams": ["192.0.2.1", "192.0.2.1:53"]}, ["192.0.2.1:53", "once"]),
        ({"upstreams": ["192.0.2.1"] * 65}, ["upstreams", "at most 64"]),
        ({"listen": ""}, ["listen", "at least one"]),
        ({"listen": "fe80::1%1"}, ["listen: 'fe80::1%1'", "[::1]:5300"]),
        ({"listen": "127.0.0.1:65536"}, ["listen: '127.0.0.1:65536'"]),
        ({"workers": 0}, ["workers: '0'", "1"]),
        ({"workers": "many"}, ["workers: 'many' must be a whole number"]),
        ({"capacity": 999}, ["capacity: '999'", "1000"]),
        ({"min_ttl": 86_401}, ["min_ttl: '86401'", "86400"]),
        ({"min_ttl": 600, "max_ttl": 300}, ["min_ttl: '600'", "max_ttl, which is 300"]),
        ({"max_ttl": 59, "min_ttl": 0}, ["max_ttl: '59'", "60"]),
        ({"failure_pause": 301}, ["failure_pause: '301'", "300"]),
        ({"keep_ttl": ["a b"]}, ["keep_ttl: 'a b'", "example.org"]),
        ({"private_names": ["."]}, ["private_names: '.'", "example.org"]),
        ({"allow": ["10/8"]}, ["allow: '10/8'", "127.0.0.0/8"]),
        ({"rate": 0}, ["rate: '0'", "greater than 0"]),
        ({"timeout": float("inf")}, ["timeout: 'inf'", "finite"]),
        ({"http": "127.0.0.1"}, ["http: '127.0.0.1'", "127.0.0.1:9153"]),
        ({"http": "192.0.2.1:9153"}, ["http: '192.0.2.1:9153'", "http_public"]),
        ({"query_log_clients": "/33"}, ["query_log_clients: '/33'", "/24,/48"]),
        ({"query_log_clients": "/24,/129"}, ["query_log_clients: '/24,/129'", "/24,/48"]),
        ({"query_log_clients": 24}, ["query_log_clients: '24'", "true, false"]),
        ({"http_publik": True}, ["http_publik", "did you mean http_public?"]),
    ],
)
def test_bad_settings_are_told_in_one_line(settings: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(SettingError) as error:
        made(**settings)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A file of secrets of cookies."""
    file = tmp_path / "cookies"
    file.touch(mode=0o600)
    file.write_text("e5e973e5a6b2a43f48e7dc849e37bfcf\n445536bcd2513298075a5d379663c962\n")
    return file


def test_secrets_of_cookies_are_read_and_not_kept(secrets: Path) -> None:
    settings = made(cookie_secret_file=str(secrets))
    assert settings.cookie_secret_file == secrets
    assert "e5e9" not in repr(settings)
    with pytest.raises(SettingError, match=r"cookie_secret_file: .* cookies = false"):
        made(cookie_secret_file=secrets, cookies=False)


def test_secrets_that_others_may_read_are_refused_with_what_to_do(secrets: Path) -> None:
    secrets.chmod(0o644)
    with pytest.raises(SettingError) as error:
        made(cookie_secret_file=secrets)
    assert f"cookie_secret_file: '{secrets}'" in str(error.value)
    assert f"mode 644: `chmod 640 {secrets}`" in str(error.value)


def test_a_file_of_something_else_is_refused_and_nothing_of_it_told(secrets: Path) -> None:
    secrets.write_text("e5e973e5a6b2a43f48e7dc849e37bfcf\nswordfish\n")
    with pytest.raises(SettingError, match=r"32 hexadecimal digits each, .*; line 2 is none") as error:
        made(cookie_secret_file=secrets)
    assert "e5e9" not in str(error.value)
    assert "swordfish" not in str(error.value)
    with pytest.raises(SettingError, match="No such file or directory"):
        made(cookie_secret_file=secrets.with_name("none"))


@pytest.mark.parametrize(
    ("given", "taken", "bits"),
    [
        (True, True, (32, 128)),
        ("FALSE", False, None),
        (" /16", "/16,/48", (16, 48)),
        ("/0 , /64", "/0,/64", (0, 64)),
        ("/24,/48", "/24,/48", (24, 48)),
    ],
)
def test_so_much_of_clients_is_logged_as_is_said(given: object, taken: object, bits: object) -> None:
    settings = made(query_log_clients=given)
    assert (settings.query_log_clients, settings.client_bits()) == (taken, bits)
    assert made().client_bits() == (24, 48)


def test_metrics_are_public_by_choice_only() -> None:
    assert made(http="[::]:9153", http_public=True).http == "[::]:9153"


@pytest.mark.parametrize(
    ("listen", "upstream"),
    [
        ("127.0.0.1:53", "127.0.0.1:53"),
        ("[::1]:5300", "[::1]:5300"),
        ("0.0.0.0:53", "127.0.0.1:53"),
        ("0.0.0.0:53", "127.9.9.9:53"),
        ("0.0.0.0:53", "[::ffff:127.0.0.1]:53"),
        ("[::]:53", "[::1]:53"),
    ],
)
def test_a_server_that_would_ask_itself_is_refused(listen: str, upstream: str) -> None:
    with pytest.raises(SettingError, match="it would ask itself") as error:
        check_loop(["127.0.0.1:1", listen], ["192.0.2.1:53", upstream])
    assert error.value.value == upstream


def test_an_address_of_this_machine_is_found_out_behind_one_for_all() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 53))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = asking.getsockname()[0]
    with pytest.raises(SettingError, match="it would ask itself"):
        check_loop(["0.0.0.0:53"], [f"{own}:53"])


@pytest.mark.parametrize(
    ("listen", "upstream"),
    [
        ("127.0.0.1:53", "127.0.0.2:53"),
        ("127.0.0.1:53", "127.0.0.1:54"),
        ("0.0.0.0:53", "127.0.0.1:54"),
        ("0.0.0.0:53", "198.51.100.1:53"),
        ("0.0.0.0:53", "[::1]:53"),
        ("[::]:53", "127.0.0.1:53"),
        ("127.0.0.1:853", "tls://127.0.0.1:853#dns.example"),
        ("127.0.0.1:443", "https://127.0.0.1:443/dns-query#dns.example"),
    ],
)
def test_other_servers_are_no_loop(listen: str, upstream: str) -> None:
    check_loop([listen], [upstream])


def test_it_is_known_when_others_reach_a_server_that_refuses_them() -> None:
    assert made(listen="0.0.0.0").refuses_others()
    assert not made(listen="0.0.0.0", allow=["10.0.0.0/8"]).refuses_others()
    assert not made(listen="127.0.0.1, ::1").refuses_others()
