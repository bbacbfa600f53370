"""The job directory: where everything stands that a crawl needs to go on. The one file that knows its layout.

::

    job.json     what the crawl is: layout, id, settings, outputs, how its last run ended
    log/         segments (20 digits ``.log``), ``lock``, ``clock``: the crawl's time, with which the next process
                 goes on, and ``torn-POSITION``: what crashes left unfinished
    snapshots/   the frontier's, by position in the log
    queues/      the frontier's: URLs that wait, beyond those in memory
    seen/        the frontier's: URLs that are known, beyond those in memory
    failed/      what failed, and how seeds ended, by the snapshot before: to open it again when its log is gone
    sinks/       positions of outputs that do not hold their own

Outputs may stand in it as well; they are the user's, as is whatever else is there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa._core import SEGMENT_HEADER_BYTES
from lycosa.errors import JobDamaged, JobInUse, JobVersionError
from lycosa.sink import scheme_of
from lycosa.store.replace import replace_file

#: The layout described above; a directory of the version before is opened as well (there is none yet).
VERSION = 1

#: What belongs to the log in ``log/``: nothing else is ever removed there.
_SEGMENT = re.compile(r"\d{20}\.log")
_TORN = re.compile(r"torn-\d{20}.*")


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run ended; there is none while one goes on, and after one that was killed."""

    ended: str  # RFC 3339
    idle: bool  # nothing was left to do
    waiting: int  # URLs
    reason: str = ""  # as in `lycosa.end`; empty in records of before there were reasons
    text: str = ""  # the same for people
    status_text: str = ""  # its exit status and what that means; empty where a signal decided


@dataclass(frozen=True, slots=True)
class Totals:
    """What all sessions of a crawl have cost, for reports; of a session that was killed, all but the last seconds."""

    sessions: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    names: dict[str, int] = field(default_factory=dict)  # what the client of DNS counts


@dataclass(frozen=True, slots=True)
class Counts:
    """What all sessions have recorded up to a position of the log, by its summary."""

    position: int
    pages: int
    redirects: int
    statuses: dict[str, int]
    failures: dict[str, int]

    @classmethod
    def make(cls, summary: dict[str, Any], position: int) -> Counts:
        """Those of a summary: of a log, or of a record."""
        by_name = ({str(name): int(n) for name, n in summary[key].items()} for key in ("statuses", "failures"))
        return cls(position, int(summary["pages"]), int(summary["redirects"]), *by_name)


@dataclass(frozen=True, slots=True)
class Record:
    """What ``job.json`` says."""

    id: str
    created: str  # RFC 3339
    lycosa: str  # the version that wrote it last
    settings: dict[str, Any]
    outputs: tuple[str, ...]  # relative to the directory where they stand in it
    seeded: bool = False  # whether all seeds of the settings are in the log
    last_run: LastRun | None = None
    totals: Totals = Totals()
    # outputs that lack records, since they came when the log had lost them: positions from and to, by output
    gaps: dict[str, list[list[int]]] = field(default_factory=dict)
    counts: Counts | None = None  # nothing in records of before they were kept
    confirmed: int = 0  # the log's end when a session last ended by itself: it is not asked for again after a crash
    streams: bool = False  # whether the session that goes on gives its rows to standard output, too
    requests: str = ""  # seeds as requests where one has more than a URL, in base64, until they are in the log
    # by which registered domains were told apart when the crawl began: version, date, digest
    public_suffix_list: dict[str, str] = field(default_factory=_core.public_suffix_list)

    @classmethod
    def make(cls, settings: dict[str, Any], outputs: tuple[str, ...]) -> Record:
        """The record of a crawl that begins."""
        return cls(uuid.uuid4().hex, now(), _core.__version__, settings, outputs)


