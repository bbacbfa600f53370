"""Sinks commit output and position together: whatever happens, each record is in each output once."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lycosa.errors import SettingError, StorageError
from lycosa.sink import Sink, SinkJob
from lycosa.store import parts
from lycosa.store.appended import CHECKPOINTS
from lycosa.store.directory import JobDirectory
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.parquet import ParquetSink

if TYPE_CHECKING:
    from .conftest import Recorded

FIELDS = ["url", "status"]
KINDS = [(JsonLinesSink, "pages.jsonl"), (ParquetSink, "pages.parquet"), (ParquetSink, "pages/")]


#: Sinks of before a crash. They stay as they were then: what they have in memory must not reach the disk.
DEAD: list[Any] = []


@pytest.fixture(autouse=True)
def burial() -> Iterator[None]:
    """Close what crashed sinks had open, once their outputs were looked at."""
    yield
    for sink in DEAD:
        if isinstance(sink, JsonLinesSink):
            sink._drop()
        elif sink._writer is not None:
            sink._writer.abandon()
    DEAD.clear()


class Driver:
    """Feeds a sink from a log step by step, as a follower does, and can crash between any two."""

    def __init__(self, kind: Any, output: str, recorded: Recorded, fields: list[str] | None = None) -> None:
        self.kind, self.output, self.recorded = kind, str(recorded.directory.path / output), recorded
        self.output += "/" if output.endswith("/") else ""
        self.fields = fields or FIELDS
        self.open(recorded.log.committed())

    def open(self, end: int) -> None:
        """Start as after a crash: nothing of before is in memory."""
        self.sink = sink_of(self.kind, self.output, self.recorded.directory, self.fields)
        DEAD.append(self.sink)
        position = self.sink.open(self.recorded.log.first(), end)
        self.reader = self.recorded.log.follow(position or None)

    def step(self, records: int) -> bool:
        """Take some records; tell whether there were any."""
        before = self.reader.position()
        self.sink.write(self.reader.read(records, 1 << 20), self.reader.position())
        return self.reader.position() > before

    def commit(self) -> None:
        """Commit what was taken."""
        self.sink.commit(self.reader.position())

    def finish(self) -> list[str]:
        """Follow to the log's end, complete the output, give its URLs."""
        while self.reader.position() < self.recorded.log.committed():
            self.step(7)
        self.commit()
        self.sink.close()
        return urls(self.output)


def sink_of(
    kind: Callable[[str], Sink], output: str, directory: JobDirectory, fields: list[str], job: str = "id"
) -> Sink:
    """A sink that knows its job."""
    sink = kind(output)
    sink.attach(SinkJob(job, directory.sinks, directory.named(output), tuple(fields)))
    return sink


def urls(output: str) -> list[str]:
    """The URLs in an output, in its order."""
    path = Path(output)
    if path.suffix == ".jsonl":
        return [json.loads(line)["url"] for line in path.read_text().splitlines()]
    if not path.exists():
        path = path.with_name(f"{path.name}.parts")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return [row["url"] for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]


@pytest.mark.parametrize(("kind", "output"), KINDS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("step"), st.integers(1, 20)),
            st.tuples(st.sampled_from(["commit", "crash", "close"]), st.just(0)),
        ),
        max_size=25,
    )
)
def test_each_record_is_in_the_output_once(
    kind: Any,
    output: str,
    tmp_path_factory: pytest.TempPathFactory,
    record: Callable[[Path, int], Recorded],
    steps: list[tuple[str, int]],
) -> None:
    recorded = record(tmp_path_factory.mktemp("job"), 40)
    driver = Driver(kind, output, recorded)
    committed = 0
    for what, rows in steps:
        if what == "step":
            driver.step(rows)
        elif what == "commit":
            driver.commit()
            committed = driver.sink.committed() or 0
        else:
            if what == "close":
                driver.commit()
                driver.sink.close()
            driver.open(recorded.log.committed())
            assert (driver.sink.committed() or 0) >= committed, "what was committed stays"
    assert driver.finish() == recorded.urls
    assert not list(recorded.directory.path.rglob("*.part"))
    assert not list(recorded.directory.path.rglob("*.new"))


