"""What a member commits together, and how partitions stand by it."""

from __future__ import annotations

import pytest
from lycosa.cluster.broker import DeadLetter
from lycosa.cluster.journal import Journal
from lycosa.cluster.status import Status, is_over


def journal() -> Journal:
    """One of a member that owns partitions 1 and 2."""
    journal = Journal()
    journal.positions.update({1: 10, 2: 20})
    return journal


def test_leases_come_behind_what_was_recorded_before_them() -> None:
    own = journal()
    own.lease(1, b"lease")
    own.record(1, b"outcome")
    assert own.transaction().journal == {1: [b"outcome", b"lease"]}


def test_a_transaction_has_the_positions_of_all_partitions_that_it_is_about() -> None:
    own = journal()
    own.record(1, b"outcome")
    own.link(1, [(2, b"to 2"), (9, b"to 9")])
    own.read(2, 25)
    transaction = own.transaction()
    assert transaction.links == {2: [b"to 2"], 9: [b"to 9"]}
    assert transaction.read == {1: 10, 2: 25}


def test_a_transaction_of_nothing_asks_whether_its_writer_is_a_member() -> None:
    own = journal()
    assert not own
    assert own.transaction().read == {1: 10}
    assert not Journal().transaction(), "who owns nothing commits nothing"


def test_nothing_of_a_dropped_partition_is_committed() -> None:
    own = journal()
    own.record(1, b"outcome")
    own.lease(1, b"lease")
    own.link(1, [(2, b"to 2")])
    own.read(1, 11)
    own.drop(1)
    assert not own
    assert own.transaction().read == {2: 20}


def test_what_cannot_be_read_is_committed_with_the_position_behind_it() -> None:
    own = journal()
    letter = DeadLetter("links", 2, 26, b"nonsense", "no record")
    own.give_up(letter)
    own.read(2, 26)
    transaction = own.transaction()
    assert (transaction.dead_letters, transaction.read) == ([letter], {2: 26})
    own.drop(2)
    assert not own


def test_withdrawn_leases_are_not_committed() -> None:
    own = journal()
    own.lease(1, b"lease")
    own.withdraw_leases(1)
    assert not own


def test_a_job_is_over_when_all_are_idle_and_have_read_all() -> None:
    idle, busy = Status(True, 10), Status(False, 10)
    assert is_over({0: idle, 1: idle}, {0: 10, 1: 9})
    assert not is_over({0: idle, 1: busy}, {0: 10, 1: 10})
    assert not is_over({0: idle, 1: idle}, {0: 10, 1: 11}), "links are on their way"
    assert not is_over({0: idle}, {0: 10, 1: 0}), "nobody has told of one"


def test_a_status_is_read_again() -> None:
    status = Status(True, 7, {"waiting": 3})
    assert Status.decode(status.encode()) == status
    for damaged in (b"", b"{}", b"[1]"):
        with pytest.raises(ValueError, match=r"."):
            Status.decode(damaged)
