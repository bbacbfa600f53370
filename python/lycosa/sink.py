"""Sinks write a crawl's outcomes to outputs. An output is a URL; a custom sink is a subclass.

A sink follows the log on a thread of its own: after a crash it receives again what it had not committed. So a sink
commits its output and the position in the log together, or its writes are idempotent.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lycosa.records import Outcomes
from lycosa.store.replace import replace_file

#: What an output may be given as: a path or a URL, a sink, or a function that is called with each batch.
Output: TypeAlias = "str | Path | Sink | Callable[[Outcomes], object]"

#: The beginning of an output's URL. Any other colon is part of a path: ``pages-10:30.jsonl``.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://|(file):", re.IGNORECASE)


class SinkJob(NamedTuple):
    """What a sink knows of its job."""

    id: str
    folder: Path  # for the positions of sinks that do not store their own
    name: str  # the sink's name in the job's record, by which its position is found again
    fields: tuple[str, ...]  # the columns that outputs have: `store.fields`


class Sink:
    """Takes each URL's last outcome in the log's order; the base of all sinks.

    A subclass writes in :meth:`write`, and commits in :meth:`commit`, which then calls the method of this class: it
    stores the position in the job directory. Methods are called by one thread at a time: after :meth:`open` by the
    sink's own. An OSError for a full disk makes the sink wait and open again.
    """

    #: Maximum number, and bytes, of outcomes per call of ``write``.
    rows: int = 1_000
    bytes: int = 8 << 20
    #: Maximum bytes, and seconds, that are not committed yet.
    commit_bytes: int = 8 << 20
    commit_seconds: float = 1.0
    #: Whether the sink needs bodies, and links.
    with_body: bool = True
    with_links: bool = True
    #: Whether its URL is the path of a file, which the job's record has relative to its directory.
    is_file: bool = False

    def __init__(self, url: str) -> None:
        """Open nothing yet. url: identifies the output, such as ``search-index://pages``."""
        self.url = url
        self.job = SinkJob("", Path(), url, ())

    @property
    def location(self) -> str:
        """Where the output is, however it is spelled: two with the same location would write the same.

        Of a sink with a ``path`` that without links, of others the URL.
        """
        path = getattr(self, "path", None)
        return str(Path(path).resolve()) if isinstance(path, str | Path) else self.url

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job, before any other call."""
        self.job = job

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError or StorageError if it cannot be opened, before anything is written.

        fresh: an existing output is replaced. is_ours: an existing output may be this crawl's.
        """

    def check_creatable(self) -> None:
        """Raise StorageError if it cannot be created: when the crawl starts, before anything is removed."""

    def exists(self) -> bool:
        """Return whether the output exists: new outputs are opened before existing ones."""
        return self.committed() is not None

    def open(self, first: int, end: int) -> int:
        """Drop what was not committed, or is beyond the log's ``end``; returns the position to continue from.

        first: position of the oldest record in the log. Returns 0 if there is no output yet.
        """
        return min(self.committed() or 0, end)

    def write(self, outcomes: Outcomes, position: int) -> int | None:
        """Write outcomes; ``position`` is the log position after them. Returns their bytes, if they should count."""
        raise NotImplementedError(f"{type(self).__name__}.write")

    def commit(self, position: int) -> None:
        """Commit what was written up to a position of the log, then store the position."""
        self.position_file().parent.mkdir(parents=True, exist_ok=True)
        kept = {"version": 1, "job": self.job.id, "output": self.url, "position": position}
        replace_file(self.position_file(), json.dumps(kept).encode())

    def committed(self) -> int | None:
        """Return the committed position, `None` if there is no output yet. Does not need :meth:`open`."""
        try:
            kept = json.loads(self.position_file().read_bytes())
            return int(kept["position"]) if kept["job"] == self.job.id else None
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return None

    def close(self) -> None:
        """Complete the output: everything is committed."""

    def undo(self) -> None:
        """Restore the state from before :meth:`open`: the crawl does not start."""

    def remove(self) -> None:
        """Remove the output."""
        self.position_file().unlink(missing_ok=True)

    def position_file(self) -> Path:
        """Return the file of its position: named as in the job's record, for a path by its last part and a CRC."""
        name = self.job.name
        if "/" in name:
            name = f"{Path(name).name[:200]}.{zlib.crc32(name.encode()):08x}"
        return self.job.folder / f"{name}.json"


def scheme_of(output: str) -> str | None:
    """Return the scheme of an output's URL in lower case, `None` for a path."""
    found = SCHEME.match(output)
    return None if found is None else (found[1] or found[2]).lower()
