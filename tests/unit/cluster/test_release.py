"""What outputs may read of a partition."""

from __future__ import annotations

from lycosa.cluster.release import Release, Released

DISTANCE = 15.0


def test_outputs_stay_behind_pages() -> None:
    release = Release(DISTANCE, Released(), 0, 0)
    release.look(0.0, None)
    release.committed(10, 5, takes_back=False, now=1.0)
    for now in range(2, 17):
        release.look(now, None)
        assert release.now.pages == 0
    assert release.look(17.0, None)
    assert release.now == Released(10, 5, 0)


def test_what_nothing_has_confirmed_waits_longer() -> None:
    release = Release(DISTANCE, Released(), 0, 0)
    release.committed(10, 5, takes_back=False, now=1.0)
    for now in range(2, 60):
        assert not release.look(now, doubted_since=0.9) or release.now.pages == 0
    for now in range(60, 63):
        release.look(now, doubted_since=0.9)
    assert release.now.pages == 5


def test_a_new_owner_releases_what_it_has_found_once_it_has_taken_back() -> None:
    release = Release(DISTANCE, Released(4, 3, 0), 10, 8)
    assert release.now == Released(4, 3, 8), "what the earlier owner has taken back is in the pages that it left"
    release.committed(11, 9, takes_back=True, now=1.0)
    assert release.look(2.0, None)
    assert release.now == Released(10, 8, 9)


def test_all_is_released_when_a_partition_is_given_back() -> None:
    release = Release(DISTANCE, Released(), 0, 0)
    release.committed(10, 5, takes_back=False, now=1.0)
    release.end()
    assert release.now == Released(10, 5, 0)


def test_what_is_told_can_be_read_again() -> None:
    assert Released.decode(Released(3, 2, 1).encode()) == Released(3, 2, 1)
    for nothing in (None, "", "x", "1 2", "1 2 3 4"):
        assert Released.decode(nothing) == Released()
