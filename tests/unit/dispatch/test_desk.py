"""A download server's rules: what it accepts, what it keeps for whom, what it may start."""

from __future__ import annotations

from typing import Any

import pytest
from lycosa import _core
from lycosa.dispatch.desk import UNSETTLED, Desk
from lycosa.dispatch.grant import Grant, digest_of
from lycosa.dispatch.refusal import Refusal
from lycosa.records import Request, Requests

from tests.unit.dispatch import helpers
from tests.unit.dispatch.helpers import KEY

#: The machine's clock when tests begin, and the master's.
NOW, WALL = 1_000.0, 1_800_000_000.0


def requests(count: int = 3) -> Requests:
    return Requests(Request(f"http://site{number}.example/") for number in range(count))


def desk(**settings: Any) -> Desk:
    """A desk that has heard of its master just now."""
    usual: dict[str, Any] = {"wall": WALL, "places": 1_000, "keep": 60.0}
    one = Desk("d1", "process", _core.VerifyingKey(KEY.public), NOW, **{**usual, **settings})
    hear(one, NOW)
    return one


def hear(
    one: Desk,
    now: float,
    version: int = 1,
    members: tuple[str, ...] = ("d1",),
    after: float | None = 0.0,
    missed: tuple[tuple[str, ...], ...] = (),
) -> None:
    """Have the master answer a heartbeat. after: `None`: not all servers have confirmed the ring. missed: members."""
    one.beat("http://d1.example", 10, 0.0)
    told = WALL + after - NOW if after else after
    between = [dict.fromkeys(one, 1.0) for one in missed]
    ring = {"version": version, "members": dict.fromkeys(members, 1.0), "after": told, "missed": between}
    answer = {
        "now": WALL + now - NOW,
        "period": 1.0,
        "hold": 30.0,
        "ring": ring,
        "services": {"news": {"tokens": []}},
    }
    one.answered(answer, now, now)


def grant(batch: Requests, **changed: Any) -> Grant:
    """A grant for a batch."""
    given = Grant(
        serial=7,
        service="news",
        client="c1",
        server="d1",
        process="process",
        urls=len(batch),
        digest=digest_of(batch.encode()),
        issued=WALL,
        expires=WALL + 30,
        ring=1,
        after=0.0,
    )
    return given._replace(**changed)


def submit(
    one: Desk, given: Grant, batch: Requests, now: float = NOW, **changed: Any
) -> list[tuple[float, Requests]]:
    """Submit a batch with a grant; returns what may start, and when."""
    usual: dict[str, Any] = {"service": "news", "client": "c1", "digest": digest_of(batch.encode()), "size": 100}
    told = {**usual, **changed}
    verified = one.verify(given.signed(KEY), told["service"], told["client"], told["digest"], told["size"], now)
    _, batches = one.accept(verified, batch, told["size"], now)
    return batches


def test_a_grant_is_accepted_once() -> None:
    one, batch = desk(), requests()
    [(at, accepted)] = submit(one, grant(batch), batch)
    assert at <= NOW + 5
    assert accepted.tickets() == [(7, 0), (7, 1), (7, 2)]
    with pytest.raises(Refusal, match="spent-serial"):
        submit(one, grant(batch), batch)
    assert one.queued == 3


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"service": "other"}, "other-service"),
        ({"client": "c2"}, "other-service"),
        ({"server": "d2"}, "other-server"),
        ({"process": "an earlier one"}, "other-server"),
        ({"urls": 2}, "wrong-count"),
        ({"urls": 4}, "wrong-count"),
        ({"digest": "0" * 64}, "wrong-digest"),
        ({"expires": WALL - 6}, "expired-serial"),
        ({"ring": 9}, "ring-changed"),
    ],
)
def test_a_grant_for_anything_else_is_refused_whole(changed: dict[str, Any], code: str) -> None:
    one, batch = desk(), requests()
    with pytest.raises(Refusal, match=code):
        submit(one, grant(batch, **changed), batch)
    assert one.queued == 0
    submit(one, grant(batch), batch)


def test_a_wrong_count_spends_no_grant() -> None:
    one, batch = desk(), requests()
    verified = one.verify(grant(batch).signed(KEY), "news", "c1", digest_of(batch.encode()), 100, NOW)
    with pytest.raises(Refusal, match="wrong-count"):
        one.accept(verified, requests(2), 100, NOW)
    submit(one, grant(batch), batch)
    with pytest.raises(Refusal, match="spent-serial"):
        one.accept(verified, batch, 100, NOW)


def test_a_body_that_is_too_large_for_its_urls_is_not_read() -> None:
    one, batch = desk(), requests(1)
    with pytest.raises(Refusal, match="too-large"):
        submit(one, grant(batch), batch, size=3 << 20)
    submit(one, grant(batch), batch, size=2 << 20)


