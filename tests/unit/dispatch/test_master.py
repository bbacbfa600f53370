"""The master: quotas at any second, fair shares, serial numbers, download servers that come and go."""

from __future__ import annotations

import pytest
from lycosa import _core
from lycosa.dispatch.grant import Grant, read_grant
from lycosa.dispatch.master import Master, Part
from lycosa.dispatch.refusal import Refusal

from tests.unit.dispatch.helpers import DIGEST, KEY, START, beat, beat_until_ready, master, quotas

PUBLIC = _core.VerifyingKey(KEY.public)


def forget_grants(one: Master) -> None:
    """The download server has taken all that was granted."""
    server = one.registry.servers["d1"]
    for serial in list(server.waiting):
        server.end(serial)


def codes(decided: list[Grant | Refusal]) -> list[str]:
    return [one.code if isinstance(one, Refusal) else "yes" for one in decided]


def test_a_service_gets_its_rate_and_no_more_at_any_second() -> None:
    one = master(quotas(news={"rate": 100, "burst": 50}))
    beat_until_ready(one, "d1", free=1_000_000)
    granted, now = [], START
    while now < START + 60:
        one.heartbeat(beat("d1", ring=1, free=1_000_000), now) if now % 1 == 0 else None
        if codes(one.ask("news", "c", [Part("d1", 10, DIGEST)], now)) == ["yes"]:
            granted.append(now)
        now += 1 / 64
    in_any_second = max(sum(10 for at in granted if begin <= at < begin + 1) for begin in granted)
    assert in_any_second <= 100 + 50
    assert 10 * len(granted) == pytest.approx(100 * 60 + 50, abs=10)


def test_a_refused_client_is_told_when_to_ask_again() -> None:
    one = master(quotas(news={"rate": 10, "burst": 20}))
    beat_until_ready(one, "d1")
    assert codes(one.ask("news", "c", [Part("d1", 20, DIGEST)], START)) == ["yes"]
    [refusal] = one.ask("news", "c", [Part("d1", 15, DIGEST)], START)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "over-quota"
    assert refusal.after == pytest.approx(1.5)
    assert codes(one.ask("news", "c", [Part("d1", 15, DIGEST)], START + 1.4)) == ["over-quota"]
    assert codes(one.ask("news", "c", [Part("d1", 15, DIGEST)], START + 1.6)) == ["yes"]


def test_more_than_a_burst_is_refused_for_good() -> None:
    one = master(quotas(news={"rate": 10, "burst": 20}))
    beat_until_ready(one, "d1")
    [refusal] = one.ask("news", "c", [Part("d1", 21, DIGEST)], START)
    assert str(refusal) == "too-large: 21 URLs at once; the service's burst is 20"


def test_the_published_policy_starts_each_minute_anew() -> None:
    one = master(quotas("minute-window", news={"rate": 10, "placement": "idlest"}))
    one.heartbeat(beat("d1"), START)

    def ask(count: int, at: float) -> str:
        return codes(one.ask("news", "c", [Part(None, count, DIGEST)], at))[0]

    assert ask(1, START) == "over-quota", "nothing in the first second"
    one.heartbeat(beat("d1"), START + 30)
    assert ask(301, START + 30) == "over-quota"
    assert ask(300, START + 30) == "yes", "what was not used until now"
    assert ask(1, START + 30) == "over-quota"
    one.heartbeat(beat("d1"), START + 59)
    assert ask(290, START + 59) == "yes"
    one.heartbeat(beat("d1"), START + 61)
    assert ask(11, START + 61) == "over-quota", "what the minute before left is lost"
    assert ask(10, START + 61) == "yes"


def test_the_published_policy_takes_the_idlest_server() -> None:
    one = master(quotas("minute-window", news={"rate": 1_000, "placement": "idlest"}))
    now = START + 30
    for name, speed in (("slow", 10.0), ("fast", 100.0)):
        one.heartbeat(beat(name, speed=speed, free=100), now)
    servers = []
    for _ in range(6):
        [grant] = one.ask("news", "c", [Part(None, 500, DIGEST)], now)
        servers.append(grant.server if isinstance(grant, Grant) else grant.code)
    # u of the fast one: 3,100, then 500 less with each grant; of the slow one 400.
    assert servers == ["fast"] * 6


def test_scarce_room_is_shared_by_weight() -> None:
    one = master(quotas(light={"rate": 10_000}, heavy={"rate": 10_000, "weight": 3.0}))
    beat_until_ready(one, "d1", free=0)
    got, now = {"light": 0, "heavy": 0}, START
    for turn in range(2_000):
        # Room for ten more URLs each time: far less than both want.
        now = START + turn / 100
        forget_grants(one)
        one.heartbeat(beat("d1", ring=1, free=10), now)
        for service in ("light", "heavy") if turn % 2 else ("heavy", "light"):
            if codes(one.ask(service, "c", [Part("d1", 10, DIGEST)], now)) == ["yes"]:
                got[service] += 10
    assert sum(got.values()) > 10_000, "room is used"
    assert got["heavy"] / got["light"] == pytest.approx(3, rel=0.1)


