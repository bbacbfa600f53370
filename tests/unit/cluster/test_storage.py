"""Snapshots in a directory that workers share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lycosa.cluster.storage import KEPT, SNAPSHOT, SharedSnapshots, claim, remove_old_bodies
from lycosa.errors import SettingError


def snapshot(folder: Path, *positions: int) -> Path:
    """A frontier's directory on this machine."""
    (folder / "queues").mkdir(parents=True, exist_ok=True)
    (folder / "snapshots").mkdir(exist_ok=True)
    (folder / "queues" / "1").write_text("does not change")
    for position in positions:
        (folder / SNAPSHOT.format(position)).write_text(str(position))
    return folder


def test_another_worker_finds_the_newest(tmp_path: Path) -> None:
    storage = SharedSnapshots(tmp_path / "shared")
    assert storage.positions(3) == []
    for position in (10, 20, 30):
        storage.store(3, position, snapshot(tmp_path / "own", position))
    assert storage.positions(3) == [20, 30], f"{KEPT} are kept"
    storage.fetch(3, 30, tmp_path / "other")
    assert (tmp_path / "other" / SNAPSHOT.format(30)).read_text() == "30"
    assert (tmp_path / "other" / "queues" / "1").read_text() == "does not change"


def test_what_has_not_changed_is_linked(tmp_path: Path) -> None:
    storage = SharedSnapshots(tmp_path / "shared")
    own = snapshot(tmp_path / "own", 10, 20)
    for position in (10, 20):
        storage.store(0, position, own)
    files = [tmp_path / "shared" / "0" / position / "queues" / "1" for position in ("10", "20")]
    assert os.path.samefile(*files)


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = SharedSnapshots(tmp_path / "shared")

    def fail(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("shutil.copy2", fail)
    with pytest.raises(OSError, match="no space"):
        storage.store(0, 10, snapshot(tmp_path / "own", 10))
    assert list((tmp_path / "shared" / "0").iterdir()) == []


def test_what_is_gone_before_it_is_copied_is_no_snapshot(tmp_path: Path) -> None:
    storage = SharedSnapshots(tmp_path / "shared")
    storage.store(0, 10, snapshot(tmp_path / "own", 10))
    with pytest.raises(FileNotFoundError, match="snapshot 20 of partition 0 is gone"):
        storage.store(0, 20, tmp_path / "own")
    assert storage.positions(0) == [10]
    assert storage.passed(0) == 0, "the journal stays"


def test_a_state_directory_is_that_of_one_job(tmp_path: Path) -> None:
    claim(tmp_path, "news", "1")
    claim(tmp_path, "news", "1")
    with pytest.raises(SettingError, match="this one is that of job news: give another"):
        claim(tmp_path, "other", "2")
    with pytest.raises(SettingError, match="this one is that of an earlier job of this name"):
        claim(tmp_path, "news", "2")
    assert [file.name for file in tmp_path.iterdir()] == ["job.json"]
    (tmp_path / "unknown" / "7").mkdir(parents=True)
    with pytest.raises(SettingError, match="an empty directory, or that of this job"):
        claim(tmp_path / "unknown", "news", "1")


def test_bodies_are_removed_by_the_clock_of_their_file_system(tmp_path: Path) -> None:
    for name, age in (("old", 200), ("new", 50)):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "1"
        file.write_text("")
        now = file.stat().st_mtime
        os.utime(file, (now - age, now - age))
        os.utime(tmp_path / name, (now - age, now - age))
    remove_old_bodies(tmp_path, 100)
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")) in (
        ["new", "new/1"],
        ["new", "new/1", "old"],
    )