def test_one_service_does_not_fill_the_memory_of_the_queue() -> None:
    one, batch = desk(queue_bytes=1_000), requests(1)
    submit(one, grant(batch, serial=1), batch, size=400)
    with pytest.raises(Refusal, match="no-capacity"):
        submit(one, grant(batch, serial=2), batch, size=300)
    submit(one, grant(batch, serial=3, service="other"), batch, service="other", size=500)
    one.done(1, 0, b"", True)
    assert one.queued_bytes == 500
    submit(one, grant(batch, serial=2), batch, size=300)


def test_the_masters_clock_decides_when_a_grant_ends() -> None:
    one, batch = desk(wall=WALL + 10_000), requests()  # this machine's clock is wrong
    hear(one, NOW)
    submit(one, grant(batch), batch)
    with pytest.raises(Refusal, match="expired-serial"):
        submit(one, grant(batch, serial=8), batch, now=NOW + 31)


def test_results_stay_until_they_are_confirmed() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    assert one.done(7, 0, b"zero", True) == ("news", "c1")
    assert one.done(7, 2, b"two", True) == ("news", "c1")
    first = one.results(("news", "c1"), 0, 1 << 20)
    assert [(result.place, result.content) for result in first] == [(0, b"zero"), (2, b"two")]
    assert one.results(("news", "c1"), 0, 1 << 20) == first, "the answer was lost: it is given again"
    assert one.owes(("news", "c1")) == 3
    one.done(7, 1, b"one", False)
    [last] = one.results(("news", "c1"), first[-1].sequence, 1 << 20)
    assert last.content == b"one"
    assert one.results(("news", "c1"), last.sequence, 1 << 20) == []
    assert (one.owes(("news", "c1")), one.bytes, one.queued) == (0, 0, 0)


def test_a_result_is_taken_once() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    one.done(7, 0, b"zero", True)
    assert one.done(7, 0, b"again", True) is None
    assert one.done(7, 99, b"none", True) is None
    assert one.done(99, 0, b"none", True) is None
    assert len(one.results(("news", "c1"), 0, 1 << 20)) == 1


def test_results_come_in_answers_of_so_many_bytes_and_at_least_one() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    for index in range(3):
        one.done(7, index, bytes(100), True)
    assert len(one.results(("news", "c1"), 0, 250)) == 2
    assert len(one.results(("news", "c1"), 0, 1)) == 1


def test_another_client_or_service_gets_nothing() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    one.done(7, 0, b"secret", True)
    for key in (("news", "c2"), ("other", "c1")):
        with pytest.raises(Refusal, match="unknown-client"):
            one.results(key, 0, 1 << 20)


def test_clients_of_two_services_with_one_name_are_two() -> None:
    one, batch = desk(), requests(1)
    submit(one, grant(batch, service="other", serial=6), batch, service="other")
    submit(one, grant(batch), batch)
    one.done(7, 0, b"of news", True)
    one.done(6, 0, b"of other", True)
    assert [result.content for result in one.results(("news", "c1"), 0, 1 << 20)] == [b"of news"]
    assert [result.content for result in one.results(("other", "c1"), 0, 1 << 20)] == [b"of other"]


def test_a_mailbox_that_was_dropped_and_made_again_is_another_one() -> None:
    one, batch = desk(keep=10.0), requests(2)
    submit(one, grant(batch), batch)
    before = one.mailbox(("news", "c1"))
    one.drop(NOW + 11)
    assert one.mailbox(("news", "c1")) is None
    submit(one, grant(batch, serial=8), batch, now=NOW + 12)
    assert one.mailbox(("news", "c1")) not in (None, before)
    assert one.done(7, 0, b"of before", True) is None
    assert one.owes(("news", "c1")) == 2, "what was dropped is not owed"
    assert one.done(8, 0, b"now", True) == ("news", "c1")


def test_one_service_does_not_take_the_memory_of_another() -> None:
    one, batch = desk(keep_bytes=1_000), requests()
    one.services["other"] = {"tokens": []}
    submit(one, grant(batch), batch)
    one.done(7, 0, bytes(600), True)
    assert one.is_full("news")
    assert not one.is_full("other")


def test_results_of_a_silent_client_are_dropped_and_told() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    one.done(7, 0, b"zero", True)
    assert one.drop(NOW + 59) == []
    assert one.drop(NOW + 61) == [("news", "c1", 3)]
    assert one.bytes == 0
    kept, gone = one.sort_out(requests(3).ticketed(7))
    assert (len(kept), len(gone)) == (0, 3), "what is queued is not downloaded any more"
    assert (one.queued, one.queued_bytes) == (0, 0), "its places are free"
    assert one.beat("http://d1.example", 10, 0.0).queued == {}
    for index in (1, 2):
        assert one.done(7, index, b"one", True) is None
    submit(one, grant(batch, serial=8), batch, now=NOW + 15)
    assert [len(part) for part in one.sort_out(requests(3).ticketed(8))] == [3, 0]


