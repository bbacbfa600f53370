"""Pages that are lent to partitions: never more than there are, and all of them to those that need some."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa.cluster.budget import KEEPER, MOST, PREFIX, Budget, Budgets

PARTITIONS = 4


class Cluster:
    """Partitions of one member, whose messages arrive when a test says so."""

    def __init__(self, pages: int) -> None:
        self.messages: list[tuple[int, bytes]] = []
        self.budgets = Budgets(pages, lambda _, to, message: self.messages.append((to, message)))
        self.budgets.all = {partition: Budget() for partition in range(PARTITIONS)}
        self.used = dict.fromkeys(range(PARTITIONS), 0)

    def deliver(self) -> None:
        """Deliver the oldest message; its partition moves, and is read again from its journal."""
        to, message = self.messages.pop(0)
        record = self.budgets.accept(to, message)
        before, after = self.budgets.all[to], Budget.decode(record)
        assert (after.lent, after.loans, after.short) == (before.lent, before.loans, before.short)

    def left(self, partition: int) -> int:
        """Pages that a partition may still fetch."""
        return self.budgets.all[partition].lent - self.used[partition]

    def need(self, partition: int, waiting: int) -> None:
        """A partition has so many URLs to fetch."""
        self.budgets.look(partition, self.left(partition), waiting, waiting == 0)


def test_who_is_short_is_lent_pages_until_there_are_none() -> None:
    cluster = Cluster(1_000)
    rounds = 0
    while cluster.budgets.is_short(1, cluster.left(1), 1):
        cluster.need(1, 1)
        while cluster.messages:
            cluster.deliver()
        assert cluster.left(1) <= MOST
        cluster.used[1] += cluster.left(1)
        rounds += 1
    assert cluster.used[1] == 1_000
    assert rounds < 20, "most of what is left at once"


def test_who_is_refused_is_lent_what_comes_back() -> None:
    cluster = Cluster(1)
    for partition in (1, 2):
        cluster.need(partition, 5)
    while cluster.messages:
        cluster.deliver()
    assert (cluster.left(1), cluster.left(2)) == (1, 0)
    assert not cluster.budgets.is_short(2, 0, 5), "there is nothing to wait for"
    assert cluster.budgets.is_short(1, 1, 0), "what nobody needs is given back before all is over"
    cluster.need(1, 0)
    while cluster.messages:
        cluster.deliver()
    assert (cluster.left(1), cluster.left(2)) == (0, 1)


@given(
    st.integers(0, 60),
    st.lists(
        st.tuples(st.integers(0, PARTITIONS - 1), st.sampled_from(["need", "idle", "use", "deliver"])), max_size=80
    ),
)
def test_all_together_fetch_no_more(pages: int, steps: list[tuple[int, str]]) -> None:
    cluster = Cluster(pages)
    for partition, step in steps:
        if step == "deliver":
            if cluster.messages:
                cluster.deliver()
        elif step == "use":
            cluster.used[partition] += min(cluster.left(partition), 3)
        else:
            cluster.need(partition, 1 if step == "need" else 0)
        assert all(cluster.left(one) >= 0 for one in range(PARTITIONS))
        assert sum(budget.lent for budget in cluster.budgets.all.values()) <= pages
        assert sum(cluster.budgets.all[KEEPER].loans.values()) <= pages


@pytest.mark.parametrize("message", [b"", b"nonsense", b"{}", b'{"back": 1, "pages": "x"}', b'{"lend": null}', b"[]"])
def test_nonsense_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Cluster(10).budgets.accept(KEEPER, PREFIX + message)
    if message != b"":
        with pytest.raises(ValueError, match=r".+"):
            Budget.decode(PREFIX + message)