def test_a_greater_priority_comes_first_when_there_is_too_little_room() -> None:
    one = master(quotas(low=10_000, high={"rate": 10_000, "priority": 1}))
    beat_until_ready(one, "d1", free=0)
    got = {"low": 0, "high": 0}
    for turn in range(400):
        now = START + turn / 100
        forget_grants(one)
        one.heartbeat(beat("d1", ring=1, free=10), now)
        for service in ("low", "high"):
            if codes(one.ask(service, "c", [Part("d1", 10, DIGEST)], now)) == ["yes"]:
                got[service] += 1
    assert got["high"] >= 398
    assert got["low"] <= 2


def test_a_grant_says_all_and_nobody_else_can_make_it() -> None:
    one = master(quotas(news=100))
    beat_until_ready(one, "d1")
    [grant] = one.ask("news", "reader-7", [Part("d1", 3, "ab" * 32)], START)
    assert isinstance(grant, Grant)
    text = one.signed(grant)
    assert read_grant(text, PUBLIC) == grant
    assert (grant.service, grant.client, grant.server, grant.urls) == ("news", "reader-7", "d1", 3)
    other = _core.SigningKey(_core.new_identity_key())
    for forged in (
        grant.signed(other),
        text[:-2],
        text.replace(".", ".."),
        f"x{text}",
        "",
        ".",
        "a.b",
        "é.é",
        "!" * 3_000,
    ):
        with pytest.raises(Refusal):
            read_grant(forged, PUBLIC)
    payload, _, signature = text.partition(".")
    for place in range(0, len(payload), 7):
        changed = payload[:place] + ("A" if payload[place] != "A" else "B") + payload[place + 1 :]
        with pytest.raises(Refusal, match="unknown-serial"):
            read_grant(f"{changed}.{signature}", PUBLIC)


def test_serial_numbers_increase_over_the_lives_of_a_master() -> None:
    serials = []
    for life in (1, 2, 3):
        one = master(quotas(news=100_000), life=life)
        beat_until_ready(one, "d1", free=100_000)
        for _ in range(50):
            [grant] = one.ask("news", "c", [Part("d1", 1, DIGEST)], START)
            assert isinstance(grant, Grant)
            serials.append(grant.serial)
    assert serials == sorted(set(serials))
    assert max(serials) < 2**53, "whole in JSON of any language"


def test_a_silent_server_is_excluded_after_two_periods() -> None:
    one = master(quotas(news=1_000), period=1.0)
    beat_until_ready(one, "d1")
    one.registry.look(START + 1)
    assert codes(one.ask("news", "c", [Part("d1", 1, DIGEST)], START + 1.9)) == ["yes"]
    assert codes(one.ask("news", "c", [Part("d1", 1, DIGEST)], START + 2.1)) == ["no-server"]


def test_grants_that_are_not_used_free_their_room() -> None:
    one = master(quotas(news=10_000), grant_seconds=5.0, period=10.0)
    beat_until_ready(one, "d1", free=100)
    assert codes(one.ask("news", "c", [Part("d1", 100, DIGEST)], START)) == ["yes"]
    assert codes(one.ask("news", "c", [Part("d1", 100, DIGEST)], START + 4)) == ["no-capacity"]
    assert codes(one.ask("news", "c", [Part("d1", 100, DIGEST)], START + 5.1)) == ["yes"]


def test_the_rates_that_servers_keep_sum_up_to_the_quota() -> None:
    one = master(quotas(news={"rate": 100, "bytes_per_second": 1e6}), period=1.0)
    answers = {}
    for turn in range(20):
        for name, slots in (("d1", 100), ("d2", 300)):
            ring = one.registry._proposed
            answers[name] = one.heartbeat(beat(name, slots=slots, ring=ring.version), START + turn)
        one.ask("news", "c", [Part("d2", 20, DIGEST)], START + turn)
    rates = {name: answer["services"]["news"] for name, answer in answers.items()}
    assert sum(rate["rate"] for rate in rates.values()) == pytest.approx(100, rel=0.02)
    assert sum(rate["bytes_per_second"] for rate in rates.values()) == pytest.approx(1e6, rel=0.02)
    assert rates["d2"]["rate"] > 75, "the share follows what is granted"


