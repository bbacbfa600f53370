"""The bulk resolver: batches in, batches out, every input answered exactly once."""

from __future__ import annotations

import csv
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lycosa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lycosa.errors import SettingError
from lycosa.names import Cache, Resolver

if TYPE_CHECKING:
    from tests.conftest import DnsServer


def test_each_name_is_told_what_became_of_it(dns: DnsServer) -> None:
    names = ["www.example", "gone.example", "empty.example", "broken.example", "silent.example", "a b", "192.0.2.7"]
    begin = time.time()
    answers = lycosa.resolve(names, resolvers=[dns.address], timeout=0.1, attempts=2)
    found = {answer.name: answer for answer in answers}
    assert {name: answer.status for name, answer in found.items()} == {
        "www.example": "ok",
        "gone.example": "nxdomain",
        "empty.example": "nodata",
        "broken.example": "servfail",
        "silent.example": "timeout",
        "a b": "bad-name",
        "192.0.2.7": "ok",
    }
    www = found["www.example"]
    assert (www.addresses, www.class_, www.cached, www.detail, www.place) == (["192.0.2.1"], "fast", False, None, 0)
    assert www.expires is not None
    assert begin + 3590 < www.expires < begin + 3610
    assert 0 < www.seconds < 5
    assert found["192.0.2.7"].addresses == ["192.0.2.7"]
    assert found["192.0.2.7"].cached
    assert (found["a b"].expires, found["a b"].class_) == (None, "failed")
    assert found["silent.example"].class_ == "failed"
    assert found["a b"].detail == "the name holds a space, a control character or one of %/:<>?@[\\]^|#"


def test_a_name_that_is_given_often_is_asked_for_once_and_answered_each_time(
    start_dns: Callable[..., DnsServer],
) -> None:
    slow = start_dns(delay=0.05)
    spellings = ["www.example", "WWW.example", "www.Example.", "www.example"]
    answers = list(lycosa.resolve(spellings * 3, resolvers=[slow.address]))
    assert slow.asked == {"www.example": 1}
    assert sorted((answer.place, answer.name) for answer in answers) == list(enumerate(spellings * 3))
    assert {answer.status for answer in answers} == {"ok"}


@pytest.mark.parametrize(
    ("families", "addresses"),
    [
        ("v4", ["192.0.2.1"]),
        ("v6", ["2001:db8::1"]),
        ("both", ["192.0.2.1", "2001:db8::1"]),
        ("prefer-v4", ["192.0.2.1"]),
    ],
)
def test_families_are_asked_for_as_chosen(families: str, addresses: list[str], dns: DnsServer) -> None:
    (answer,) = lycosa.resolve(["www.example"], resolvers=[dns.address], families=families)  # type: ignore[arg-type]
    assert answer.addresses == addresses


TEXTS = st.one_of(
    st.sampled_from(
        ["a.example", "A.example", "gone.example", "empty.b.example", "", "x y", "::1", "1.2.3", "\udc80"]
    ),
    st.from_regex(r"[a-c]{1,2}\.example", fullmatch=True),
    st.text(max_size=12),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, max_size=200), st.integers(1, 50))
def test_every_input_is_answered_exactly_once(dns: DnsServer, names: list[str], concurrency: int) -> None:
    answers = list(lycosa.resolve(names, resolvers=[dns.address], concurrency=concurrency, timeout=1.0))
    assert sorted(answer.place for answer in answers) == list(range(len(names)))
    for answer in answers:
        # A lone surrogate is no character, so nothing that an answer could hold.
        assert answer.name == names[answer.place] or "\udc80" in names[answer.place]


def test_no_more_names_are_taken_than_there_is_space_for(dns: DnsServer) -> None:
    read = 0

    def names() -> Iterator[str]:
        nonlocal read
        for number in range(5_000):
            read += 1
            yield f"w{number}.example"

    answered = 0
    for _ in lycosa.resolve(names(), resolvers=[dns.address], concurrency=50):
        answered += 1
        # Those of the batch that was taken are on their way to here.
        assert read - answered <= 100
    assert answered == 5_000
    with Resolver(resolvers=[dns.address], concurrency=3) as resolver:
        assert (resolver.free(), resolver.pending()) == (3, 0)
        assert resolver.submit(["a.example", "b.example", "b.example", "c.example"], 0) == 3
        assert (resolver.free(), resolver.pending()) == (0, 3)
        assert resolver.submit(["c.example"], 3) == 0
        taken = 0
        while taken < 3:
            taken += len(resolver.take(2, 1.0))
        assert (resolver.free(), resolver.pending()) == (3, 0)


