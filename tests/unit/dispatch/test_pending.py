"""A client's requests: each is settled once."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from lycosa.dispatch.pending import Pending


class Requests(RuleBasedStateMachine):
    """Whatever is granted, lost, doubled: every request waits, is parked, is granted or is settled, once."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: Pending[int] = Pending()
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

    @rule(processes=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"])))
    def see(self, processes: dict[str, str]) -> None:
        self.pending.live(processes)
        assert all(processes.get(server) == process for server, process in self.pending.places())

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        assert len(self.settled) == len(set(self.settled)) == self.pending.settled
        assert len(self.pending) + sum(map(len, self.taken)) + len(self.settled) == self.added

    def teardown(self) -> None:
        """In the end every request can be settled."""
        for taken in self.taken:
            self.pending.put_back(taken)
        self.pending.live({})
        self.pending.due(float("inf"))
        rest = self.pending.take(self.added)
        assert sorted([*rest, *self.settled]) == list(range(self.added))


Requests.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestRequests = Requests.TestCase


def test_what_is_forgotten_is_neither_asked_for_nor_settled() -> None:
    pending: Pending[str] = Pending()
    pending.add(["one", "two", "three"])
    taken = pending.take(2)
    pending.granted(1, ("a", "1"), taken[:1])
    pending.park(taken[1:], 10.0)
    pending.forget()
    assert len(pending) == 0
    assert pending.settle(1, 0) is None
    assert pending.due(20.0) is None
    pending.add(["four"])
    assert pending.take(5) == ["four"]
