"""Caches of names as any Python program uses them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

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


def test_settings_beyond_their_limits_and_files_that_are_no_cache(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="capacity"):
        Cache(capacity=3)
    with pytest.raises(SettingError, match="min_ttl"):
        Cache(min_ttl=90_000)
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


def test_a_file_is_warm_at_the_next_start_and_refused_when_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "names"
    with Cache(path, capacity=10_000) as cache:
        cache.put_many([("www.example.org", ["192.0.2.1"], 3600)], now=NOW)
    del cache
    again = Cache(path, capacity=10_000)
    assert again.get("www.example.org", now=NOW + 5) is not None
    del again
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(StorageError, match=r"cut to 5000 of .*lycosa cache rebuild"):
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