def test_what_was_answered_before_is_passed_over_as_often(dns: DnsServer) -> None:
    with Resolver(resolvers=[dns.address]) as resolver:
        resolver.pass_over(["a.example", "b.example", "a.example"])
        names = ["a.example", "a.example", "a.example", "b.example", "c.example"]
        assert resolver.submit(names, 1) == 5
        found = []
        while resolver.pending():
            found += [(answer.place, answer.name) for answer in resolver.take(10, 1.0)]
        assert sorted(found) == [(3, "a.example"), (5, "c.example")]
        counts = resolver.statistics()
        assert (counts["names"], counts["passed_over"], counts["ok"]) == (2, 3, 2)


def test_a_rate_is_kept(dns: DnsServer) -> None:
    names = [f"r{number}.example" for number in range(60)]
    begin = time.monotonic()
    assert sum(1 for _ in lycosa.resolve(names, resolvers=[dns.address], rate=100)) == 60
    # 60 names at 100 a second; the first 5 may come at once.
    assert 0.5 <= time.monotonic() - begin < 2


def test_a_servers_rate_is_kept_and_what_is_known_of_it_told(start_dns: Callable[..., DnsServer]) -> None:
    servers = [start_dns(), start_dns()]
    addresses = [server.address for server in servers]
    begin = time.monotonic()
    with Resolver(resolvers=addresses, server_rate=50) as resolver:
        resolver.submit([f"r{number}.example" for number in range(100)], 0)
        while resolver.pending():
            resolver.take(100, 1.0)
        known = resolver.upstreams()
    assert time.monotonic() - begin > 0.5
    assert [each["server"] for each in known] == addresses
    assert [each["questions"] for each in known] == [server.asked.total() for server in servers]
    assert sum(each["answers"] for each in known) == 100
    assert all(0 < each["round_trip"] < 1 and each["window"] > 0 and not each["is_resting"] for each in known)


def test_servers_take_turns_where_that_is_wanted(start_dns: Callable[..., DnsServer]) -> None:
    for rotate in (False, True):
        servers = [start_dns(), start_dns(delay=0.02)]
        with Resolver(resolvers=[server.address for server in servers], rotate=rotate) as resolver:
            for number in range(40):
                resolver.submit([f"r{number}.example"], number)
                while resolver.pending():
                    resolver.take(1, 1.0)
        quick, slow = (server.asked.total() for server in servers)
        assert (slow == 20) is rotate
        assert quick == 40 - slow


def test_waiting_holds_neither_the_gil_nor_the_processor(start_dns: Callable[..., DnsServer]) -> None:
    with Resolver(resolvers=[start_dns(delay=0.4).address]) as resolver:
        resolver.submit(["a.example"], 0)
        steps = 0
        done = threading.Event()

        def count() -> None:
            nonlocal steps
            while not done.wait(0.001):
                steps += 1

        counter = threading.Thread(target=count)
        counter.start()
        begin = time.thread_time()
        assert len(resolver.take(1, 5.0)) == 1
        used = time.thread_time() - begin
        done.set()
        counter.join()
    assert used < 0.05
    assert steps > 50


