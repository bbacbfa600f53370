"""The audit log: it disturbs nobody when it cannot be written."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest
from lycosa.dispatch import audit


def test_a_file_that_is_moved_away_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with audit.writing(path):
        audit.note("granted", serial=1)
        path.rename(tmp_path / "audit.old")
        audit.note("granted", serial=2)
    assert [json.loads(line)["serial"] for line in path.read_text().splitlines()] == [2]


def test_a_file_that_cannot_be_written_is_told_once_and_raises_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    with audit.writing(folder / "audit.jsonl"), caplog.at_level(logging.ERROR, "lycosa"):
        shutil.rmtree(folder)
        for serial in range(3):
            audit.note("granted", serial=serial)
            audit.note_refused("master", "POST /v1/grants", "127.0.0.1", "bad-token")
        assert len([record for record in caplog.records if "lines are lost" in record.message]) == 1
        folder.mkdir()
        audit.note("granted", serial=7)
    assert json.loads((folder / "audit.jsonl").read_text())["serial"] == 7