def test_a_client_that_asks_is_not_silent() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    one.heard(("news", "c1"), NOW + 50)
    assert one.drop(NOW + 100) == []


def test_what_a_client_confirms_stays_unambiguous_after_its_mailbox_was_empty() -> None:
    one, batch = desk(), requests(1)
    submit(one, grant(batch), batch)
    one.done(7, 0, b"first", True)
    [first] = one.results(("news", "c1"), 0, 1 << 20)
    one.results(("news", "c1"), first.sequence, 1 << 20)
    one.drop(NOW + 40)  # it is forgotten
    submit(one, grant(batch, serial=8, expires=WALL + 90), batch, now=NOW + 20)
    one.done(8, 0, b"second", True)
    [second] = one.results(("news", "c1"), first.sequence, 1 << 20)
    assert second.content == b"second"


def test_without_its_master_a_server_goes_on_for_a_while_and_then_starts_nothing() -> None:
    one, batch = desk(), requests()
    assert one.may_start(NOW + 29)
    assert not one.may_start(NOW + 31)
    with pytest.raises(Refusal, match="fenced"):
        submit(one, grant(batch, expires=WALL + 90), batch, now=NOW + 31)
    hear(one, NOW + 32)
    submit(one, grant(batch, expires=WALL + 90), batch, now=NOW + 32)


def test_before_its_first_heartbeat_a_server_starts_nothing() -> None:
    one = Desk("d1", "process", _core.VerifyingKey(KEY.public), NOW, wall=WALL, places=10)
    assert not one.may_start(NOW)


def test_a_full_queue_refuses() -> None:
    one, batch = desk(places=5), requests(3)
    submit(one, grant(batch), batch)
    with pytest.raises(Refusal, match="no-capacity"):
        submit(one, grant(batch, serial=8), batch)


def test_heartbeats_tell_accepted_grants_until_one_is_answered() -> None:
    one, batch = desk(), requests()
    submit(one, grant(batch), batch)
    assert one.beat("http://d1.example", 10, 0.0).accepted == (7,)
    assert one.beat("http://d1.example", 10, 0.0).accepted == (7,), "the answer was lost"
    submit(one, grant(batch, serial=8), batch)
    hear(one, NOW + 1)
    assert one.beat("http://d1.example", 10, 0.0).accepted == ()


def owners(names: list[str], count: int = 200) -> dict[str, Requests]:
    """Requests by their owner in a ring."""
    return requests(count).split(_core.Ring(dict.fromkeys(names, 1.0)), "domain")


def test_sites_of_other_servers_are_refused() -> None:
    one, parts = desk(), owners(["d1", "d2"])
    hear(one, NOW, 2, ("d1", "d2"))
    with pytest.raises(Refusal, match="ring-changed"):
        submit(one, grant(parts["d2"], ring=2), parts["d2"])
    submit(one, grant(parts["d1"], ring=2), parts["d1"])


def test_sites_that_came_with_a_ring_wait_and_others_do_not() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    mine = owners(["d1", "d2"])["d1"]
    hear(one, NOW, 3, ("d1",), after=NOW + 31)
    batch = requests(200)
    batches = submit(one, grant(batch, ring=3), batch)
    at_once = [len(part) for at, part in batches if at <= NOW]
    later = [(len(part), at) for at, part in batches if at > NOW]
    assert at_once == [len(mine)]
    assert sum(count for count, _ in later) == 200 - len(mine)
    assert all(at >= NOW + 31 for _, at in later)


def test_a_second_ring_does_not_forget_that_sites_of_the_first_wait() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    mine = owners(["d1", "d2"])["d1"]
    hear(one, NOW + 1, 3, ("d1",), after=NOW + 31)
    # Another ring in which the same sites are its own: those of d2 wait all the same.
    hear(one, NOW + 8, 4, ("d1",), after=NOW + 31)
    batch = requests(200)
    batches = submit(one, grant(batch, ring=4), batch, now=NOW + 8)
    assert sum(len(part) for at, part in batches if at <= NOW + 8) == len(mine)
    # Once their time has come they are its own.
    hear(one, NOW + 29, 4, ("d1",), after=NOW + 31)
    hear(one, NOW + 58, 4, ("d1",), after=NOW + 31)
    later = submit(one, grant(batch, ring=4, serial=9, expires=WALL + 90), batch, now=NOW + 58)
    assert all(at <= NOW + 58 for at, _ in later)


def test_a_grant_may_know_a_later_time_than_the_last_heartbeat() -> None:
    one, batch = desk(), requests(1)
    hear(one, NOW, 3, ("d1",))
    [(at, _)] = submit(one, grant(batch, ring=3, after=WALL + 20), batch)
    assert at >= NOW + 20


