"""Sinks: what takes a crawl's outcomes. An output is a URL; a sink of your own is a subclass.

The log is the truth and a sink follows it, on a thread of its own: after a crash it is given again what it had not
committed. So a sink commits its output and the position in the log together, or writes so that twice is as good as
once.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from lycosa.records import Outcomes
from lycosa.store.replace import replace_file

#: How the URL of an output begins. Other colons are a path's: ``pages-10:30.jsonl``.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://|(file):", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SinkJob:
    """What a sink knows of its job."""

    id: str
    folder: Path  # where positions are kept of sinks that do not keep their own
    name: str  # the sink's own in the job's record: by it the position is found again
    fields: tuple[str, ...]  # the columns that outputs have: `store.fields`


class Sink:
    """Takes each URL's last outcome in the log's order; the base of all sinks.

    A subclass writes in :meth:`write`, and brings it to its place in :meth:`commit`, which calls this one's
    afterwards: it keeps the position, in the job directory. All methods are called by one thread at a time: after
    :meth:`open` by the sink's own. An OSError that says that a disk is full makes the sink wait and open again.
    """

    #: Outcomes, and bytes of them, that are taken at once, at most.
    rows: int = 1_000
    bytes: int = 8 << 20
    #: Bytes and seconds that may be uncommitted, at most.
    commit_bytes: int = 8 << 20
    commit_seconds: float = 1.0
    #: Whether bodies are read for it.
    with_body: bool = True

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. url: what the output is known by, such as ``sqlite://pages.db``."""
        self.url = url
        self.job = SinkJob("", Path(), url, ())

    def attach(self, job: SinkJob) -> None:
        """Hear which job it is for, before anything else."""
        self.job = job

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError or StorageError where it cannot be opened, before anything is written.

        fresh: what stands there is replaced. is_ours: what stands there may be this crawl's.
        """

    def check_creatable(self) -> None:
        """Raise StorageError where it cannot be created: when the crawl begins, before anything is removed."""

    def exists(self) -> bool:
        """Whether something of it is there: new outputs are opened before those that are."""
        return self.committed() is not None

    def open(self, first: int, end: int) -> int:
        """Drop what was not committed, or lies beyond the log's ``end``; give the position to go on from.

        first: position of the oldest record in the log; 0 is given where there is no output yet.
        """
        return min(self.committed() or 0, end)

    def write(self, outcomes: Outcomes, position: int) -> int | None:
        """Take outcomes, after which the log goes on at ``position``; give their bytes, if they are to count."""
        raise NotImplementedError(f"{type(self).__name__}.write")

    def commit(self, position: int) -> None:
        """Bring what was taken up to a position of the log to its place, then keep the position."""
        self.position_file().parent.mkdir(parents=True, exist_ok=True)
        kept = {"version": 1, "job": self.job.id, "output": self.url, "position": position}
        replace_file(self.position_file(), json.dumps(kept).encode())

    def committed(self) -> int | None:
        """The position that was committed; None where there is no output yet. Known without :meth:`open`."""
        try:
            kept = json.loads(self.position_file().read_bytes())
            return int(kept["position"]) if kept["job"] == self.job.id else None
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return None

    def close(self) -> None:
        """Complete the output: all was committed."""

    def undo(self) -> None:
        """Leave it as it was before :meth:`open`: the crawl does not begin."""

    def remove(self) -> None:
        """Remove the output."""
        self.position_file().unlink(missing_ok=True)

    def position_file(self) -> Path:
        """Where its position is kept, beside that of other sinks: named as in the record, by a path's last part."""
        name = self.job.name
        if "/" in name:
            name = f"{Path(name).name[:200]}.{zlib.crc32(name.encode()):08x}"
        return self.job.folder / f"{name}.json"


def scheme_of(output: str) -> str | None:
    """The scheme of an output's URL, in lower case; None for a path."""
    found = SCHEME.match(output)
    return None if found is None else (found[1] or found[2]).lower()
