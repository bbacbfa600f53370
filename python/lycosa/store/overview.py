"""The state of a job directory, read without changing anything, also while a crawl runs in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lycosa import _core
from lycosa._core import SEGMENT_HEADER_BYTES
from lycosa.errors import JobDamaged
from lycosa.records import Outcomes
from lycosa.sink import Sink
from lycosa.store.directory import VERSION, Counts, JobDirectory, Record
from lycosa.store.restart import is_whole

#: Maximum records, and bytes, per batch.
BATCH, BATCH_BYTES = 10_000, 8 << 20


def overview(
    directory: JobDirectory, outputs: Sequence[Sink], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Return the job's record, whether it runs, its counts, its log, snapshots and outputs.

    outputs: the job's sinks, not opened.
    progress: called from time to time with the bytes read and the bytes in total.

    Raises JobVersionError and JobDamaged if the record cannot be read.
    """
    left, log = _pass(directory, progress)
    # After the log, which takes long to read: the record counts what a running session removed meanwhile.
    record, writer = directory.read(), directory.writer()
    counts = _counts(directory, record.counts if record else None, left, log)
    return {
        "directory": str(directory.path),
        "version": VERSION,
        "id": record.id if record else None,
        "created": record.created if record else None,
        "lycosa": record.lycosa if record else None,
        "public_suffix_list": record.public_suffix_list if record else None,
        "seeds": record.settings.get("seeds", []) if record else [],
        "writer": writer,
        "last_run": record.last_run._asdict() if record and record.last_run else None,
        "counts": counts,
        "log": log,
        "snapshots": directory.snapshot_positions(),
        "outputs": [_output(sink, log["end"], record) for sink in outputs],
        "needed_from": directory.passed(sink.committed() or 0 for sink in outputs),
    }


def _output(sink: Sink, end: int, record: Record | None) -> dict[str, Any]:
    """Return an output's position, and which records it lacks."""
    position = sink.committed()
    gaps = record.gaps.get(sink.job.name, []) if record else []
    lag = end - (position or 0)
    return {"output": sink.url, "position": position, "begun": sink.exists(), "lag": lag, "gaps": gaps}


def _counts(directory: JobDirectory, recorded: Counts | None, left: _Tally, log: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of all sessions; ``complete`` is false if only the remaining records could be counted."""
    if recorded is None or recorded.position < log["first"]:
        return {**left.counts(), "complete": is_whole(log["first"])}
    tally = _Tally(recorded)
    if recorded.position < log["end"]:
        # A session that runs or died: add what came after its last recorded counts.
        for outcomes, _ in _read(directory, recorded.position, {}):
            tally.add(outcomes)
    return {**tally.counts(), "complete": True}


class _Tally:
    """Counts of URLs' last outcomes, added to known counts."""

    def __init__(self, known: Counts | None = None) -> None:
        self.redirects = known.redirects if known else 0
        self.pages = known.pages if known else 0
        self.statuses = Counter(known.statuses if known else {})
        self.failures = Counter(known.failures if known else {})

    def add(self, outcomes: Outcomes) -> None:
        """Count outcomes."""
        for row in map(json.loads, outcomes.lines(["status", "error", "redirect"]).splitlines()):
            if row["status"] is None:
                self.failures[row["error"]] += 1
                continue
            self.statuses[str(row["status"])] += 1
            self.redirects += row["redirect"] is not None
            self.pages += row["redirect"] is None

    def counts(self) -> dict[str, Any]:
        """Return the counts for display."""
        return {
            "pages": self.pages,
            "redirects": self.redirects,
            "statuses": dict(sorted(self.statuses.items())),
            "failures": dict(self.failures.most_common()),
        }


def _pass(directory: JobDirectory, progress: Callable[[int, int], None]) -> tuple[_Tally, dict[str, Any]]:
    """Read the whole log; returns the counts of its records, and its extent."""
    segments = directory.segments()
    sizes = [path.stat().st_size for path in segments]
    log: dict[str, Any] = {
        "segments": len(segments),
        "bytes": sum(sizes),
        "first": int(segments[0].stem) if segments else 0,
        "end": 0,
        "damaged_bytes": 0,
        "torn": [{"file": path.name, "bytes": path.stat().st_size} for path in directory.torn()],
    }
    tally = _Tally()
    if sum(sizes) > SEGMENT_HEADER_BYTES:
        for outcomes, position in _read(directory, None, log):
            tally.add(outcomes)
            progress(position - log["first"], log["bytes"])
            log["end"] = position
    return tally, log


def _read(directory: JobDirectory, position: int | None, log: dict[str, Any]) -> Iterator[tuple[Outcomes, int]]:
    """Yield the log's outcomes from a position on, with the position after them; skips and counts damage."""
    reader = _core.LogReader(directory.log, position, with_body=False)
    before = -1
    while reader.position() != before:
        before = reader.position()
        try:
            outcomes = reader.read(BATCH, BATCH_BYTES)
        except JobDamaged:
            log["damaged_bytes"] = log.get("damaged_bytes", 0) + reader.skip_damage()
            continue
        yield outcomes, reader.position()