@pytest.mark.parametrize(("kind", "output"), KINDS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_an_output_goes_back_with_the_logs_end(kind: Any, output: str, share: float, recorded: Recorded) -> None:
    """The log's end was damaged and set aside: the output must not keep what will be fetched again."""
    driver = Driver(kind, output, recorded)
    while driver.step(5):
        driver.commit()
    end = recorded.positions[int(share * (len(recorded.positions) - 1))]
    driver.open(end)
    kept = urls(driver.output)
    assert (driver.sink.committed() or 0) <= end
    assert kept == recorded.urls[: len(kept)]
    assert driver.finish() == recorded.urls


@pytest.mark.parametrize(("kind", "output"), KINDS)
def test_a_missing_output_is_written_again(
    kind: Any, output: str, recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(kind, output, recorded)
    driver.finish()
    sink_of(driver.kind, driver.output, recorded.directory, FIELDS).remove()
    driver.open(recorded.log.committed())
    assert driver.finish() == recorded.urls


def test_a_shorter_output_is_written_again_and_that_is_said(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(JsonLinesSink, "pages.jsonl", recorded)
    driver.finish()
    output = Path(driver.output)
    for change in (output.unlink, lambda: output.write_bytes(output.read_bytes()[:100])):
        change()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            driver.open(recorded.log.committed())
        assert "missing, or shorter than it was: written again" in caplog.text
        assert driver.finish() == recorded.urls


@pytest.mark.parametrize(("kind", "output"), KINDS)
def test_other_columns_make_the_output_again_while_the_log_has_everything(
    kind: Any, output: str, recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    Driver(kind, output, recorded).finish()
    with caplog.at_level(logging.WARNING):
        driver = Driver(kind, output, recorded, ["url", "title"])
    assert "its columns change: written again" in caplog.text
    assert driver.finish() == recorded.urls
    sink = sink_of(kind, driver.output, recorded.directory, FIELDS)
    with pytest.raises(SettingError, match="another output"):
        sink.open(1 << 20, recorded.log.committed())


def test_checkpoints_stay_few_and_reach_far_back(tmp_path: Path, record: Callable[[Path, int], Recorded]) -> None:
    recorded = record(tmp_path, 300)
    driver = Driver(JsonLinesSink, "pages.jsonl", recorded)
    while driver.step(1):
        driver.commit()
    (sidecar,) = recorded.directory.sinks.iterdir()
    positions = [position for position, _ in json.loads(sidecar.read_text())["checkpoints"]]
    assert len(positions) <= CHECKPOINTS
    assert positions == sorted(positions)
    assert positions[0] == 0
    assert positions[-1] == driver.reader.position()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"job": "id"}', b'{"job": "other", "fields": [], "checkpoints": []}']
)
def test_a_position_that_cannot_be_read_makes_the_output_again(content: bytes, recorded: Recorded) -> None:
    Driver(JsonLinesSink, "pages.jsonl", recorded).finish()
    (sidecar,) = recorded.directory.sinks.iterdir()
    sidecar.write_bytes(content)
    assert Driver(JsonLinesSink, "pages.jsonl", recorded).finish() == recorded.urls


def test_outputs_of_one_name_in_two_places_have_a_position_each(recorded: Recorded, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (recorded.directory.path / folder).mkdir()
        assert Driver(JsonLinesSink, f"{folder}/pages.jsonl", recorded).finish() == recorded.urls
    assert len(list(recorded.directory.sinks.iterdir())) == 2


def test_parquet_of_others_is_not_touched(recorded: Recorded) -> None:
    table = pyarrow.table({"x": [1]})
    path = recorded.directory.path / "pages.parquet"
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(StorageError, match="not written by this crawl"):
        Driver(ParquetSink, "pages.parquet", recorded)
    assert pyarrow.parquet.read_table(path).equals(table)
    path.write_bytes(b"no parquet")
    with pytest.raises(StorageError, match="cannot be read as Parquet"):
        Driver(ParquetSink, "pages.parquet", recorded)
    assert path.read_bytes() == b"no parquet"


def test_small_row_groups_become_large_ones_when_parts_are_put_together(recorded: Recorded) -> None:
    driver = Driver(ParquetSink, "pages.parquet", recorded)
    while driver.step(3):
        driver.commit()
    assert len(parts.parts_in(Path(f"{driver.output}.parts"))) > 10
    assert driver.finish() == recorded.urls
    assert pyarrow.parquet.read_metadata(driver.output).num_row_groups == 1
    assert not Path(f"{driver.output}.parts").exists()


def test_a_crash_between_putting_together_and_tidying_up_repeats_nothing(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(ParquetSink, "pages.parquet", recorded)
    while driver.step(9):
        driver.commit()
    with monkeypatch.context() as patch:
        patch.setattr(ParquetSink, "_remove_parts", lambda _: None)
        driver.finish()
    assert Path(f"{driver.output}.parts").exists()
    driver.open(recorded.log.committed())
    assert driver.finish() == recorded.urls


@pytest.mark.parametrize(("kind", "output"), KINDS)
def test_a_sync_that_finds_no_space_commits_nothing(
    kind: Any, output: str, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(kind, output, recorded)
    driver.step(10)
    driver.commit()
    before = driver.sink.committed()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    driver.step(10)
    with monkeypatch.context() as patch:
        for name in ("fsync", "fdatasync"):
            patch.setattr(f"os.{name}", full)
        with pytest.raises(OSError, match="No space left"):
            driver.commit()
    assert driver.sink.committed() == before
    driver.sink.open(recorded.log.first(), recorded.log.committed())
    driver.open(recorded.log.committed())
    assert driver.finish() == recorded.urls


def test_the_directory_of_another_job_with_the_same_output_starts_anew(recorded: Recorded, tmp_path: Path) -> None:
    Driver(JsonLinesSink, "pages.jsonl", recorded).finish()
    output = str(recorded.directory.path / "pages.jsonl")
    sink = sink_of(JsonLinesSink, output, JobDirectory(recorded.directory.path), FIELDS, "x")
    assert sink.committed() is None
