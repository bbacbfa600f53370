"""The clock of a crawl goes on in the next process, whatever was done to the wall clock meanwhile."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lycosa import _core
from lycosa.fetch import ScriptedFetch
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages

MIB = 1 << 20
HOUR = 3600.0

#: More than a test takes.
SOON = 60.0


def anchor(directory: Path, **changes: Any) -> None:
    """Change what the process before has left."""
    file = directory / "clock"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def reading(directory: Path) -> dict[str, Any]:
    """What the process before has left."""
    found: dict[str, Any] = json.loads((directory / "clock").read_text())
    return found


def left_behind(directory: Path, ahead: float) -> None:
    """Begin a crawl whose clock is so many seconds ahead of where the wall clock is now: it was set since."""
    _core.Log(directory, MIB)
    then = reading(directory)["now_us"] + int(ahead * 1e6)
    anchor(directory, now_us=then, wall_us=then)


def test_a_crawl_begins_with_the_wall_clocks_time(tmp_path: Path) -> None:
    clock = _core.Log(tmp_path, MIB).clock
    assert clock.now() == pytest.approx(time.time(), abs=1)
    assert clock.wall() == pytest.approx(time.time(), abs=1)
    assert _core.Clock().now() == pytest.approx(clock.now(), abs=1)


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_wall_clock_that_was_set_does_not_move_the_crawls_time(tmp_path: Path, ahead: float) -> None:
    left_behind(tmp_path, ahead)
    clock = _core.Log(tmp_path, MIB).clock
    assert clock.now() == pytest.approx(time.time() + ahead, abs=SOON)
    assert clock.wall() == pytest.approx(time.time(), abs=1)
    # And so in the process after: what it reads is what this one has left.
    left = reading(tmp_path)
    assert left["wall_us"] - left["now_us"] == pytest.approx(-ahead * 1e6, abs=1e6)


@pytest.mark.parametrize(("ahead", "passed"), [(0.0, 0.0), (-HOUR, HOUR), (HOUR, 0.0)])
def test_after_another_start_of_the_machine_the_wall_clock_tells_the_time_between(
    tmp_path: Path, ahead: float, passed: float
) -> None:
    _core.Log(tmp_path, MIB)
    then = reading(tmp_path)["now_us"] + int(ahead * 1e6)
    anchor(tmp_path, boot_id="another start", boottime_us=5, now_us=then, wall_us=then)
    assert _core.Log(tmp_path, MIB).clock.now() == pytest.approx(then / 1e6 + passed, abs=SOON)


@pytest.mark.parametrize("text", ["", "{", '{"boot_id": 7}', "\x00" * 100])
def test_a_file_that_is_damaged_is_as_none(tmp_path: Path, text: str) -> None:
    _core.Log(tmp_path, MIB)
    (tmp_path / "clock").write_text(text)
    assert _core.Log(tmp_path, MIB).clock.now() == pytest.approx(time.time(), abs=SOON)
    assert reading(tmp_path)["now_us"] > 0


def test_what_is_recorded_has_the_wall_clocks_time_also_what_the_frontier_settles_itself(tmp_path: Path) -> None:
    left_behind(tmp_path, -HOUR)
    log = _core.Log(tmp_path, MIB, commit_interval=0)
    # An address that is refused may be the resolver's fault: without patience it is settled at once.
    job = make_job({"seeds": ["http://127.0.0.1/"], "frontier": {"patience": 0}})
    stages = Stages(
        frontier=_core.Frontier(job, _core.Names(job, log.clock)),
        fetch=ScriptedFetch(lambda url: "timeout"),
        parse=_core.Parser(job),
        log=log,
    )
    stages.frontier.add(["http://127.0.0.1/"])
    (pages,) = run(stages, Control())
    page = pages[0]
    assert page.error == "address-refused"
    assert page.fetched_at == pytest.approx(time.time(), abs=SOON)
    log.sync()
    row = json.loads(_core.LogReader(tmp_path, 0).read(9, MIB).lines(["fetched_at"]))
    recorded = datetime.fromisoformat(row["fetched_at"].replace("Z", "+00:00")).timestamp()
    assert recorded == pytest.approx(time.time(), abs=SOON)
