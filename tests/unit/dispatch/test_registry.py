"""The ring of download servers: no two own a site at one time, whatever happens to them or to the master."""

from __future__ import annotations

import pytest
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.registry import Kept, Registry, Ring

from tests.unit.dispatch.helpers import START, beat


class Fleet:
    """Download servers that confirm what they are told with their next heartbeat."""

    def __init__(self, registry: Registry, *names: str) -> None:
        self.registry = registry
        self.known: dict[str, Ring] = {name: Ring(0, {}, 0.0) for name in names}

    def beat(self, now: float, *names: str) -> None:
        for name in names or self.known:
            ring = self.known.setdefault(name, Ring(0, {}, 0.0))
            told = self.registry.beat(beat(name, ring=ring.version, members=dict(ring.members)), now)
            self.known[name] = told


def registry(now: float = START, is_first: bool = True, kept: Kept | None = None) -> Registry:
    return Registry(now, period=1.0, hold=30.0, handover=1.0, is_first=is_first, kept=kept)


def test_a_ring_is_used_once_all_have_confirmed_it() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    fleet.beat(START)
    assert one.ring() is None
    fleet.beat(START + 1)
    assert one.ring() is None, "a has not heard of b's ring yet"
    fleet.beat(START + 2)
    ring = one.ring()
    assert ring is not None
    assert set(ring.members) == {"a", "b"}
    fleet.beat(START + 3, "a", "b", "c")
    assert one.ring() is None, "c is new: a and b are asked to let go of its sites first"
    fleet.beat(START + 4)
    fleet.beat(START + 5)
    changed = one.ring()
    assert changed is not None
    assert set(changed.members) == {"a", "b", "c"}
    assert changed.version > ring.version


def test_sites_of_a_silent_server_wait_until_it_has_stopped_by_itself() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    # b was heard of last at 3; from there it goes on for 30 s at most, whether the master lives or not.
    for second in range(4, 9):
        fleet.beat(START + second, "a")
    ring = one.ring()
    assert ring is not None
    assert set(ring.members) == {"a"}
    assert ring.after >= START + 3 + 30 + 1