def test_answers_leave_as_lines_values_and_columns(dns: DnsServer, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with Resolver(resolvers=[dns.address], families="both") as resolver:
        names = ["www.example", 'a,"b c', "gone.example"]
        resolver.submit(names, 1)
        batches = []
        while resolver.pending():
            batches.append(resolver.take(10, 1.0))
        rows = sorted(
            (json.loads(line) for batch in batches for line in batch.lines().splitlines()),
            key=lambda row: row["place"],
        )
        assert [row["name"] for row in rows] == names
        assert list(rows[0]) == resolver.take(0, 0).columns()
        assert rows[0]["addresses"] == ["192.0.2.1", "2001:db8::1"]
        assert [row["status"] for row in rows] == ["ok", "bad-name", "nxdomain"]
        values = [line for batch in batches for line in csv.reader(batch.csv().decode().splitlines())]
        assert sorted(values)[1][:3] == ["2", 'a,"b c', "bad-name"]
        assert sorted(values)[0][3] == "192.0.2.1 2001:db8::1"
        table = pyarrow.concat_tables(pyarrow.table(batch) for batch in batches)
        assert sorted(table.to_pylist(), key=lambda row: row["place"]) == rows
        bad = [found for batch in batches for found in batch.bad_names()]
        assert [(place, text) for place, text, _ in bad] == [(2, 'a,"b c')]
        empty = pyarrow.table(resolver.take(0, 0))
        assert (empty.num_rows, empty.column_names) == (0, list(rows[0]))


def test_a_cache_is_shared(dns: DnsServer, tmp_path: Path) -> None:
    file = tmp_path / "names"
    with Cache(file, capacity=10_000) as cache:
        cache.put_many([("known.example", ["192.0.2.99"], 3600)])
    (answer,) = lycosa.resolve(["known.example"], resolvers=[dns.address], cache=file)
    assert (answer.addresses, answer.cached) == (["192.0.2.99"], True)
    (answer,) = lycosa.resolve(["learnt.example"], resolvers=[dns.address], cache=file)
    assert not answer.cached
    with Cache(file, capacity=10_000) as cache:
        found = cache.get("learnt.example")
        assert found is not None
        assert found.addresses == ["192.0.2.1"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rate": 0}, ["rate", "'0'", "above 0"]),
        ({"rate": float("nan")}, ["rate", "nan", "above 0"]),
        ({"concurrency": -1}, ["concurrency", "'-1'", "1 to 50,000"]),
        ({"concurrency": 10**30}, ["concurrency", "1 to 50,000"]),
        ({"timeout": 0}, ["timeout", "'0'", "0.1 to 60"]),
        ({"attempts": 1.5}, ["attempts", "'1.5'", "1 to 20"]),
        ({"server_rate": -1}, ["server_rate", "'-1'", "above 0"]),
        ({"families": "v5"}, ["families", "'v5'", "v4, v6, both or prefer-v4"]),
        ({"resolvers": ["x", "1.2.3"]}, ["resolvers", "x,1.2.3", "192.0.2.1"]),
        ({"resolvers": "192.0.2.1"}, ["resolvers", "a list of addresses"]),
        ({"capacity": 1}, ["capacity", "'1'"]),
    ],
)
def test_bad_settings_are_told_before_anything_is_asked(options: dict[str, object], told: list[str]) -> None:
    with pytest.raises(SettingError) as error:
        lycosa.resolve([], **options)  # type: ignore[arg-type]
    for part in told:
        assert part in str(error.value)


def test_resolvers_that_do_not_parse_are_told_and_the_others_go_on(
    dns: DnsServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "lycosa"):
        (answer,) = lycosa.resolve(["a.example"], resolvers=["nonsense", dns.address])
    assert answer.status == "ok"
    assert "'nonsense'" in caplog.text


def test_a_server_that_says_nothing_means_timeout_in_bounded_time(dns: DnsServer) -> None:
    names = [f"silent{number}.example" for number in range(20)]
    begin = time.monotonic()
    answers = lycosa.resolve(names, resolvers=[dns.address], timeout=0.1, attempts=2)
    assert Counter(answer.status for answer in answers) == {"timeout": 20}
    assert time.monotonic() - begin < 5


def test_what_is_no_text_is_refused_and_a_closed_resolver_says_so(dns: DnsServer) -> None:
    with pytest.raises(TypeError):
        list(lycosa.resolve(["a.example", 1], resolvers=[dns.address]))  # type: ignore[list-item]
    with pytest.raises(SettingError, match="a list or another iterable of names"):
        lycosa.resolve("www.example")
    with Resolver(resolvers=[dns.address]) as resolver:
        resolver.submit(["a.example"], 0)
    with pytest.raises(ValueError, match="closed"):
        resolver.take(1, 0)
    resolver.close()


def test_what_names_raise_comes_after_the_answers_before_it(dns: DnsServer) -> None:
    def names() -> Iterator[str]:
        for number in range(700):
            yield f"f{number}.example"
        raise OSError("the disk is gone")

    answers = lycosa.resolve(names(), resolvers=[dns.address])
    assert sorted(next(answers).place for _ in range(700)) == list(range(700))
    with pytest.raises(OSError, match="the disk is gone"):
        next(answers)


def test_who_gives_names_slowly_gets_answers_meanwhile(dns: DnsServer) -> None:
    given = 0

    def names() -> Iterator[str]:
        nonlocal given
        for number in range(20):
            time.sleep(0.03)
            given += 1
            yield f"s{number}.example"

    first = next(lycosa.resolve(names(), resolvers=[dns.address]))
    assert first.status == "ok"
    assert given < 10
    begin = time.thread_time()
    assert len(list(lycosa.resolve(names(), resolvers=[dns.address], concurrency=1))) == 20
    assert time.thread_time() - begin < 0.2


@pytest.mark.parametrize("ttl", [5, 100, 3_600, 1_000_000])
def test_an_answer_expires_by_its_own_ttl(ttl: int, start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    dns.ttl = ttl
    before = int(time.time())
    (answer,) = lycosa.resolve(["a.example"], resolvers=[dns.address])
    assert answer.expires is not None
    assert before + min(ttl, 86_400) - 1 <= answer.expires <= time.time() + min(ttl, 86_400) + 1
