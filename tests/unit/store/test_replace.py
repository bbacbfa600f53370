"""Files that are replaced: what is synced is all of the new content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lycosa.store import replace


@pytest.mark.parametrize("content", [b"short", [b"a\n", b"bc\n"]])
def test_content_is_synced_before_it_replaces_the_old_one(
    content: bytes | list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(replace, "sync_file", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    replace.replace_file(tmp_path / "file", content)
    assert (tmp_path / "file").stat().st_size == 5
    assert synced == [5]
