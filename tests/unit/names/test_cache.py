"""Caches of names as any Python program uses them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lycosa.errors import BadName, Rejected, SettingError, StorageError
from lycosa.names import Cache

#: Files are swept by the machine's clock when they are opened.
NOW = int(time.time())
DESIGNS = ("compact", "async-lru", "regions", "optimiser")


@pytest.mark.parametrize("design", DESIGNS)
def test_what_was_put_is_found_in_any_spelling(design: str) -> None:
    with Cache(design=design, capacity=10_000) as cache:  # type: ignore[arg-type]
        cache.put_many(
            [("www.example.org", ["192.0.2.1"], 3600, 20), ("bücher.example", ["192.0.2.7"], 3600)], now=NOW
        )
        found = cache.get("WWW.Example.ORG.", now=NOW + 1)
        assert found is not None
        assert (found.addresses, found.state, found.class_) == (["192.0.2.1"], "ok", "fast")
        assert found.expires is not None
        assert found.expires > NOW + 1
        other = cache.get("xn--bcher-kva.example", now=NOW + 1)
        assert other is not None
        assert other.addresses == ["192.0.2.7"]
        assert cache.get("unknown.example.org", now=NOW + 1) is None
        assert (cache.count(), cache.design) == (2, design)
        assert cache.forget("www.example.org")
        assert cache.get("www.example.org", now=NOW + 1) is None


def test_several_addresses_of_both_families_are_kept_sorted() -> None:
    cache = Cache(capacity=10_000)
    cache.put_many([("a.example", ["192.0.2.9", "2001:db8::1", "192.0.2.1"], 60, 900)], families="both", now=NOW)
    found = cache.get("a.example", families="both", now=NOW)
    assert found is not None
    assert found.addresses == ["192.0.2.1", "192.0.2.9", "2001:db8::1"]
    assert found.class_ == "slow"
    only = cache.get("a.example", families="v6", now=NOW)
    assert only is not None
    assert only.addresses == ["2001:db8::1"]


def test_names_that_do_not_resolve_are_known_too_and_a_retry_may_ask_past_the_filter() -> None:
    cache = Cache(capacity=10_000)
    cache.put_many(
        [("gone.example", "nxdomain", 900), ("empty.example", "nodata", 900), ("ill.example", "servfail", 0)], now=NOW
    )
    states = [
        answer.state for answer in cache.get_many(["gone.example", "empty.example", "ill.example"], now=NOW) if answer
    ]
    assert states == ["nxdomain", "nodata", "servfail"]
    assert cache.get("gone.example", bypass=True, now=NOW) is None
    # A failure that says nothing about the name is soon forgotten (RFC 9520: at most five minutes).
    assert cache.get("ill.example", now=NOW + 301) is None


def test_many_names_at_once_and_those_that_are_none() -> None:
    cache = Cache(capacity=10_000)
    names = [f"www{number}.example{number % 7}.com" for number in range(5_000)]
    cache.put_many([(name, [f"192.0.2.{number % 250}"], 3600) for number, name in enumerate(names)], now=NOW)
    answers = cache.get_many([*names, "unknown.example", "a..b", "192.0.2.1", ""], now=NOW)
    assert len(answers) == 5_004
    assert all(
        answer is not None and answer.addresses == [f"192.0.2.{number % 250}"]
        for number, answer in enumerate(answers[place] for place in range(5_000))
    )
    assert answers[5_000] is None
    assert [(answers[place].state, bool(answers[place].reason)) for place in (-3, -2, -1)] == [("bad-name", True)] * 3  # type: ignore[union-attr]
    assert cache.stats()["bad_names"] == 3
    with pytest.raises(IndexError):
        answers[5_004]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "empty"),
        ("a..b", "label is empty"),
        (f"{'a' * 64}.com", "63"),
        ("a." * 127 + "b", "253"),
        ("1.2.3.4", "address"),
    ],
)
def test_a_bad_name_is_told_with_the_rule(name: str, rule: str) -> None:
    cache = Cache(capacity=10_000)
    with pytest.raises(BadName, match=rule) as told:
        cache.get(name)
    assert told.value.name == name


def test_bad_entries_are_told_and_the_rest_of_the_batch_is_kept() -> None:
    cache = Cache(capacity=10_000)
    with pytest.raises(Rejected) as told:
        cache.put_many(
            [
                ("good.example", ["192.0.2.1"], 60),
                ("bad..example", ["192.0.2.1"], 60),
                ("address.example", ["192.0.2.256"], 60),
                ("ttl.example", ["192.0.2.1"], -1),
                ("ttl.example", ["192.0.2.1"], 2**31),
                ("state.example", "gone", 60),
                ("none.example", [], 60),
                ("last.example", ["2001:db8::1"], 2**31 - 1),
            ],
            families="both",
            now=NOW,
        )
    assert [place for place, _ in told.value.entries] == [1, 2, 3, 4, 5, 6]
    assert "192.0.2.256" in str(told.value)
    assert cache.get("good.example", families="both", now=NOW) is not None
    assert cache.get("last.example", families="both", now=NOW) is not None
    assert cache.get("ttl.example", families="both", now=NOW) is None


def test_counts_scans_and_forgetting_by_domain() -> None:
    cache = Cache(capacity=10_000)
    names = [f"h{number}.site{number % 3}.co.uk" for number in range(30)] + ["a.example.com", "b.example.com"]
    cache.put_many([(name, ["192.0.2.1"], 3600) for name in names], now=NOW)
    assert (cache.count("uk", now=NOW), cache.count("com", now=NOW), cache.count("site1.co.uk", now=NOW)) == (
        30,
        2,
        10,
    )
    assert cache.count_by_tld(now=NOW) == [("uk", 30), ("com", 2)]
    rows = cache.scan("example.com", now=NOW)
    assert [(tld, answer.addresses) for tld, _, _, answer in rows] == [("com", ["192.0.2.1"])] * 2
    assert cache.forget_under("site1.co.uk") == 10
    assert cache.count("uk", now=NOW) == 20
    with pytest.raises(SettingError, match="public suffix"):
        cache.count("co.uk")
    with pytest.raises(SettingError, match="compact"):
        Cache(design="async-lru").count("com")


def test_counts_scans_and_forgetting_from_one_domain_to_another() -> None:
    cache = Cache(capacity=10_000)
    names = ["a.example.com", "b.example.com", "a.example.de", "a.example.org", "a.example.nonsense"]
    cache.put_many([(name, ["192.0.2.1"], 3600) for name in names], now=NOW)
    assert [cache.count("com", to=last, now=NOW) for last in ("com", "de", "net", "org", "")] == [2, 3, 3, 4, 4]
    assert cache.count(to="com", now=NOW) == 3, "unknown top-level domains come first"
    assert sorted(str(tld) for tld, *_ in cache.scan("com", to="de", now=NOW)) == ["com", "com", "de"]
    with pytest.raises(SettingError, match=r"to: 'com' is not allowed; allowed: de or what comes after it"):
        cache.count("de", to="com")
    with pytest.raises(SettingError, match=r"to: 'co\.uk'.*public suffix"):
        cache.scan("com", to="co.uk")
    with pytest.raises(SettingError, match="compact"):
        Cache(design="regions").count(to="com")
    with pytest.raises(SettingError, match="their hashes decide"):
        cache.forget_under("a.com", to="b.com")
    assert cache.forget_under("com", to="de") == 3
    assert [tld for tld, _ in cache.count_by_tld(now=NOW)] in ([None, "org"], ["org", None])


def test_settings_beyond_their_limits_and_files_that_are_no_cache(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="capacity"):
        Cache(capacity=3)
    with pytest.raises(SettingError, match="min_ttl"):
        Cache(min_ttl=90_000)
    with pytest.raises(SettingError, match="min_ttl: '300'"):
        Cache(max_ttl=120)
    with pytest.raises(SettingError, match="only design"):
        Cache(tmp_path / "file", design="regions")
    with pytest.raises(StorageError, match=r"needs .* bytes"):
        Cache(tmp_path / "huge", capacity=10**10)
    assert not (tmp_path / "huge").exists()
    other = tmp_path / "notes.txt"
    other.write_text("something else" * 1_000)
    with pytest.raises(StorageError, match="no cache of names"):
        Cache(other)
    assert other.read_text().startswith("something else")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"design": "redis"}, "design: 'redis' is not allowed; allowed: compact, async-lru, regions, optimiser"),
        (
            {"buckets": 9},
            "buckets: '9' is not allowed; allowed: none with design = compact; it is a setting of async",
        ),
        ({"period": 60}, "period: .* a setting of async-lru and regions and optimiser"),
        (
            {"design": "optimiser", "levels": "dots"},
            "levels: 'dots' .* design = optimiser; it is a setting of regions",
        ),
        ({"design": "regions", "verify": "keyed"}, "verify: 'keyed' .* design = regions; it is a setting of compact"),
        ({"design": "regions", "min_ttl": 60}, "min_ttl: '60' .* a setting of compact"),
        ({"design": "async-lru", "buckets": 0}, "buckets: '0' .* greater than or equal to 1"),
        ({"design": "async-lru", "period": 0.5}, "period: '0.5' .* greater than or equal to 1"),
        ({"design": "async-lru", "slow": 0}, "slow: '0' .* greater than or equal to 0.001"),
        ({"design": "regions", "levels": "labels"}, "levels: 'labels' .* 'public-suffix' or 'dots'"),
        ({"design": "regions", "light": -1}, "light: '-1' .* greater than or equal to 0"),
        ({"design": "regions", "light": "heavy"}, "light: 'heavy' must be a number"),
        (
            {"design": "regions", "weight": "fame"},
            "weight: 'fame' is not allowed; allowed: cost, time, recency, or a ",
        ),
        ({"design": "regions", "weight": {"fame": 1}}, "weight: .* powers of time, ttl, recency"),
    ],
)
def test_settings_of_a_design_are_checked_as_those_of_a_job(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=f"^{told}"):
        Cache(**settings)


def put(cache: Cache, name: str, took: int, now: int = NOW) -> None:
    """Have a cache take a name that took so many milliseconds."""
    cache.put_many([(name, ["192.0.2.1"], 86_400, took)], now=now)


@pytest.mark.parametrize("design", DESIGNS)
def test_slow_says_from_when_on_a_name_is_slow(design: Any) -> None:
    for slow, expected in [(None, "fast"), (0.2, "slow")]:
        cache = Cache(design=design, slow=slow)
        put(cache, "www.example.org", 200)
        found = cache.get("www.example.org", now=NOW)
        assert found is not None
        assert found.class_ == expected


@pytest.mark.parametrize(
    ("design", "period", "expected"),
    [("async-lru", None, 1_800), ("async-lru", 60, 60), ("optimiser", None, 7_200), ("optimiser", 60, 120)],
)
def test_the_period_says_how_long_an_answer_holds(design: Any, period: float | None, expected: int) -> None:
    cache = Cache(design=design, period=period)
    # The first answer of async-lru holds for its TTL, those after it for the period.
    for _ in range(2):
        put(cache, "www.example.org", 20)
    found = cache.get("www.example.org", now=NOW)
    assert found is not None
    assert found.expires == NOW + expected


def test_one_bucket_makes_one_chain_in_which_names_give_way_to_each_other() -> None:
    names = [f"www{number}.example.org" for number in range(100)]
    counts = []
    for buckets in (None, 1):
        cache = Cache(design="async-lru", capacity=1_000, buckets=buckets)
        for name in names:
            put(cache, name, 20)
        counts.append(cache.count())
    assert counts == [100, 64], "64 names in a bucket at most"


def test_by_dots_only_names_of_two_and_three_dots_are_kept() -> None:
    names = ["example.org", "www.example.org", "a.www.example.org", "b.a.www.example.org"]
    for levels, expected in [("public-suffix", names), ("dots", names[1:3])]:
        cache = Cache(design="regions", levels=levels)  # type: ignore[arg-type]
        for name in names:
            put(cache, name, 20)
        assert [name for name in names if cache.get(name, now=NOW) is not None] == expected


def test_light_and_period_say_when_slow_names_go() -> None:
    for light, period, expected in [(None, None, 2), (2_000, None, 1), (2_000, 7_200, 2)]:
        cache = Cache(design="regions", light=light, period=period)
        put(cache, "light.example.org", 1_000)
        put(cache, "late.example.org", 5_000, now=NOW + 3_600)
        assert cache.count() == expected, (light, period)


@pytest.mark.parametrize(
    ("weight", "gone"),
    [
        ("time", "quick.example.org"),
        ({"time": 1}, "quick.example.org"),
        ("recency", "old.example.org"),
        ({"recency": 0.5}, "old.example.org"),
        ("cost", "quick.example.org"),
        ({"time": 1, "ttl": 1, "recency": 1}, "quick.example.org"),
        ({"time": 1, "recency": 2}, "old.example.org"),
    ],
)
def test_the_weight_decides_which_slow_name_gives_way(weight: Any, gone: str) -> None:
    # So small that all slow names are in one conflict area, of eight.
    cache = Cache(design="regions", capacity=8, weight=weight)
    put(cache, "old.example.org", 4_000)
    put(cache, "quick.example.org", 1_100, now=NOW + 3_600)
    for number in range(7):
        put(cache, f"www{number}.example.org", 1_200, now=NOW + 3_600)
    assert cache.count() == 8
    assert cache.get(gone, now=NOW + 3_600) is None


def test_a_file_is_warm_at_the_next_start_and_refused_when_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "names"
    with Cache(path, capacity=10_000) as cache:
        cache.put_many([("www.example.org", ["192.0.2.1"], 3600)], now=NOW)
    del cache
    again = Cache(path, capacity=10_000)
    assert again.get("www.example.org", now=NOW + 5) is not None
    del again
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(StorageError, match=r"truncated to 5000 of .*lycosa cache rebuild"):
        Cache(path, capacity=10_000)


#: What another process does.
OTHER = """
import sys
from lycosa.names import Cache
Cache(sys.argv[1], capacity=10_000).put_many([("other.example", ["192.0.2.2"], 3600)], now=int(sys.argv[2]))
"""


def test_processes_and_threads_share_one_cache(tmp_path: Path) -> None:
    path = str(tmp_path / "names")
    cache = Cache(path, capacity=10_000)
    subprocess.run([sys.executable, "-c", OTHER, path, str(NOW)], check=True, timeout=60)
    assert cache.get("other.example", now=NOW) is not None

    def names(thread: int) -> list[str]:
        return [f"n{number}.t{thread}.example" for number in range(500)]

    def work(thread: int) -> None:
        cache.put_many([(name, [f"192.0.2.{thread}"], 3600) for name in names(thread)], now=NOW)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Who meets another writer waits for it; a machine that never lets that one go on is told, not hidden.
    refused = int(cache.stats()["refused"])
    found = [cache.get_many(names(thread), now=NOW).known() for thread in range(4)]
    assert sum(found) + refused == 2_000
    assert cache.count() + refused == 2_001
    assert refused <= 4
