"""The pool: which proxies are used, when they leave and come back."""

from __future__ import annotations

from typing import Any

import pytest
from lycosa.proxies import Proxy, Ring
from lycosa.proxies.known import FAILURES, FIRST_PAUSE, REFUSED
from lycosa.proxies.pool import Pool


class Clock:
    """A clock that is advanced."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pool_of(count: int, **settings: Any) -> tuple[Pool, Clock, list[str]]:
    clock = Clock()
    pool = Pool(clock=clock, **settings)
    proxies = [Proxy("http", f"192.0.2.{number}", 80) for number in range(count)]
    for proxy in proxies:
        pool.add(proxy, [proxy.host])
    return pool, clock, [proxy.name for proxy in proxies]


def pass_all(pool: Pool, seconds: float = 1.0) -> None:
    for proxy in pool.due(1_000):
        pool.checked(proxy.name, seconds)


def test_a_proxy_is_used_once_it_has_passed_its_check() -> None:
    pool, _, [name] = pool_of(1)
    assert pool.take("a.com") is None
    [proxy] = pool.due(10)
    assert pool.due(10) == [], "it is being checked"
    pool.checked(proxy.name, 0.2)
    assert pool.take("a.com") == name


def test_good_proxies_come_first() -> None:
    pool, _, names = pool_of(3)
    for proxy, seconds in zip(pool.due(10), (0.3, 0.1, 0.2), strict=True):
        pool.checked(proxy.name, seconds)
    assert [pool.take("a.com") for _ in range(3)] == [names[1], names[2], names[0]]


def test_a_proxy_that_fails_leaves_and_comes_back_when_it_passes_a_check() -> None:
    pool, clock, [name] = pool_of(1)
    pass_all(pool)
    pool.failed(name, "proxy-failed", "own")
    assert pool.working() == 0
    assert pool.due(10) == []
    clock.now += FIRST_PAUSE
    [proxy] = pool.due(10)
    pool.checked(name, None, why="refused")
    clock.now += FIRST_PAUSE
    assert pool.due(10) == [], "the pause doubles"
    clock.now += FIRST_PAUSE
    assert pool.due(10) == [proxy]
    pool.checked(name, 1.0)
    assert pool.take("a.com") == name


def test_failures_that_may_be_the_sites_count_only_in_a_row() -> None:
    pool, _, [name] = pool_of(1)
    pass_all(pool)
    for _ in range(2):
        for number in range(FAILURES - 1):
            pool.failed(name, "read-timeout", "doubtful", f"{number}.com")
        assert pool.working() == 1
        pool.succeeded(name, 1.0)
    for number in range(FAILURES):
        pool.failed(name, "read-timeout", "doubtful", f"{number}.com")
    assert pool.working() == 0


def test_one_dead_site_ejects_no_proxy() -> None:
    pool, _, [name] = pool_of(1)
    pass_all(pool)
    for _ in range(10 * FAILURES):
        pool.failed(name, "connect-failed", "doubtful", "dead.com")
    assert pool.working() == 1


def test_a_proxy_that_hangs_leaves_also_if_only_one_site_is_crawled() -> None:
    pool, _, [one, other] = pool_of(2)
    pass_all(pool)
    pool.succeeded(other, 1.0, "a.com")
    for _ in range(FAILURES):
        assert pool.working() == 2
        pool.failed(one, "read-timeout", "doubtful", "a.com")
    assert pool.working() == 2, "the site may have died meanwhile"
    pool.succeeded(other, 1.0, "b.com")
    pool.failed(one, "read-timeout", "doubtful", "a.com")
    assert pool.working() == 2
    pool.succeeded(other, 1.0, "a.com")
    pool.failed(one, "read-timeout", "doubtful", "a.com")
    assert [pool.take("a.com") for _ in range(2)] == [other, other]


def test_a_site_that_a_proxy_does_not_lead_to_gets_others_and_the_proxy_stays() -> None:
    pool, clock, [one, other] = pool_of(2)
    pass_all(pool)
    for _ in range(10):
        pool.succeeded(other, 1.0, "a.com")
        pool.failed(one, "status 403", "refused", "a.com")
    assert {pool.take("a.com") for _ in range(3)} == {other}
    assert pool.take("b.com") == one
    clock.now += REFUSED
    assert {pool.take("a.com") for _ in range(3)} == {one, other}
    for domain in ("b.com", "c.com"):
        pool.failed(one, "status 403", "refused", domain)
    assert pool.working() == 1, "it leads nowhere"


def test_a_network_of_ours_that_is_down_ejects_nobody_but_one_that_nobody_reaches_leaves() -> None:
    pool, _, [one, other] = pool_of(2)
    pass_all(pool)
    for number in range(10):
        for name in (one, other):
            pool.failed(name, "connect-failed", "network", f"{number}.com")
    assert pool.working() == 2
    for number in range(10):
        pool.succeeded(other, 1.0)
        pool.failed(one, "connect-failed", "network", f"{number}.com")
    assert [pool.take("a.com") for _ in range(2)] == [other, other]


def test_a_domain_that_refuses_a_proxy_gets_others_for_a_while() -> None:
    for status, times in ((429, 1), (403, 3)):
        pool, clock, [one, other] = pool_of(2)
        pass_all(pool)
        for _ in range(times - 1):
            pool.answered(one, "a.com", status)
        assert {pool.take("a.com") for _ in range(4)} == {one, other}, "a page may be refused to everyone"
        pool.answered(one, "a.com", status)
        assert {pool.take("a.com") for _ in range(4)} == {other}
        assert pool.take("b.com") == one
        clock.now += REFUSED
        assert {pool.take("a.com") for _ in range(3)} == {one, other}


def test_refusals_count_in_a_row() -> None:
    pool, _, [one, other] = pool_of(2)
    pass_all(pool)
    for status in (403, 403, 200, 403, 403):
        pool.answered(one, "a.com", status)
    assert {pool.take("a.com") for _ in range(4)} == {one, other}


def test_a_domain_that_refuses_all_proxies_gets_the_one_whose_pause_ends_first() -> None:
    pool, clock, names = pool_of(3, concurrency=1)
    pass_all(pool)
    for name in names:
        pool.answered(name, "a.com", 429)
        clock.now += 1
    assert [pool.take("a.com") for _ in range(4)] == [*names, None]
    pool.release(names[1])
    assert pool.take("a.com") == names[1]


def test_what_has_changed_of_a_proxy_is_taken_over() -> None:
    pool, clock, _ = pool_of(1)
    for proxy in pool.due(10):
        pool.checked(proxy.name, None, why="status 407")
    changed = Proxy("http", "192.0.2.0", 80, label="new")
    assert pool.add(changed, ["192.0.2.0"])
    assert pool.due(10) == [changed], "it may work now"
    assert (pool.report()[0]["label"], len(pool)) == ("new", 1)
    clock.now += 1
    pool.add(changed, ["192.0.2.0"])
    assert not pool.due(10), "nothing has changed"


def test_a_proxy_that_no_source_names_any_more_is_removed_once_it_is_idle() -> None:
    pool, _, [one, other] = pool_of(2)
    pass_all(pool)
    assert pool.take("a.com") == one
    pool.keep({other})
    assert (pool.working(), len(pool), pool.take("a.com"), pool.take("a.com")) == (1, 2, other, other)
    pool.failed(one, "proxy-failed", "own")
    pool.release(one)
    assert [each["proxy"] for each in pool.report()] == [other]
    pool.checked(one, 1.0)
    pool.add(Proxy("http", "192.0.2.0", 80), ["192.0.2.0"])
    assert len(pool.due(10)) == 1


def test_the_bits_of_a_domain_stay_as_many_as_there_are_proxies() -> None:
    pool = Pool(is_checked=False, clock=Clock())
    for number in range(100):
        proxies = [Proxy("http", f"198.51.{number}.{each}", 80) for each in range(10)]
        for proxy in proxies:
            pool.add(proxy, [proxy.host])
        pool.keep({proxy.name for proxy in proxies})
        assert pool.report()
        name = pool.take("a.com")
        assert name is not None
        pool.release(name)
    assert max(turn.used.bit_length() for turn in pool._ring._turns.values()) <= 20


def test_many_proxies_are_added_quickly_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts, sort = [0], Ring.sort

    def counted(ring: Ring, names: Any) -> None:
        sorts[0] += 1
        sort(ring, names)

    monkeypatch.setattr(Ring, "sort", counted)
    monkeypatch.setattr("lycosa.proxies.pool.MOST", 1_000)
    pool = Pool(is_checked=False, clock=Clock())
    hosts = [f"198.51.{number >> 8}.{number & 255}" for number in range(1_001)]
    assert [pool.add(Proxy("http", host, 80), [host]) for host in hosts] == [*[True] * 1_000, False]
    assert pool.take("a.com") is not None
    assert (len(pool), pool.working(), sorts[0]) == (1_000, 1_000, 1)


def test_a_domain_keeps_its_proxy_if_the_job_wants_that() -> None:
    pool, _, names = pool_of(3, sticky=True)
    pass_all(pool)
    kept = str(pool.take("a.com"))
    assert [pool.take("a.com") for _ in range(3)] == [kept] * 3
    pool.failed(kept, "proxy-failed", "own")
    assert pool.take("a.com") in set(names) - {kept}


def test_a_kept_proxy_that_is_busy_is_waited_for() -> None:
    pool, _, names = pool_of(2, sticky=True, concurrency=1)
    pass_all(pool)
    kept = str(pool.take("a.com"))
    assert pool.take("a.com") is None
    pool.release(kept)
    assert pool.take("a.com") == kept
    assert pool.take("a.com", tried=[kept]) in set(names) - {kept}, "it has failed for this request"


def test_a_port_to_which_a_kept_proxy_does_not_lead_changes_nothing_for_the_others() -> None:
    pool, _, names = pool_of(2, sticky=True)
    pass_all(pool)
    kept = str(pool.take("a.com", target="a.com:443"))
    pool.failed(kept, "status 403", "refused", "a.com", "a.com:8443")
    assert pool.take("a.com", target="a.com:8443") in set(names) - {kept}
    assert pool.take("a.com", target="a.com:443") == kept


def test_a_kept_proxy_that_hangs_is_replaced() -> None:
    pool, _, names = pool_of(2, sticky=True)
    pass_all(pool)
    kept = str(pool.take("a.com"))
    for number in range(1, FAILURES + 1):
        pool.release(kept)
        pool.failed(kept, "read-timeout", "doubtful", "a.com")
        assert (pool.take("a.com") == kept) == (number < FAILURES)
    other = str(pool.take("a.com"))
    assert other in set(names) - {kept}
    assert pool.working() == 2
    pool.succeeded(other, 1.0, "a.com")
    pool.failed(kept, "read-timeout", "doubtful", "a.com")
    assert pool.working() == 1, "the site answers others"


def test_domains_that_keep_their_proxy_are_spread_over_all() -> None:
    pool, _, names = pool_of(3, sticky=True)
    pass_all(pool)
    assert [pool.take(f"{number}.com") for number in range(6)] == [*names, *names]


def test_what_waits_hears_of_each_change() -> None:
    pool, clock, [name] = pool_of(1, concurrency=1)
    seen = pool.changes()
    pass_all(pool)
    assert pool.changes() > seen
    assert pool.take("a.com") == name
    seen = pool.changes()
    assert (pool.take("a.com"), pool.changes()) == (None, seen)
    pool.release(name)
    assert pool.changes() > seen
    seen = pool.changes()
    pool.add(Proxy("http", "192.0.2.9", 80), ["192.0.2.9"])
    clock.now += 1
    assert pool.changes() > seen


def test_no_proxy_has_more_requests_at_once_than_allowed() -> None:
    pool, _, [name] = pool_of(1, concurrency=2)
    pass_all(pool)
    assert [pool.take("a.com") for _ in range(3)] == [name, name, None]
    pool.release(name)
    assert pool.take("a.com") == name


def test_labels_that_are_preferred_come_first() -> None:
    pool = Pool(order=["Telekom"], clock=Clock())
    for host, label in (("192.0.2.1", "other"), ("192.0.2.2", "Telekom")):
        pool.add(Proxy("http", host, 80, label=label), [host])
    for proxy in pool.due(10):
        pool.checked(proxy.name, 0.1 if proxy.label == "other" else 0.9)
    assert pool.take("a.com") == "http://192.0.2.2:80"