def urls(part: Requests) -> set[str]:
    """The URLs of requests."""
    return {request.url for request in part}


def own(one: Desk, now: float) -> set[str]:
    """The URLs, of two hundred sites, that may be started here."""
    return helpers.own(one, now, requests(200))


def test_sites_that_come_with_a_ring_wait_until_all_have_confirmed_it_and_its_time_has_come() -> None:
    one, mine = desk(), owners(["d1", "d2"])
    hear(one, NOW, 2, ("d1", "d2"))
    both = own(one, NOW)
    assert 0 < len(both) == len(mine["d1"]) < 200
    hear(one, NOW + 1, 3, ("d1",), after=None)
    assert own(one, NOW + 1) == own(one, NOW + 100) == both, "what was its own goes on"
    hear(one, NOW + 2, 3, ("d1",), after=NOW + 5)
    assert own(one, NOW + 4) == both
    assert len(own(one, NOW + 6)) == 200


def test_of_a_ring_that_others_may_have_used_only_its_own_sites_go_on() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"), after=None)
    hear(one, NOW + 1, 3, ("d1",), after=None)
    assert own(one, NOW + 1) == urls(owners(["d1", "d2"])["d1"]), "d2 may have used ring 2 meanwhile"
    hear(one, NOW + 2, 3, ("d1",), after=NOW + 5)
    assert own(one, NOW + 4) == urls(owners(["d1", "d2"])["d1"])
    assert len(own(one, NOW + 6)) == 200


def test_servers_go_on_while_another_one_restarts() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    both = own(one, NOW)
    hear(one, NOW + 1, 3, ("d1",), after=None)  # d2 is silent,
    hear(one, NOW + 2, 3, ("d1",), after=NOW + 31)
    hear(one, NOW + 3, 4, ("d1", "d2"), after=None)  # and there again
    assert own(one, NOW + 4) == both
    batch = owners(["d1", "d2"])["d1"]
    batches = submit(one, grant(batch, ring=4, after=WALL + 31), batch, now=NOW + 4)
    assert [(at <= NOW + 4, len(part)) for at, part in batches] == [(True, len(both))]


def test_a_site_that_was_another_servers_by_a_ring_in_between_is_not_its_own() -> None:
    one, between = desk(), owners(["d1", "d3"])
    hear(one, NOW, 2, ("d1", "d2"))
    hear(one, NOW + 1, 3, ("d1", "d3"), after=NOW + 31)
    hear(one, NOW + 2, 4, ("d1",), after=None)
    mine = urls(owners(["d1", "d2"])["d1"]) & urls(between["d1"])
    assert own(one, NOW + 3) == mine
    batch = requests(200)
    batches = submit(one, grant(batch, ring=4, after=WALL + 40), batch, now=NOW + 3)
    assert {url for at, part in batches if at <= NOW + 3 for url in urls(part)} == mine
    assert sum(len(part) for _, part in batches) == 200


def test_rings_that_it_has_missed_take_away_what_was_others() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    hear(one, NOW + 3, 5, ("d1", "d2"), after=None, missed=(("d1",), ("d1", "d2", "d3")))
    assert own(one, NOW + 3) == urls(owners(["d1", "d2", "d3"])["d1"])
    hear(one, NOW + 4, 7, ("d1", "d2"), after=None, missed=(("d2",),))
    assert own(one, NOW + 4) == set(), "by ring 6 all were those of d2"


def test_another_masters_clock_does_not_move_the_time_that_was_told() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    hear(one, NOW + 1, 3, ("d1",), after=NOW + 31)
    both = own(one, NOW + 2)
    one._offset += 60.0
    assert own(one, NOW + 30) == both
    assert len(own(one, NOW + 31)) == 200


def test_after_many_rings_that_nobody_used_it_waits_for_one_that_is() -> None:
    one = desk()
    for version in range(2, 2 + UNSETTLED + 1):
        hear(one, NOW, version, ("d1", f"d{version}"), after=None)
    assert own(one, NOW) == set()


def test_sites_divided_by_another_list_of_public_suffixes_are_not_asked_for_at_once_again() -> None:
    one, parts = desk(), owners(["d1", "d2"])
    hear(one, NOW, 2, ("d1", "d2"))
    with pytest.raises(Refusal, match="ring-changed") as refused:
        submit(one, grant(parts["d2"], ring=2), parts["d2"])
    assert refused.value.after == 1.0


def test_a_server_that_was_excluded_owns_nothing_before_its_time() -> None:
    one = desk()
    hear(one, NOW, 2, ("d1", "d2"))
    hear(one, NOW + 9, 4, ("d1", "d2"), after=None)
    assert own(one, NOW + 9) == set(), "ring 3 was without it"
