"""The job directory: everything that a crawl needs to be resumed. Only this file knows its layout.

::

    job.json     record of the job: layout, id, settings, outputs, how its last run ended
    log/         segments (20 digits ``.log``), ``lock``, ``clock``: the crawl's time, which the next process
                 continues, and ``torn-POSITION``: unfinished ends of the log from crashes
    snapshots/   the frontier's, by position in the log
    queues/      the frontier's: waiting URLs that are not in memory
    seen/        the frontier's: known URLs that are not in memory
    shards/      of a frontier in shards: a folder for each, with its snapshots/, queues/ and seen/
    failed/      failed URLs, and outcomes of seeds, per snapshot: to open them again when their log is gone
    report.json  the report of the last run, and as a page for people report.html
    sinks/       positions of outputs that do not store their own

It may also contain outputs; they belong to the user, like all other files.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lycosa import _core
from lycosa._core import SEGMENT_HEADER_BYTES
from lycosa.errors import JobDamaged, JobInUse, JobVersionError
from lycosa.sink import scheme_of
from lycosa.store.replace import replace_file

#: The layout described above; a directory of the version before is also supported (there is none yet).
VERSION = 1

#: Files of the log in ``log/``: nothing else is ever removed there.
_SEGMENT = re.compile(r"\d{20}\.log")
_TORN = re.compile(r"torn-\d{20}.*")


class LastRun(NamedTuple):
    """How the last run ended; missing while one runs, and after one that was killed."""

    ended: str  # RFC 3339
    idle: bool  # nothing was left to do
    waiting: int  # URLs
    reason: str = ""  # as in `lycosa.end`; empty in older records
    text: str = ""  # the same as a sentence
    status_text: str = ""  # its exit status with its meaning; empty if a signal decided


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of all sessions of a crawl, for reports; a killed session lacks its last seconds."""

    sessions: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    names: dict[str, int] = field(default_factory=dict)  # counters of the DNS client


class Counts(NamedTuple):
    """The counts of all sessions up to a position of the log."""

    position: int
    pages: int
    redirects: int
    statuses: dict[str, int]
    failures: dict[str, int]

    @classmethod
    def make(cls, summary: dict[str, Any], position: int) -> Counts:
        """Return the counts of a summary, of a log or of a record."""
        by_name = ({str(name): int(n) for name, n in summary[key].items()} for key in ("statuses", "failures"))
        return cls(position, int(summary["pages"]), int(summary["redirects"]), *by_name)


@dataclass(frozen=True, slots=True)
class Record:
    """The content of ``job.json``."""

    id: str
    created: str  # RFC 3339
    lycosa: str  # the version that wrote it last
    settings: dict[str, Any]
    outputs: tuple[str, ...]  # relative to the directory if they are in it
    seeded: bool = False  # whether all seeds of the settings are in the log
    last_run: LastRun | None = None
    totals: Totals = Totals()
    # positions from and to which outputs lack records, because the log had removed them, by output
    gaps: dict[str, list[list[int]]] = field(default_factory=dict)
    counts: Counts | None = None  # `None` in older records
    confirmed: int = 0  # the log's end when a session last ended by itself: not fetched again after a crash
    streams: bool = False  # whether the running session also writes its rows to standard output
    begins: int = 0  # of an exported log: where it began; more than 0: what was before is gone
    requests: str = ""  # seeds as requests if one has more than a URL, in base64, until they are in the log
    # the list that defined registered domains when the crawl started: version, date, digest
    public_suffix_list: dict[str, str] = field(default_factory=_core.public_suffix_list)

    @classmethod
    def make(cls, settings: dict[str, Any], outputs: tuple[str, ...]) -> Record:
        """Return the record of a new crawl."""
        return cls(os.urandom(16).hex(), now(), _core.__version__, settings, outputs)


