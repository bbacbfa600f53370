"""What is in a job directory, read without changing anything, while a crawl goes on there or not."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.errors import JobDamaged
from lycosa.stages import Sink
from lycosa.store.directory import SEGMENT_HEADER_BYTES, VERSION, JobDirectory, Record

#: Records read at once, and bytes of them.
BATCH, BATCH_BYTES = 10_000, 8 << 20


def overview(
    directory: JobDirectory, outputs: Iterable[tuple[str, Sink]], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Who the job is, what it is doing, what it has recorded, what of its log is needed by whom.

    outputs: the job's, with their sinks.
    progress: told bytes read and bytes there are, now and then.

    Raises JobVersionError and JobDamaged where the record cannot be read.
    """
    record, writer = directory.read(), directory.writer()
    counts, log = _pass(directory, progress)
    return {
        "directory": str(directory.path),
        "version": VERSION,
        "id": record.id if record else None,
        "created": record.created if record else None,
        "lycosa": record.lycosa if record else None,
        "public_suffix_list": record.public_suffix_list if record else None,
        "seeds": record.settings.get("seeds", []) if record else [],
        "writer": writer,
        "last_run": dataclasses.asdict(record.last_run) if record and record.last_run else None,
        "counts": counts,
        "log": log,
        "snapshots": directory.snapshot_positions(),
        "outputs": [_output(output, sink, log["end"], directory, record) for output, sink in outputs],
        "needed_from": directory.passed(sink.committed() or 0 for _, sink in outputs),
    }


def _output(output: str, sink: Sink, end: int, directory: JobDirectory, record: Record | None) -> dict[str, Any]:
    """How far an output is, and which records it lacks."""
    position, path = sink.committed(), Path(output)
    # Parts of a Parquet file are beside it until it is complete.
    begun = path.exists() or path.with_name(f"{path.name}.parts").exists()
    gaps = record.gaps.get(directory.named(output), []) if record else []
    return {"output": output, "position": position, "begun": begun, "lag": end - (position or 0), "gaps": gaps}


def _pass(directory: JobDirectory, progress: Callable[[int, int], None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the whole log: each URL's last outcomes in numbers, and the log's extent."""
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
    statuses: Counter[int] = Counter()
    failures: Counter[str] = Counter()
    redirects = 0
    if sum(sizes) > SEGMENT_HEADER_BYTES:
        reader = _core.LogReader(directory.log, ["status", "error", "redirect"])
        while True:
            before = reader.position()
            try:
                rows = reader.read(BATCH, BATCH_BYTES)
            except JobDamaged:
                log["damaged_bytes"] += reader.skip_damage()
                if reader.position() == before:
                    break
                continue
            for row in map(json.loads, rows.lines().splitlines()):
                if row["status"] is None:
                    failures[row["error"]] += 1
                else:
                    statuses[row["status"]] += 1
                    redirects += row["redirect"] is not None
            progress(reader.position() - log["first"], log["bytes"])
            if reader.position() == before:
                break
        log["end"] = reader.position()
    counts = {
        "pages": statuses.total() - redirects,
        "redirects": redirects,
        "statuses": {str(status): n for status, n in sorted(statuses.items())},
        "failures": dict(failures.most_common()),
    }
    return counts, log
