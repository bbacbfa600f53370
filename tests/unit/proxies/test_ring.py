"""The ring: which proxy is next for a domain."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.proxies import Ring


def ring_of(names: str) -> Ring:
    ring = Ring()
    ring.sort(names)
    return ring


def test_each_domain_begins_at_the_head_and_moves_on_one_by_one() -> None:
    ring = ring_of("abc")
    assert [ring.next("one", lambda name: True) for _ in range(4)] == ["a", "b", "c", "a"]
    assert ring.next("other", lambda name: True) == "a"


def test_proxies_that_do_not_suit_are_passed_over() -> None:
    ring = ring_of("abc")
    assert ring.next("one", lambda name: name != "a") == "b"
    assert ring.next("one", lambda name: False) is None
    assert ring.next("one", lambda name: True) == "c"


def test_numbers_of_proxies_that_do_not_come_back_are_used_again() -> None:
    ring = ring_of("ab")
    for name in "cdefgh":
        ring.sort(["a", name])
        ring.forget("b")
        for gone in "cdefgh".replace(name, ""):
            ring.forget(gone)
        assert {ring.next("one", lambda name: True) for _ in range(4)} == {"a", name}
    assert all(turn.used.bit_length() <= 3 for turn in ring._turns.values())


def test_the_bits_of_many_domains_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.proxies.ring.BYTES", 1_000)
    ring = Ring()
    ring.sort(str(number) for number in range(800))
    for number in range(100):
        assert ring.next(str(number), lambda name: name == "799") == "799"
    assert ring._bytes == sum(turn.size() for turn in ring._turns.values()) <= 1_000
    assert len(ring._turns) == 10
    assert ring.next("99", lambda name: True) != "799", "the last ones are remembered"


@given(st.integers(1, 20), st.integers(1, 200), st.randoms(use_true_random=False))
def test_the_requests_of_a_domain_are_spread_evenly_whatever_the_order(
    proxies: int, requests: int, random: Random
) -> None:
    ring, names, used = Ring(), [str(number) for number in range(proxies)], Counter[str | None]()
    for _ in range(requests):
        if random.random() < 0.5:
            random.shuffle(names)
            ring.sort(names)
        elif not ring:
            ring.sort(names)
        used[ring.next("one", lambda name: True)] += 1
        assert max(used.values()) - min(used[name] for name in names) <= 1


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcde")), st.sets(st.sampled_from("abcde"))), max_size=50))
def test_a_proxy_that_suits_is_always_found_and_the_ring_may_change(turns: list[tuple[set[str], set[str]]]) -> None:
    ring = Ring()
    for members, free in turns:
        ring.sort(sorted(members))
        found = ring.next("one", free.__contains__)
        assert found in members & free if members & free else found is None
