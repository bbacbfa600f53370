"""Indexes of archives: they are sorted, however long they are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lycosa.store.warc import sort_lines


@pytest.mark.parametrize("most", [1, 5_000, 1 << 20])
def test_lines_are_sorted_in_parts(tmp_path: Path, most: int) -> None:
    """As many at once as may be in memory."""
    made = random.Random(most)  # noqa: S311
    lines = [f"{made.randrange(10**9)} é\n".encode() for _ in range(300)]
    source, into = tmp_path / "lines", tmp_path / "index"
    source.write_bytes(b"".join(lines))
    into.write_bytes(b"of an earlier session\n")
    sort_lines(source, into, most)
    assert into.read_bytes() == b"".join(sorted(lines))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "lines"]


def test_an_index_without_lines_is_empty(tmp_path: Path) -> None:
    (tmp_path / "lines").touch()
    sort_lines(tmp_path / "lines", tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == b""
