"""The job directory: what it is told apart by, and what is removed from it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from lycosa import _core
from lycosa.errors import JobDamaged, JobInUse, JobVersionError
from lycosa.store.directory import Counts, JobDirectory, LastRun, Record
from lycosa.store.restart import with_gap

#: Holds a log's lock until its standard input ends.
HOLDER = (
    "import sys; from lycosa import _core; log = _core.Log(sys.argv[1], 1 << 20); print(flush=True); sys.stdin.read()"
)


def made(path: Path) -> JobDirectory:
    """A directory with a log and a record."""
    directory = JobDirectory(path)
    log = _core.Log(directory.log, 1 << 20)
    log.append_seeds(["http://example.com/"])
    directory.write(Record.make({"seeds": ["http://example.com/"]}, ("pages.jsonl",)))
    return directory


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    directory = JobDirectory(tmp_path)
    assert directory.read() is None
    assert not directory.exists()
    last = LastRun("2026-01-01T00:00:00Z", idle=False, waiting=3)
    record = Record("id", "2026-01-01T00:00:00Z", _core.__version__, {"scope": "any"}, ("a/",), True, last)
    record = replace(record, public_suffix_list={"version": "1", "date": "2020-01-01", "digest": "0"})
    record = replace(record, gaps={"a/": [[0, 100], [300, 400]]})
    record = replace(
        record, counts=Counts(90, 3, 1, {"200": 3, "301": 1}, {"read-timeout": 2}), confirmed=80, streams=True
    )
    directory.write(record)
    assert directory.read() == record
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


def test_another_version_is_told_from_damage(tmp_path: Path) -> None:
    directory = made(tmp_path)
    file = tmp_path / "job.json"
    whole = file.read_text()
    file.write_text(json.dumps({**json.loads(whole), "version": 2}))
    with pytest.raises(JobVersionError, match=r"version 2.*opens version 1.*lycosa job export"):
        directory.read()
    for damaged in (whole[: len(whole) // 2], "", "[]", json.dumps({"version": 1}), "\x00"):
        file.write_text(damaged)
        with pytest.raises(JobDamaged, match=r"job\.json: damaged.*remove this file"):
            directory.read()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(JobDamaged):
        directory.read()


def test_who_is_crawling_is_told(tmp_path: Path) -> None:
    directory = made(tmp_path)
    assert directory.writer() is None
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory.log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert directory.writer() == holder.pid
        with pytest.raises(JobInUse, match=f"process {holder.pid}"):
            directory.clear()
        assert directory.has_records(), "nothing was removed"
        holder.communicate()
    assert directory.writer() is None


def test_clearing_removes_what_the_layout_names_and_nothing_else(tmp_path: Path) -> None:
    directory = made(tmp_path)
    users = [tmp_path / "notes.txt", tmp_path / "log" / "mine.log", tmp_path / "pages.jsonl", tmp_path / "data" / "x"]
    layouts = [tmp_path / folder / "x" for folder in ("snapshots", "queues", "seen", "sinks")]
    layouts.append(tmp_path / "log" / "torn-00000000000000000016")
    for path in users + layouts:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    directory.clear()
    assert all(path.exists() for path in users)
    assert not any(path.exists() for path in layouts)
    assert not directory.exists()


def test_clearing_spares_folders_that_are_no_jobs(tmp_path: Path) -> None:
    users = [tmp_path / "seen" / "birds.txt", tmp_path / "log" / "today.txt", tmp_path / "job.json"]
    for path in users:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    JobDirectory(tmp_path).clear()
    assert all(path.exists() for path in users)


def test_an_output_is_named_so_that_the_directory_can_be_moved(tmp_path: Path) -> None:
    directory = JobDirectory(tmp_path / "job")
    inside, outside = str(tmp_path / "job" / "pages" / "x.jsonl"), str(tmp_path / "x.parquet")
    assert directory.named(inside) == "pages/x.jsonl"
    assert directory.named(f"{tmp_path}/job/parts/") == "parts/"
    assert directory.named(outside) == outside
    for output in (inside, outside, f"{tmp_path}/job/parts/", f"{tmp_path}/job/pages-10:30.jsonl"):
        assert directory.output(directory.named(output)) == output


def test_the_log_is_needed_until_all_outputs_and_two_snapshots_have_passed(tmp_path: Path) -> None:
    directory = made(tmp_path)
    directory.snapshots.mkdir()
    assert directory.passed([900]) == 0
    for position in (300, 500):
        (directory.snapshots / f"{position:020}.snapshot").touch()
    (directory.snapshots / "other.txt").touch()
    assert directory.passed([]) == directory.passed([900]) == 300
    assert directory.passed([900, 200]) == 200


def test_a_gap_of_an_output_is_kept_once_and_goes_when_the_output_begins_anew() -> None:
    assert with_gap([], (0, 100)) == [[0, 100]]
    assert with_gap([[0, 100]], (300, 400)) == [[0, 100], [300, 400]]
    # Nothing was committed since: the log has lost more.
    assert with_gap([[0, 100], [300, 400]], (300, 500)) == [[0, 100], [300, 500]]
    assert with_gap([[0, 100], [300, 400]], (0, 500)) == [[0, 500]]
