"""Outputs whose rows are large: what they hold in memory."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import lycosa
import pyarrow
import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.parts import PartWriter

MIB = 1 << 20


def resident(what: str) -> int:
    """Bytes of this process in memory: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def test_a_large_row_costs_a_parquet_output_not_much_more_than_itself(tmp_path: Path) -> None:
    schema = pyarrow.schema([("url", pyarrow.string()), ("body", pyarrow.binary()), ("text", pyarrow.string())])
    body = b"page " * (4 * MIB)
    columns = [pyarrow.array(["http://a.example/"]), pyarrow.array([body]), pyarrow.array([body.decode()])]
    row = pyarrow.record_batch(columns, schema=schema)
    Path("/proc/self/clear_refs").write_text("5")  # the most from now on
    before = resident("VmRSS")
    writer = PartWriter(tmp_path / "0.part", schema)
    writer.write([row], 1)
    part = writer.finish("job", 0, 1)
    most = resident("VmHWM") - before
    assert most < 3 * row.nbytes, "a column is copied into a page, and compressed"
    assert resident("VmRSS") - before < row.nbytes / 2, "and Arrow keeps nothing of it"
    assert pyarrow.parquet.read_table(part.path).to_pylist()[0]["body"] == body
    group = pyarrow.parquet.read_metadata(part.path).row_group(0)
    assert group.column(0).statistics.min == "http://a.example/", "readers skip row groups by it"


def test_outputs_have_rows_in_memory_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, inside, met = JsonLinesSink.write, threading.Semaphore(1), threading.Event()
    writes = 0

    def slow(self: JsonLinesSink, rows: Any, position: int) -> int:
        nonlocal writes
        if not inside.acquire(blocking=False):
            met.set()
            return write(self, rows, position)
        writes += 1
        met.wait(0.02)  # as long as a large row takes: time for the other one to come in
        try:
            return write(self, rows, position)
        finally:
            inside.release()

    monkeypatch.setattr(JsonLinesSink, "write", slow)
    outputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with SimulatedInternet(hosts=5, pages=5, seed=5, speed=200) as net:
        list(lycosa.crawl(job=net.job_file(), output=outputs))
    first, second = ([json.loads(line)["url"] for line in output.read_text().splitlines()] for output in outputs)
    assert first == second
    assert len(first) > 10
    assert writes > 2
    assert not met.is_set()
