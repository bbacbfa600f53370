"""Outputs take turns; one that hangs does not hold the others."""

from __future__ import annotations

import threading

from lycosa.store.turn import Turn


def test_a_turn_is_had_by_one_alone() -> None:
    turn, inside, most = Turn(), [0], [0]

    def work() -> None:
        for _ in range(200):
            with turn.taken():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_the_next_goes_on_beside_one_that_hangs() -> None:
    turn, hangs, held = Turn(longest=0.05), threading.Event(), threading.Event()

    def hang() -> None:
        with turn.taken():
            held.set()
            hangs.wait(30)

    thread = threading.Thread(target=hang)
    thread.start()
    assert held.wait(30)
    for _ in range(3):
        with turn.taken():
            pass
    hangs.set()
    thread.join()
    with turn.taken():
        pass
