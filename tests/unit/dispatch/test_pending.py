"""A client's requests: each is settled once."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from lycosa.dispatch.pending import Pending


class Requests(RuleBasedStateMachine):
    """Whatever is granted, lost, doubled: every request waits, is parked, is granted or is settled, once."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: set[int] = set()
        self.pending: Pending[int] = Pending(lambda request: request not in self.forgotten)
        self.added = 0
        self.settled: list[int] = []
        self.taken: list[list[int]] = []
        self.serial = 0
        self.serials: list[tuple[int, int, tuple[str, str]]] = []
        self.now = 0.0

    @rule(count=st.integers(1, 5))
    def add(self, count: int) -> None:
        self.pending.add(range(self.added, self.added + count))
        self.added += count

    @rule(most=st.integers(1, 4))
    def take(self, most: int) -> None:
        if taken := self.pending.take(most):
            self.taken.append(taken)

    @rule(server=st.sampled_from(["a", "b"]), process=st.sampled_from(["1", "2"]))
    def grant(self, server: str, process: str) -> None:
        if self.taken:
            requests = self.taken.pop()
            self.serial += 1
            self.serials.append((self.serial, len(requests), (server, process)))
            self.pending.granted(self.serial, (server, process), requests)

    @rule(after=st.floats(0, 3))
    def refuse(self, after: float) -> None:
        if self.taken:
            self.pending.park(self.taken.pop(), self.now + after)

    @rule()
    def put_back(self) -> None:
        if self.taken:
            self.pending.put_back(self.taken.pop())

    @rule(by=st.floats(0, 2))
    def later(self, by: float) -> None:
        self.now += by
        self.pending.due(self.now)

    @rule(which=st.integers(0, 100), index=st.integers(-1, 5))
    def result(self, which: int, index: int) -> None:
        if self.serials:
            serial, _, _ = self.serials[which % len(self.serials)]
            request = self.pending.settle(serial, index)
            if request is not None:
                self.settled.append(request)

    @rule(which=st.integers(0, 100))
    def fail(self, which: int) -> None:
        if self.serials:
            self.pending.failed(self.serials[which % len(self.serials)][0])

    @rule(which=st.integers(0, 100), mailbox=st.integers(0, 2))
    def accept(self, which: int, mailbox: int) -> None:
        if self.serials:
            self.pending.accepted(self.serials[which % len(self.serials)][0], mailbox)

    @rule(server=st.sampled_from(["a", "b"]), process=st.sampled_from(["1", "2"]), mailbox=st.integers(1, 2))
    def hear_of_mailbox(self, server: str, process: str, mailbox: int) -> None:
        """Whatever was looked at before: only what is in this mailbox, or is being submitted, stays granted."""
        place = (server, process)
        self.pending.only(place, mailbox)
        left = {one.mailbox for one in self.pending._grants.values() if one.place == place}
        assert left <= {mailbox, None}

    @rule(server=st.sampled_from(["a", "b"]), process=st.sampled_from(["1", "2"]))
    def lose(self, server: str, process: str) -> None:
        place = (server, process)
        self.pending.lost(place)
        assert all(one.mailbox is None for one in self.pending._grants.values() if one.place == place)

    @rule(groups=st.integers(1, 3))
    def forget(self, groups: int) -> None:
        """Of every third request, or two of three, or all: what has no result is not wanted any more."""
        unsettled = set(range(self.added)).difference(self.settled)
        self.forgotten |= {request for request in unsettled if request % 3 < groups}
        self.pending.forget()

    @rule(processes=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"])))
    def see(self, processes: dict[str, str]) -> None:
        self.pending.live(processes)
        assert all(processes.get(server) == process for server, process in self.pending.places())

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        assert len(self.settled) == len(set(self.settled)) == self.pending.settled
        taken = sum(request not in self.forgotten for requests in self.taken for request in requests)
        assert len(self.pending) + taken + len(self.settled) + len(self.forgotten) == self.added
        assert self.forgotten.isdisjoint(self.settled), "a result of what is not wanted is unwanted"

    @invariant()
    def what_is_at_a_place_is_counted(self) -> None:
        left = Counter[tuple[str, str]]()
        for granted in self.pending._grants.values():
            left[granted.place] += sum(request is not None for request in granted.requests)
        assert self.pending.places() == left
        assert self.pending.under_way() == left.total()

    def teardown(self) -> None:
        """In the end every request can be settled."""
        for taken in self.taken:
            self.pending.put_back(taken)
        self.pending.live({})
        self.pending.due(float("inf"))
        rest = self.pending.take(self.added)
        assert sorted([*rest, *self.settled, *self.forgotten]) == list(range(self.added))


Requests.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestRequests = Requests.TestCase


def test_what_is_being_submitted_is_not_lost_before_its_answer_has_come() -> None:
    place = ("d1", "p1")
    pending: Pending[str] = Pending()
    pending.granted(1, place, ["accepted"])
    pending.accepted(1, 7)
    pending.granted(2, place, ["under way"])
    assert pending.lost(place) == 1, "its mailbox is gone"
    assert pending.only(place, 8) == 0
    assert pending.places() == {place: 1}
    pending.accepted(2, 0)  # it had arrived before: the answer is lost, and with it the mailbox's number
    assert pending.only(place, 8) == 0
    assert pending.only(place, 9) == 1, "it was in 8"
    assert sorted(pending.take(9)) == ["accepted", "under way"]


def test_what_is_forgotten_leaves_wherever_it_is_and_others_stay() -> None:
    place, gone = ("d1", "p1"), set[str]()
    pending: Pending[str] = Pending(lambda request: request not in gone)
    pending.granted(1, place, ["granted 1", "granted 2"])
    pending.granted(2, place, ["granted 3"])
    pending.accepted(1, 7)
    pending.park(["parked 1", "parked 2"], 1.0)
    pending.add(["taken 1", "taken 2", "waiting 1", "waiting 2"])
    taken = pending.take(2)
    gone.update({"granted 1", "granted 3", "parked 1", "taken 1", "waiting 1"})
    pending.forget()
    assert len(pending) == 3
    assert pending.places() == {place: 1}
    assert (pending.settle(1, 0), pending.settle(2, 0), pending.unwanted) == (None, None, 2)
    assert pending.only(place, 8) == 1, "the grant keeps its mailbox"
    pending.put_back(taken)
    pending.due(1.0)
    assert sorted(pending.take(9)) == ["granted 2", "parked 2", "taken 2", "waiting 2"]
    assert pending.settled == 0