class JobDirectory:
    """One job's directory, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        """Read and write nothing yet."""
        self.path = path
        self.log = path / "log"
        self.snapshots = path / "snapshots"
        self.queues = path / "queues"
        self.seen = path / "seen"
        self.failed = path / "failed"
        self.sinks = path / "sinks"
        self.shards = path / "shards"
        self.record_file = path / "job.json"

    def exists(self) -> bool:
        """Return whether there is a crawl: a record, or a log that is older than records."""
        return self.record_file.exists() or self.has_records()

    def has_records(self) -> bool:
        """Return whether the log has content."""
        return any(path.stat().st_size > SEGMENT_HEADER_BYTES for path in self.segments())

    def segments(self) -> list[Path]:
        """Return the files of the log, oldest first."""
        return self._in_log(_SEGMENT)

    def torn(self) -> list[Path]:
        """Return the torn ends of the log that were set aside after crashes."""
        return self._in_log(_TORN)

    def snapshot_positions(self) -> list[int]:
        """Return the positions of snapshots, ascending; of a frontier in shards, those that every shard has."""
        shards = sorted(self.shards.iterdir()) if self.shards.is_dir() else []
        folders = [shard / "snapshots" for shard in shards] or [self.snapshots]
        return sorted(set.intersection(*map(_positions, folders)))

    def shard(self, name: str) -> Path:
        """Return the folder of a shard of the frontier, with its own snapshots, queues and known URLs."""
        return self.shards / name

    def passed(self, outputs: Iterable[int]) -> int:
        """Return the position up to which the log is not needed: all outputs and two snapshots have passed it."""
        snapshots = self.snapshot_positions()
        return min([snapshots[-2], *outputs]) if len(snapshots) > 1 else 0

    def read(self, file: Path | None = None) -> Record | None:
        """Return the job's record, `None` if there is none. ``file``: default: the directory's own.

        Raises JobVersionError for a directory of another version, JobDamaged if the record cannot be read.
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
                    f"lycosa {_core.__version__} opens version {VERSION}: use the version that made it, or "
                    f"transfer its log: lycosa job export {self.path} FILE with that version, "
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
                begins=int(content.get("begins", 0)),
                requests=str(content.get("requests", "")),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from None

    def write(self, record: Record, file: Path | None = None) -> None:
        """Write a record. Only for the process with the log's lock. ``file``: default: the directory's own."""
        content = {"version": VERSION, **_plain(replace(record, lycosa=_core.__version__))}
        replace_file(file or self.record_file, (_json(content) + "\n").encode())

    def writer(self) -> int | None:
        """Return the process that is crawling here, `None` if there is none, 0 if its id is unknown."""
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
        """Lock the directory; raises JobInUse while a crawl runs."""
        self.log.mkdir(parents=True, exist_ok=True)
        # Not truncated: it may contain the id of the process with the lock.
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
        """Return the error with the process that is crawling here."""
        return JobInUse(f"{self.path}: in use by process {self.writer() or 'unknown'}; wait for its end, or end it")

    def clear(self) -> None:
        """Remove all files of the layout, and nothing else; raises JobInUse while a crawl runs."""
        if not self.log.is_dir():
            return
        import shutil  # only to start over

        # Without both, folders with these names and a job.json belong to something else.
        ours = self.record_file.exists() and (self.log / "lock").exists()
        with self.locked():
            for path in [*self.segments(), *self.torn()]:
                path.unlink()
            if not ours:
                return
            for folder in (self.snapshots, self.queues, self.seen, self.shards, self.failed, self.sinks):
                if folder.is_dir() and not folder.is_symlink():
                    shutil.rmtree(folder)
            # Last: until then it identifies the rest.
            self.record_file.unlink()

    def named(self, output: str) -> str:
        """Return a path's name in the record: relative if it is in the directory, else absolute."""
        slash = "/" if output.endswith("/") else ""
        path, directory = Path(output).absolute(), self.path.absolute()
        inside = path.is_relative_to(directory)
        return f"{path.relative_to(directory) if inside else path}{slash}"

    def output(self, name: str) -> str:
        """Return the path of a name in the record, in a form that is never parsed as a URL."""
        slash = "/" if name.endswith("/") else ""
        path = f"{self.path / name}{slash}"
        return path if scheme_of(path) is None else f"./{path}"

    def _in_log(self, pattern: re.Pattern[str]) -> list[Path]:
        """Return files in ``log/`` by name, ascending."""
        try:
            return sorted(path for path in self.log.iterdir() if pattern.fullmatch(path.name))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _damaged(self, error: Exception) -> JobDamaged:
        """Return the error for a record that cannot be read."""
        return JobDamaged(
            f"{self.record_file}: damaged ({type(error).__name__}: {error}); the log is not: remove this file and "
            f"give the seeds and settings again, or transfer the log with lycosa job export {self.path} FILE"
        )


def _positions(snapshots: Path) -> set[int]:
    """Return the positions of the snapshots in a folder."""
    return {int(path.stem) for path in snapshots.glob("[0-9]" * 20 + ".snapshot")}


def now() -> str:
    """Return the time, in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _json(value: Any, depth: int = 2, indent: str = "") -> str:
    """Return JSON with a line for each key of the outer objects: json's own indentation takes ten times as long."""
    if depth == 0 or not value or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent}  "
    lines = [f"{inner}{json.dumps(key)}: {_json(item, depth - 1, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _last_run(told: dict[str, Any]) -> LastRun:
    """Parse how a run ended, from a record."""
    reason, text = str(told.get("reason", "")), str(told.get("text", ""))
    status_text = str(told.get("status_text", ""))
    return LastRun(str(told["ended"]), bool(told["idle"]), int(told["waiting"]), reason, text, status_text)


def _totals(told: dict[str, Any]) -> Totals:
    """Parse the totals of a record; empty in older ones."""
    names = {str(name): int(count) for name, count in told.get("names", {}).items()}
    seconds, cpu_seconds = float(told.get("seconds", 0)), float(told.get("cpu_seconds", 0))
    return Totals(int(told.get("sessions", 0)), seconds, cpu_seconds, names)


def _gaps(told: dict[str, Any]) -> dict[str, list[list[int]]]:
    """Parse the gaps of outputs in a record; empty in older ones."""
    return {str(output): [[int(first), int(end)] for first, end in gaps] for output, gaps in told.items()}


def _plain(record: Record) -> dict[str, Any]:
    """Convert a record to JSON values."""
    last = record.last_run
    return {
        "id": record.id,
        "created": record.created,
        "lycosa": record.lycosa,
        "public_suffix_list": record.public_suffix_list,
        "settings": record.settings,
        "outputs": list(record.outputs),
        "seeded": record.seeded,
        "last_run": None if last is None else last._asdict(),
        "totals": asdict(record.totals),
        "gaps": record.gaps,
        "counts": None if record.counts is None else record.counts._asdict(),
        "confirmed": record.confirmed,
        "streams": record.streams,
        "requests": record.requests,
    }