def test_a_restarted_master_goes_on_with_the_ring_of_its_servers() -> None:
    fleet = Fleet(registry(), "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    version = fleet.known["a"].version
    fleet.registry = fresh = registry(START + 10, is_first=False, kept=fleet.registry.kept())
    fleet.beat(START + 10.1, "a")
    assert fresh.ring() is None, "b may be alive"
    fleet.beat(START + 10.9, "b")
    ring = fresh.ring()
    assert ring is not None, "admission resumes in one heartbeat"
    assert (ring.version, set(ring.members)) == (version, {"a", "b"})
    # For servers that had their sites before, this is no wait: the desk knows which these are.
    assert ring.after >= START + 10 + 30


@pytest.mark.parametrize("name", ["a", "c"], ids=["of before", "new"])
def test_a_restarted_master_gives_up_servers_that_it_never_hears_of(name: str) -> None:
    fleet = Fleet(registry(), "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    fleet.registry = fresh = registry(START + 10, is_first=False, kept=fleet.registry.kept())
    for tenth in range(50):
        fleet.beat(START + 10 + tenth / 10, name)
    ring = fresh.ring()
    assert ring is not None
    assert set(ring.members) == {name}
    assert ring.after >= START + 10 + 30, "those may have heard of the old master until just before, and go on"


def test_a_restarted_master_knows_that_a_server_was_excluded() -> None:
    fleet = Fleet(registry(), "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    # b is excluded and does not know of it, and the master is restarted.
    for second in range(4, 9):
        fleet.beat(START + second, "a")
    kept = fleet.registry.kept()
    assert set(kept.members) == {"a"}
    fleet.registry = registry(START + 10, is_first=False, kept=kept)
    fleet.beat(START + 10.1, "b")
    told = fleet.known["b"]
    assert told.version == kept.version + 1, "not the next one to b: of what was its own a may start some"
    assert told.after >= START + 10 + 30


def test_what_outlives_a_master_is_text(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(7, {"a": 1.0, "b": 0.25}, {"a": "p1", "b": "p2"})
    assert Kept.read(kept.text()) == kept
    assert Kept.read("") is None
    assert not caplog.records
    for damaged in ("{", "[]", "\ufffd", '{"version": 7}', '{"version": "x", "members": {}, "processes": {}}'):
        caplog.clear()
        assert Kept.read(damaged) is None
        assert "all sites wait for --hold seconds" in caplog.text


def test_a_replaced_process_is_refused_by_the_next_master_too() -> None:
    fleet = Fleet(registry(), "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    ring = fleet.known["a"]
    fleet.registry.beat(beat("a", process="new"), START + 4)
    fleet.registry = fresh = registry(START + 40, is_first=False, kept=fleet.registry.kept())
    with pytest.raises(Refusal, match="name-in-use"):
        fleet.beat(START + 41, "a")  # it was cut off, and is heard of before the new one
    fresh.beat(beat("a", process="new", ring=ring.version, members=dict(ring.members)), START + 41)
    fresh.beat(beat("a", process="newest"), START + 42)


def test_rings_that_a_server_has_missed_are_told() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b", "c")
    for second in range(4):
        fleet.beat(START + second)
    before = fleet.known["a"].version
    fleet.beat(START + 4, "d")
    fleet.beat(START + 4.1, "e")
    [missed] = one.missed(before)
    assert set(missed.members) == {"a", "b", "c", "d"}
    assert one.missed(before + 1) == []
    assert registry(kept=one.kept()).missed(before) == [], "the next master does not know them"


def test_of_two_versions_that_are_reported_after_a_restart_neither_is_believed() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    fleet.beat(START + 4, "a", "c")  # a new ring is proposed, and only c and a are told
    fleet.registry = fresh = registry(START + 5, is_first=False)
    for tenth in range(1, 30):
        fleet.beat(START + 5 + tenth / 10)
        ring = fresh.ring()
        if ring is not None:
            assert {fleet.known[name].version for name in ("a", "b", "c")} == {ring.version}
    assert fresh.ring() is not None


def test_two_rings_of_one_version_are_not_taken_for_one() -> None:
    fleet = Fleet(registry(), "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    fleet.beat(START + 4, "c", "a")  # of the ring with c, a alone is told
    before = fleet.known["a"]
    del fleet.known["c"]
    fleet.registry = fresh = registry(START + 5, is_first=False)
    fleet.beat(START + 5.1, "b", "d")  # a, with the ring of before, is not heard of yet
    for tenth in range(2, 40):
        fleet.beat(START + 5 + tenth / 10)
        if fresh.ring() is not None:
            assert len({(ring.version, tuple(sorted(ring.members))) for ring in fleet.known.values()}) == 1
    ring = fresh.ring()
    assert ring is not None
    assert set(ring.members) == {"a", "b", "d"}
    assert ring.version > before.version + 1, "to a it is not the next one"


def test_a_server_that_starts_anew_loses_its_grants() -> None:
    one = registry()
    one.beat(beat("a"), START)
    one.servers["a"].grant(1, "news", 100, START + 30)
    assert one.room("a", "other").granted == 100
    one.beat(beat("a", process="another"), START + 1)
    assert one.room("a", "other").granted == 0


def test_accepted_grants_are_among_what_the_server_reports() -> None:
    one = registry()
    one.beat(beat("a"), START)
    one.servers["a"].grant(1, "news", 100, START + 30)
    one.servers["a"].grant(2, "news", 50, START + 30)
    one.beat(beat("a", accepted=(1,), free=9_900), START + 1)
    assert (one.room("a", "other").granted, one.room("a", "other").free) == (50, 9_900)


def test_a_master_that_was_stopped_itself_excludes_nobody() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    before = one.ring()
    one.look(START + 60)  # it was stopped for 57 seconds
    fleet.beat(START + 60.1, "b")
    fleet.beat(START + 60.9, "a")
    assert one.ring() == before
    for half in range(8):
        one.look(START + 61 + half / 2)
        fleet.beat(START + 61 + half / 2, "a")
    assert set(one.servers) == {"a"}, "whose silence is its own"


def test_a_process_that_another_of_its_name_has_replaced_is_told_so() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    ring = one.ring()
    assert ring is not None
    one.beat(beat("a", process="new", ring=0), START + 4)
    with pytest.raises(Refusal, match="name-in-use"):
        fleet.beat(START + 4.5, "a")
    replaced = one.ring()
    assert replaced is not None
    assert replaced.version == ring.version, "the others go on"
    assert replaced.after >= START + 4 + 2 + 1, "by then the earlier process has heard of it"
    one.beat(beat("a", process="new", ring=ring.version, members=dict(ring.members)), START + 5)


@pytest.mark.parametrize(("clocks", "after"), [("a", START + 4 + 2 + 1), ("other", START + 3 + 30 + 1)])
def test_where_a_process_was_cut_off_the_next_of_its_name_waits_until_it_has_stopped_by_itself(
    clocks: str, after: float
) -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    # It was heard of last at 3 and goes on for 30 s; on the same machine both keep the same pauses.
    one.beat(beat("a", process="new", clocks=clocks), START + 4)
    ring = one.ring()
    assert ring is not None
    assert ring.after == after


def test_a_server_that_reports_and_takes_no_answer_keeps_nobody_from_the_sites() -> None:
    one = registry()
    fleet = Fleet(one, "a", "b")
    for second in range(4):
        fleet.beat(START + second)
    one.beat(beat("deaf"), START + 4)
    used = []
    for second in range(4, 40):
        fleet.beat(START + second)
        one.beat(beat("deaf"), START + second + 0.5)
        ring = one.ring()
        if ring is not None:
            used.append(sorted(ring.members))
    assert used[-1] == ["a", "b"]
    assert "deaf" not in one.servers
    assert "deaf" in one.starting(), "what it was told may have come to it until it was excluded"
    for second in range(60, 64):
        fleet.beat(START + second)
    assert "deaf" not in one.starting()
    known = one.beat(beat("deaf"), START + 64)
    one.beat(beat("deaf", ring=known.version, members=dict(known.members)), START + 64.5)
    assert "deaf" in one.servers, "it takes answers now"


def test_a_service_takes_no_more_places_than_it_leaves() -> None:
    one = registry()
    one.beat(beat("a", free=200), START)
    one.servers["a"].grant(1, "big", 60, START + 30)
    one.beat(beat("a", free=160, queued={"big": 40}), START + 1)
    _, free, granted = one.room("a", "big")
    assert free - granted == 160 - 60 - 60 - 40, "as many as are left, less its own"
    _, free, granted = one.room("a", "small")
    assert free - granted == 100
