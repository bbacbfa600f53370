"""Snapshots in a directory that workers share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lycosa.cluster.storage import KEPT, SharedSnapshots


def snapshot(folder: Path, text: str) -> Path:
    """A frontier's directory on this machine."""
    (folder / "queues").mkdir(parents=True, exist_ok=True)
    (folder / "snapshots").mkdir(exist_ok=True)
    (folder / "queues" / "1").write_text("does not change")
    (folder / "snapshots" / text).write_text(text)
    return folder


def test_another_worker_finds_the_newest(tmp_path: Path) -> None:
    storage = SharedSnapshots(tmp_path / "shared")
    assert storage.positions(3) == []
    for position in (10, 20, 30):
        storage.store(3, position, snapshot(tmp_path / "own", str(position)))
    assert storage.positions(3) == [20, 30], f"{KEPT} are kept"
    storage.fetch(3, 30, tmp_path / "other")
    assert (tmp_path / "other" / "snapshots" / "30").read_text() == "30"
    assert (tmp_path / "other" / "queues" / "1").read_text() == "does not change"


def test_what_has_not_changed_is_linked(tmp_path: Path) -> None:
    storage = SharedSnapshots(tmp_path / "shared")
    own = snapshot(tmp_path / "own", "10")
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
        storage.store(0, 10, snapshot(tmp_path / "own", "10"))
    assert list((tmp_path / "shared" / "0").iterdir()) == []