def test_an_unknown_service_and_too_many_parts_are_refused() -> None:
    one = master(quotas(news=1))
    with pytest.raises(Refusal, match="unknown-service"):
        one.ask("other", "c", [Part("d1", 1, DIGEST)], START)
    for parts in ([], [Part("d1", 1, DIGEST)] * 1_001, [Part("d1", 0, DIGEST)], [Part("d1", 10**9, DIGEST)]):
        with pytest.raises(Refusal, match="too-large"):
            one.ask("news", "c", parts, START)


def test_reloaded_quotas_apply_at_once_and_counts_stay() -> None:
    one = master(quotas(news={"rate": 10, "burst": 10}, old=1))
    beat_until_ready(one, "d1")
    assert codes(one.ask("news", "c", [Part("d1", 10, DIGEST)], START)) == ["yes"]
    one.reload(quotas(news={"rate": 1_000, "burst": 1_000}))
    assert codes(one.ask("news", "c", [Part("d1", 900, DIGEST)], START + 1)) == ["yes"]
    with pytest.raises(Refusal, match="unknown-service"):
        one.ask("old", "c", [Part("d1", 1, DIGEST)], START)


def test_a_smaller_quota_or_a_clock_that_was_ahead_leaves_no_debt() -> None:
    one = master(quotas(news={"rate": 0.01, "burst": 100}), period=3_600.0)
    beat_until_ready(one, "d1")
    assert codes(one.ask("news", "c", [Part("d1", 100, DIGEST)], START)) == ["yes"]
    one.reload(quotas(news={"rate": 1_000, "burst": 1_000}))
    [refusal] = one.ask("news", "c", [Part("d1", 1_000, DIGEST)], START + 1)
    assert isinstance(refusal, Refusal)
    assert refusal.after <= 1, "a burst at most"
    assert codes(one.ask("news", "c", [Part("d1", 1_000, DIGEST)], START + 2.1)) == ["yes"]


def test_a_server_that_was_cut_off_keeps_its_share_of_the_rate_until_it_stops() -> None:
    one = master(quotas(news={"rate": 100, "servers": ["d1", "d2"]}), period=1.0, hold=30.0)
    beat_until_ready(one, "d1", "d2")
    answer = one.heartbeat(beat("d1"), START + 1)
    before = answer["services"]["news"]
    assert before["rate"] == pytest.approx(50)
    assert before["owners"] == before["address_owners"] == 2
    for second in range(2, 29):
        answer = one.heartbeat(beat("d1", ring=second), START + second)
    assert set(one.registry.servers) == {"d1"}
    assert answer["services"]["news"] == before, "d2 may go on for as long as it may hold what it has"
    for second in range(29, 36):
        answer = one.heartbeat(beat("d1", ring=second), START + second)
    assert answer["services"]["news"]["rate"] == pytest.approx(100)
    assert answer["services"]["news"]["owners"] == 1


def test_servers_with_the_same_clocks_are_one_to_a_site() -> None:
    one = master(quotas(news={"rate": 100, "servers": ["a", "b"]}))
    for name, clocks in (("a", "x"), ("b", "x"), ("c", "y")):
        answer = one.heartbeat(beat(name, clocks=clocks), START)
    answer = one.heartbeat(beat("a", clocks="x"), START + 0.5)
    assert answer["services"]["news"]["owners"] == 1
    assert answer["services"]["news"]["address_owners"] == 2


def test_a_service_with_slow_sites_leaves_places_to_others() -> None:
    one = master(quotas(big={"rate": 1_000, "placement": "idlest"}, small={"rate": 1_000, "placement": "idlest"}))
    queued = 0
    for second in range(1, 9):
        one.heartbeat(beat("d1", free=200 - queued, queued={"big": queued}), START + second)
        for _ in range(5):
            [decided] = one.ask("big", "c", [Part(None, 20, DIGEST)], START + second)
            if isinstance(decided, Grant):
                one.registry.servers["d1"].end(decided.serial)
                queued += 20
                one.heartbeat(beat("d1", free=200 - queued, queued={"big": queued}), START + second)
    assert queued == 100
    [decided] = one.ask("small", "c", [Part(None, 50, DIGEST)], START + 8)
    assert isinstance(decided, Grant)


def test_of_a_question_no_part_passes_one_that_the_quota_keeps_waiting() -> None:
    one = master(quotas(news={"rate": 100, "burst": 100, "placement": "idlest"}))
    one.heartbeat(beat("d1"), START)
    decided = one.ask("news", "c", [Part(None, count, DIGEST) for count in (60, 60, 10)], START)
    assert codes(decided) == ["yes", "over-quota", "over-quota"]
    decided = one.ask("news", "c", [Part(None, count, DIGEST) for count in (60, 10)], START + 0.3)
    assert codes(decided) == ["yes", "yes"]
