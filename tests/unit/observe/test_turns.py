"""Which stage a lane is in, and what stages cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from lycosa.observe.cpu import TICK, cpu_by_stage
from lycosa.observe.turns import Turns


def turns_of(clock: list[float], spent: list[float]) -> Turns:
    """Turns whose clocks show these times."""
    return Turns(iter(clock).__next__, iter(spent).__next__)


def test_cpu_time_is_that_of_the_stage_that_ended() -> None:
    turn = turns_of([0, 1, 4, 9], [0.5, 2.0, 2.25])
    turn("frontier")
    assert (turn.stage, turn.since, turn.cpu_seconds) == ("frontier", 1, {})
    turn("fetch")
    turn("frontier")
    assert turn.cpu_seconds == {"frontier": 1.5, "fetch": 0.25}
    assert turn.last == {"frontier": (1, 4), "fetch": (4, 9)}


def test_threads_of_the_core_count_for_their_stages(tmp_path: Path) -> None:
    def thread(number: int, name: str, user: int, system: int) -> None:
        (tmp_path / str(number)).mkdir()
        fields = ["S", *["0"] * 10, str(user), str(system), *["0"] * 30]
        (tmp_path / str(number) / "stat").write_text(f"{number} ({name}) {' '.join(fields)}\n")

    thread(1, "python (of mine) x", 900, 0)
    thread(2, "lycosa-fetch", 30, 12)
    thread(3, "lycosa-names", 7, 0)
    (tmp_path / "4").mkdir()  # has ended
    lane, output = turns_of([0, 1, 2], [0, 1.5]), turns_of([0, 1, 2], [0, 0.75])
    for turns in (lane, output):
        turns("fetch")
        turns("parse")
    found = cpu_by_stage([lane], [output], threads=tmp_path)
    assert found["fetch"] == pytest.approx(42 * TICK + 1.5)
    assert found["names"] == pytest.approx(7 * TICK)
    assert found["outputs"] == 0.75
    assert found["other"] >= 0