class JobDirectory:
    """One job's directory, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        """Nothing is read or written."""
        self.path = path
        self.log = path / "log"
        self.snapshots = path / "snapshots"
        self.queues = path / "queues"
        self.seen = path / "seen"
        self.failed = path / "failed"
        self.sinks = path / "sinks"
        self.record_file = path / "job.json"

    def exists(self) -> bool:
        """Whether a crawl was begun here: it has a record, or a log of before there were records."""
        return self.record_file.exists() or self.has_records()

    def has_records(self) -> bool:
        """Whether the log has content."""
        return any(path.stat().st_size > SEGMENT_HEADER_BYTES for path in self.segments())

    def segments(self) -> list[Path]:
        """The files of the log, oldest first."""
        return self._in_log(_SEGMENT)

    def torn(self) -> list[Path]:
        """What crashes left unfinished at the log's end, set aside."""
        return self._in_log(_TORN)

    def snapshot_positions(self) -> list[int]:
        """Positions in the log that a snapshot was made at, ascending."""
        return sorted(int(path.stem) for path in self.snapshots.glob("[0-9]" * 20 + ".snapshot"))

    def passed(self, outputs: Iterable[int]) -> int:
        """The position up to which nobody needs the log any more: all outputs and two snapshots have passed it."""
        snapshots = self.snapshot_positions()
        return min([snapshots[-2], *outputs]) if len(snapshots) > 1 else 0

    def read(self, file: Path | None = None) -> Record | None:
        """What the crawl is; nothing where no record is kept. ``file``: default: the directory's own.

        Raises JobVersionError for the directory of another version, JobDamaged where the record cannot be read.
        """
        try:
            text = (file or self.record_file).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise self._damaged(error) from None
        try:
            content = json.loads(text)
            if (version := int(content["version"])) != VERSION:
                raise JobVersionError(
                    f"{self.path}: a job directory of version {version}, made by lycosa {content.get('lycosa')}; "
                    f"lycosa {_core.__version__} opens version {VERSION}: go on with the version that made it, or "
                    f"take its log along: lycosa job export {self.path} FILE with that version, "
                    "lycosa job import FILE NEW with this one"
                )
            last = content["last_run"]
            return Record(
                id=str(content["id"]),
                created=str(content["created"]),
                lycosa=str(content["lycosa"]),
                settings=dict(content["settings"]),
                outputs=tuple(map(str, content["outputs"])),
                seeded=bool(content["seeded"]),
                public_suffix_list=dict(content.get("public_suffix_list") or _core.public_suffix_list()),
                last_run=None if last is None else _last_run(last),
                totals=_totals(content.get("totals") or {}),
                gaps=_gaps(content.get("gaps") or {}),
                counts=Counts.make(counts, int(counts["position"])) if (counts := content.get("counts")) else None,
                confirmed=int(content.get("confirmed", 0)),
                streams=bool(content.get("streams", False)),
                requests=str(content.get("requests", "")),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from None

    def write(self, record: Record) -> None:
        """Keep a record. For the holder of the log's lock only."""
        content = {"version": VERSION, **_plain(replace(record, lycosa=_core.__version__))}
        replace_file(self.record_file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())

    def writer(self) -> int | None:
        """The process that is crawling here, if one is; 0 where it cannot be named."""
        try:
            with (self.log / "lock").open("rb") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    digits = lock.read(20).strip()
                    return int(digits) if digits.isdigit() else 0
        except OSError:
            pass
        return None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every crawl out; raises JobInUse while one goes on."""
        self.log.mkdir(parents=True, exist_ok=True)
        # Not emptied: who holds it may have written its name into it.
        descriptor = os.open(self.log / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self.in_use() from None
            yield
        finally:
            os.close(descriptor)

    def in_use(self) -> JobInUse:
        """The error that says who is crawling here."""
        return JobInUse(f"{self.path}: in use by process {self.writer() or 'unknown'}; wait for its end, or end it")

    def clear(self) -> None:
        """Remove all that the layout names, and nothing else; raises JobInUse while a crawl goes on."""
        if not self.log.is_dir():
            return
        # Without both, folders of these names and a job.json are somebody else's.
        ours = self.record_file.exists() and (self.log / "lock").exists()
        with self.locked():
            for path in [*self.segments(), *self.torn()]:
                path.unlink()
            if not ours:
                return
            for folder in (self.snapshots, self.queues, self.seen, self.failed, self.sinks):
                if folder.is_dir() and not folder.is_symlink():
                    shutil.rmtree(folder)
            # Last: until then it says what the rest was.
            self.record_file.unlink()

    def named(self, output: str) -> str:
        """A path's name in the record: relative where it stands in the directory, else absolute."""
        slash = "/" if output.endswith("/") else ""
        path, directory = Path(output).absolute(), self.path.absolute()
        inside = path.is_relative_to(directory)
        return f"{path.relative_to(directory) if inside else path}{slash}"

    def output(self, name: str) -> str:
        """The path of a name in the record, which never looks like a URL."""
        slash = "/" if name.endswith("/") else ""
        path = f"{self.path / name}{slash}"
        return path if scheme_of(path) is None else f"./{path}"

    def _in_log(self, pattern: re.Pattern[str]) -> list[Path]:
        """Files in ``log/`` by name, ascending."""
        try:
            return sorted(path for path in self.log.iterdir() if pattern.fullmatch(path.name))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _damaged(self, error: Exception) -> JobDamaged:
        """The error for a record that cannot be read."""
        return JobDamaged(
            f"{self.record_file}: damaged ({type(error).__name__}: {error}); the log is not: remove this file and "
            f"give the seeds and settings again, or take the log along with lycosa job export {self.path} FILE"
        )


def now() -> str:
    """The time, in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _last_run(told: dict[str, Any]) -> LastRun:
    """How a run ended, from a record."""
    reason, text = str(told.get("reason", "")), str(told.get("text", ""))
    status_text = str(told.get("status_text", ""))
    return LastRun(str(told["ended"]), bool(told["idle"]), int(told["waiting"]), reason, text, status_text)


def _totals(told: dict[str, Any]) -> Totals:
    """What all sessions have cost, from a record; nothing in those of before it was kept."""
    names = {str(name): int(count) for name, count in told.get("names", {}).items()}
    seconds, cpu_seconds = float(told.get("seconds", 0)), float(told.get("cpu_seconds", 0))
    return Totals(int(told.get("sessions", 0)), seconds, cpu_seconds, names)


def _gaps(told: dict[str, Any]) -> dict[str, list[list[int]]]:
    """What outputs lack, from a record; nothing in those of before it was kept."""
    return {str(output): [[int(first), int(end)] for first, end in gaps] for output, gaps in told.items()}


def _plain(record: Record) -> dict[str, Any]:
    """A record as JSON has it."""
    last = record.last_run
    return {
        "id": record.id,
        "created": record.created,
        "lycosa": record.lycosa,
        "public_suffix_list": record.public_suffix_list,
        "settings": record.settings,
        "outputs": list(record.outputs),
        "seeded": record.seeded,
        "last_run": None if last is None else asdict(last),
        "totals": asdict(record.totals),
        "gaps": record.gaps,
        "counts": None if record.counts is None else asdict(record.counts),
        "confirmed": record.confirmed,
        "streams": record.streams,
        "requests": record.requests,
    }
