"""Directories that are outputs of a cluster."""

from __future__ import annotations

import os
from pathlib import Path

from lycosa.cluster.output_files import GIVEN_UP, INCOMPLETE, OutputDirectory


def old(path: Path) -> Path:
    """A file or folder that was given up long ago."""
    at = path.stat().st_mtime - GIVEN_UP - 10
    os.utime(path, (at, at))
    return path


def test_what_is_committed_is_published_and_what_was_given_up_long_ago_is_removed(tmp_path: Path) -> None:
    output = OutputDirectory(f"{tmp_path}/pages/")
    output.prepare()
    folder = tmp_path / "pages" / INCOMPLETE
    for name in ("committed.parquet", "given-up.parquet", "being-written.parquet"):
        (folder / name).write_text("")
    (folder / "given-up.parquet.parts").mkdir()
    (folder / "given-up.parquet.parts" / "1").write_text("")
    for name in ("committed.parquet", "given-up.parquet", "given-up.parquet.parts"):
        old(folder / name)
    assert output.publish("committed.parquet")
    assert output.publish("committed.parquet"), "another owner has moved it"
    assert not output.publish("unknown.parquet")
    assert not output.publish("../pages/committed.parquet"), "no name of a file"
    output.clean()
    found = sorted(str(file.relative_to(tmp_path / "pages")) for file in (tmp_path / "pages").rglob("*"))
    assert found == [INCOMPLETE, f"{INCOMPLETE}/being-written.parquet", "committed.parquet"]
