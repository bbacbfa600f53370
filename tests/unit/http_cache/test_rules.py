"""The rules of a private HTTP cache: what is stored, how long it is fresh, what a 304 does. The time is given."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.http_cache import rules
from lycosa.http_cache.dates import http_date
from lycosa.http_cache.rules import Fields, Stored

#: When responses were received: 2026-03-01 00:00:00.
THEN = 1_772_323_200.0


def date(seconds: float) -> str:
    """A date so many seconds after `THEN`."""
    return formatdate(THEN + seconds, usegmt=True)


def stored(*fields: tuple[str, str], status: int = 200, delay: float = 0.0) -> Stored:
    """A response that was received at `THEN`."""
    return Stored(status, "", fields, (), THEN - delay, THEN)


def control(value: str) -> tuple[str, str]:
    """A field Cache-Control."""
    return "cache-control", value


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ([control("max-age=60")], 60),
        ([control("Max-Age=60"), ("expires", date(5))], 60),
        ([control('max-age="60"')], 60),
        ([control("max-age=60, max-age=5")], 60),
        ([control("s-maxage=60, max-age=5")], 5),
        ([control('x="max-age=9", max-age=5')], 5),
        ([control("max-age=99999999999999999999999")], 1 << 31),
        ([control("max-age=1.5")], 0),
        ([control("max-age=-1")], 0),
        ([control("max-age")], 0),
        ([control("max-age=²")], 0),
        ([("expires", date(30))], 30),
        ([("expires", date(30)), ("date", date(-10))], 40),
        ([("expires", "0")], 0),
        ([("expires", date(30)), ("expires", date(40))], 0),
        ([("last-modified", date(-1_000))], 100),
        ([("last-modified", date(-100_000_000))], 86_400),
        ([("last-modified", date(50))], 0),
        ([], 0),
    ],
)
def test_how_long_a_response_is_fresh(fields: Fields, seconds: float) -> None:
    assert rules.lifetime(stored(*fields)) == pytest.approx(seconds)


def test_freshness_is_estimated_only_where_the_status_or_public_allows_it() -> None:
    modified = ("last-modified", date(-1_000))
    assert rules.lifetime(stored(modified, status=404)) == 100
    assert rules.lifetime(stored(modified, status=302)) == 0
    assert rules.lifetime(stored(modified, control("public"), status=302)) == 100


@pytest.mark.parametrize(
    ("fields", "delay", "age"),
    [
        ([], 0, 7),
        ([("age", "30")], 0, 37),
        ([("age", "30")], 2, 39),
        ([("age", "30, 2")], 0, 37),
        ([("age", "old")], 0, 7),
        ([("date", date(-50))], 0, 57),
        ([("date", date(-50)), ("age", "60")], 0, 67),
        ([("date", date(50))], 0, 7),
        ([("date", "today")], 0, 7),
    ],
)
def test_the_age_counts_what_caches_before_have_told_and_the_time_on_the_way(
    fields: Fields, delay: float, age: float
) -> None:
    assert rules.age(stored(*fields, delay=delay), THEN + 7) == age


@pytest.mark.parametrize(
    ("asked", "told", "seconds", "may"),
    [
        ("", "max-age=60", 59, True),
        ("", "max-age=60", 60, False),
        ("", "max-age=60, no-cache", 0, False),
        ("", 'max-age=60, no-cache="set-cookie"', 0, True),
        ("no-cache", "max-age=60", 0, False),
        ("max-age=10", "max-age=60", 10, True),
        ("max-age=10", "max-age=60", 11, False),
        ("min-fresh=20", "max-age=60", 40, True),
        ("min-fresh=20", "max-age=60", 41, False),
        ("max-stale", "max-age=60", 9_999, True),
        ("max-stale=10", "max-age=60", 70, True),
        ("max-stale=10", "max-age=60", 71, False),
        ("max-stale", "max-age=60, must-revalidate", 61, False),
    ],
)
def test_when_a_response_is_used_without_asking_the_site(asked: str, told: str, seconds: float, may: bool) -> None:
    request = [control(asked)] if asked else []
    assert rules.may_use(stored(control(told)), request, THEN + seconds) is may


@pytest.mark.parametrize(
    ("asked", "status", "fields", "may"),
    [
        ("", 200, [], True),
        ("", 404, [], True),
        ("", 302, [], False),
        ("", 302, [control("max-age=5")], True),
        ("", 302, [("expires", date(5))], True),
        ("", 200, [control("private")], True),
        ("", 200, [control("no-store")], False),
        ("", 200, [control("max-age=5"), control("No-Store")], False),
        ("", 200, [control("no-store, must-understand")], True),
        ("", 299, [control("max-age=5, must-understand")], False),
        ("no-store", 200, [control("max-age=5")], False),
        ("", 206, [control("max-age=5")], False),
        ("", 304, [control("max-age=5")], False),
        ("", 429, [control("max-age=5")], False),
        ("", 503, [control("max-age=5")], False),
    ],
)
def test_what_is_stored(asked: str, status: int, fields: Fields, may: bool) -> None:
    assert rules.may_store([control(asked)] if asked else [], status, fields) is may


def test_fields_of_the_connection_are_not_stored() -> None:
    fields = [("connection", "close, X-Mine"), ("x-mine", "1"), ("transfer-encoding", "chunked"), ("x-yours", "2")]
    assert rules.stored_fields(fields) == (("x-yours", "2"),)


def test_a_response_suits_requests_with_the_same_values_of_the_fields_that_vary_names() -> None:
    asked = {"accept-language": "en, de", "cookie": None}.get
    names = rules.varied([("vary", "Cookie"), ("vary", "Accept-Language, ")], asked)
    one = Stored(200, "", (), names, THEN, THEN)
    assert names == (("accept-language", "en, de"), ("cookie", None))
    assert rules.suits(one, {"accept-language": "en,de"}.get), "white space does not matter"
    assert not rules.suits(one, {"accept-language": "de, en"}.get)
    assert not rules.suits(one, {"accept-language": "en, de", "cookie": "a=b"}.get)
    every = Stored(200, "", (), rules.varied([("vary", "Accept, *")], asked), THEN, THEN)
    assert not rules.suits(every, asked)


def test_a_response_is_used_with_its_age_and_without_the_fields_that_no_cache_names() -> None:
    one = stored(control('max-age=60, no-cache="Set-Cookie, X-A"'), ("set-cookie", "a=b"), ("x-a", "1"), ("age", "3"))
    used = rules.used_fields(one, THEN + 5)
    assert used[1:] == [("age", "8"), ("cache-status", "lycosa; hit")]
    assert used[0][0] == "cache-control"


def test_of_two_responses_of_one_second_the_one_that_was_received_later_is_newer() -> None:
    fields = (("date", date(THEN)), ("etag", '"1"'))
    before, after = (Stored(200, "", fields, (), THEN, THEN + late) for late in (0.1, 0.4))
    assert rules.newest([before, after]) is rules.newest([after, before]) is after
    assert rules.confirmed([before, after], [("etag", '"1"')]) is after


def test_a_304_confirms_the_response_with_its_entity_tag_or_date() -> None:
    old, new = stored(("etag", '"a"'), ("date", date(-9))), stored(("etag", 'W/"b"'), ("date", date(0)))
    assert rules.confirmed([old, new], [("etag", '"a"')]) is old
    assert rules.confirmed([old, new], [("etag", '"b"')]) is new, "compared weakly"
    assert rules.confirmed([old, new], [("etag", '"c"')]) is None
    assert rules.confirmed([old, new], []) is None, "it does not say which"
    assert rules.confirmed([old], []) is old
    dated = stored(("last-modified", date(-99)))
    assert rules.confirmed([dated], [("last-modified", date(-99))]) is dated
    assert rules.confirmed([dated], [("last-modified", date(-1))]) is None
    assert rules.confirmed([], []) is None


def test_a_304_replaces_fields_but_not_those_of_the_body() -> None:
    old = stored(control("max-age=1"), ("age", "9"), ("content-type", "text/html"), ("x-a", "1"), ("x-a", "2"))
    told = [control("max-age=60"), ("content-type", "text/plain"), ("x-a", "3"), ("connection", "close")]
    new = rules.freshened(old, told, old.varied, THEN + 10, THEN + 11)
    assert sorted(new.fields) == [control("max-age=60"), ("content-type", "text/html"), ("x-a", "3")]
    assert (rules.lifetime(new), rules.age(new, THEN + 12)) == (60, 2)


@pytest.mark.parametrize(
    ("method", "status", "fields", "outdated"),
    [
        ("POST", 200, [], ["http://a.com/x/y"]),
        ("DELETE", 303, [("location", "/z")], ["http://a.com/x/y", "http://a.com/z"]),
        (
            "PUT",
            201,
            [("content-location", "z"), ("location", "http://b.com/")],
            ["http://a.com/x/y", "http://a.com/x/z"],
        ),
        ("POST", 404, [], []),
        ("POST", 500, [], []),
        ("GET", 200, [("location", "/z")], []),
        ("OPTIONS", 200, [], []),
        ("PATCH", 200, [("location", "http://[")], ["http://a.com/x/y"]),
    ],
)
def test_what_unsafe_requests_outdate(method: str, status: int, fields: Fields, outdated: list[str]) -> None:
    assert rules.outdated_by(method, "http://a.com/x/y", status, fields) == outdated


@given(st.integers(0, 7_258_118_399))  # until 2199
def test_dates_are_read_as_another_library_writes_them(seconds: int) -> None:
    assert http_date(formatdate(seconds, usegmt=True), THEN) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Friday, 01-Jan-27 00:00:00 GMT", 1_798_761_600),
        ("Wed, 30 Jun 2027 23:59:60 GMT", 1_814_399_999),
        ("0", None),
        ("", None),
        ("1994-11-06T08:49:37Z", None),
        ("Sun, 06 Nov 1994 08:49:37 UTC", None),
        ("Sun, 06 Nov 1994 08:49:37 +0000", None),
        ("Sun, 6 Nov 1994 08:49:37 GMT", None),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
        ("Sun, 06 Nov 0000 08:49:37 GMT", None),
        ("Sun, ٠٦ Nov 1994 08:49:37 GMT", None),
    ],
)
def test_three_forms_of_dates_are_read_and_nothing_else(text: str, seconds: float | None) -> None:
    assert http_date(text, THEN) == seconds


NAMES = st.sampled_from(["max-age", "no-cache", "private", "x-other"])
VALUES = st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=126))


@given(st.lists(st.tuples(NAMES, VALUES)), st.data())
def test_directives_are_found_whatever_their_values_quote(
    given_ones: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    def written(name: str, value: str | None) -> str:
        if value is None:
            return name
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{name}="{quoted}"'

    lines = [control(written(name, value)) for name, value in given_ones]
    if data.draw(st.booleans()):
        lines = [control(", ".join(value for _, value in lines))]
    expected: dict[str, str | None] = {}
    for name, value in given_ones:
        expected.setdefault(name, value)
    assert rules.directives(lines) == expected


@given(st.text(), st.integers(100, 599), st.floats(0, 1e9))
def test_no_field_makes_the_rules_fail(text: str, status: int, seconds: float) -> None:
    names = ("cache-control", "expires", "date", "age", "last-modified", "vary", "etag", "location", "connection")
    fields = [(name, text) for name in names]
    one = Stored(status, "", tuple(fields), rules.varied(fields, lambda name: None), THEN, THEN)
    rules.may_store(fields, status, fields)
    rules.outdated_by("POST", "http://a.com/", status, fields)
    rules.used_fields(one, THEN + seconds)
    if rules.may_use(one, [], THEN + seconds):
        assert rules.lifetime(one) > rules.age(one, THEN + seconds)
