"""Who may start requests of a partition, and until when."""

from __future__ import annotations

from lycosa.cluster.ownership import DRIFT, Ownership, State


def test_requests_may_be_started_for_a_while_after_the_last_commit_began() -> None:
    ownership = Ownership(fence=3.0)
    assert ownership.fence() == float("-inf"), "nothing before the first commit"
    ownership.committed(10.0)
    assert ownership.fence() == 13.0
    ownership.committed(9.0)
    assert ownership.fence() == 13.0, "a commit that began earlier takes nothing away"


def test_a_new_owner_waits_as_long_as_the_earlier_one_may_go_on() -> None:
    ownership = Ownership(fence=3.0)
    ownership.assign(7)
    assert ownership.state(7) is State.LOADING
    ownership.loaded(7, final=100.0, is_given_back=False)
    assert ownership.due(102.9) == []
    assert ownership.due(100.0 + 3.0 * (1 + DRIFT)) == [7]
    assert ownership.owned() == []
    ownership.own(7)
    assert ownership.owned() == ownership.working() == [7]


def test_what_was_given_back_needs_no_wait() -> None:
    ownership = Ownership(fence=3.0)
    ownership.assign(7)
    ownership.loaded(7, final=100.0, is_given_back=True)
    assert ownership.due(100.0) == [7]


def test_nothing_is_started_of_a_partition_that_leaves() -> None:
    ownership = Ownership(fence=3.0)
    for partition in (1, 2):
        ownership.assign(partition)
        ownership.loaded(partition, final=0.0, is_given_back=True)
        ownership.own(partition)
    ownership.assign(3)
    assert ownership.leave([2, 3]) == [2], "what is being loaded has nothing in flight"
    assert (ownership.owned(), ownership.working()) == ([1], [1, 2])
    ownership.drop([2, 3])
    assert ownership.assigned() == [1]
