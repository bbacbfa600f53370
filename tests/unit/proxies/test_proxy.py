"""Lines that name proxies."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.proxies import Proxy, parse, parse_lines


def test_all_usual_forms_of_a_line_name_a_proxy() -> None:
    assert parse("192.0.2.1:8080") == Proxy("http", "192.0.2.1", 8080)
    assert parse("192.0.2.1:8080:me:secret") == Proxy("http", "192.0.2.1", 8080, "me", "secret")
    assert parse("socks5h://me:s%40cret@proxy.example:1080") == Proxy(
        "socks5h", "proxy.example", 1080, "me", "s@cret"
    )
    assert parse("https://[2001:db8::1]:443/ Telekom DE") == Proxy("https", "2001:db8::1", 443, label="Telekom DE")


def test_a_line_that_names_none_is_told_with_its_number_and_the_others_go_on() -> None:
    lines = ["# proxies", "192.0.2.1:80", "", "192.0.2.2", "ftp://192.0.2.3:21", "192.0.2.4:99999", "192.0.2.1:80"]
    parsed = parse_lines(lines)
    assert [proxy.name for proxy in parsed.proxies] == ["http://192.0.2.1:80"]
    assert ([line.number for line in parsed.bad], parsed.is_cut) == ([4, 5, 6], False)
    assert str(parsed.bad[0]).startswith("line 4 names no proxy; allowed: HOST:PORT")


def test_no_password_is_told() -> None:
    proxy = parse("http://me:secret@192.0.2.1:80")
    assert proxy is not None
    assert "secret" not in f"{proxy.name} {proxy!r}"
    keys = [parse(f"http://{key}:@192.0.2.1:80") for key in ("secret1", "secret2")]
    names = {key.name for key in keys if key is not None}
    assert len(names) == 2, "they are two proxies, with two accounts"
    assert "secret" not in f"{keys!r} {names}"
    assert [key.line for key in keys if key is not None] == [f"http://secret{n}:@192.0.2.1:80" for n in (1, 2)]
    lines = [
        "http://me:secret@192.0.2.1",
        "http://me:p@secret@192.0.2.1:80",
        "192.0.2.2:99999:me:secret",
        "192.0.2.2:3128:me:p@secret",
        "https://secret@192.0.2.1:80",
        "socks4://me:p@secret@192.0.2.1:80",
    ]
    for line in lines:
        [bad] = parse_lines([line]).bad
        assert "secret" not in f"{bad} {bad!r}"


def test_of_many_bad_lines_the_first_are_kept_and_a_list_without_end_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parse_lines("bad" for _ in range(10_000))
    assert ([line.number for line in parsed.bad], parsed.bad_count) == ([1, 2, 3, 4, 5], 10_000)
    monkeypatch.setattr("lycosa.proxies.proxy.MOST", 100)
    endless = parse_lines(f"192.0.2.1:{number}" for number in itertools.count(1))
    assert (len(endless.proxies), endless.is_cut) == (100, True)
    assert not parse_lines([f"192.0.2.1:{number % 100 + 1}" for number in range(1_000)]).is_cut


@given(st.text(max_size=200))
def test_any_line_is_a_proxy_or_none(line: str) -> None:
    proxy = parse(line)
    assert proxy is None or parse(proxy.name.replace("@", ":@")) is not None
