"""Tables: what outputs in databases have in common.

A table has a row for each URL and time of fetching; the same again replaces it. The position in the log is in the
table ``lycosa_outputs`` of the same database, and is committed with the rows: each row is there once, whatever fails.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from lycosa import _core
from lycosa.errors import OutputAway, SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob, scheme_of
from lycosa.store.file_sink import path_of, set_needs
from lycosa.store.restart import check_restart

#: The columns that make a row the only one.
KEY = ("url", "fetched_at")
COLUMNS_OF_KEY = ", ".join(f'"{name}"' for name in KEY)

#: The table of positions.
POSITIONS = "lycosa_outputs"

#: What a table may be called, and where there are schemas.
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
NAME_OF_SCHEMA = re.compile(rf"({NAME.pattern}\.)?{NAME.pattern}")


class TableSink(Sink, abc.ABC):
    """Writes rows into a table, which it makes."""

    #: The database's types by those of `lycosa._core.COLUMN_TYPES`.
    TYPES: ClassVar[Mapping[str, str]] = {}

    #: Whether a table may be that of a schema, and whether the URL may have options of the database.
    HAS_SCHEMAS: ClassVar[bool] = False
    HAS_OPTIONS: ClassVar[bool] = False

    commit_bytes: int = 8 << 20
    commit_seconds: float = 2.0

    def __init__(self, url: str) -> None:
        """Open nothing yet. url: may end in ``?table=NAME`` if it has a scheme; default: ``pages``."""
        super().__init__(url)
        self.is_file = scheme_of(url) in (None, "file")
        self.table, self.database = "pages", url
        if not self.is_file:
            place, _, query = url.partition("?")
            options = dict(parse_qsl(query))
            self.table = options.pop("table", self.table)
            if options and not self.HAS_OPTIONS:
                raise SettingError("output", url, "?table= only")
            # Not urlsplit and its counterpart: that makes sqlite:/path of sqlite:///path.
            self.database = f"{place}?{urlencode(options, quote_via=quote)}" if options else place
        self.fields: list[str] = []
        #: What was committed last, by this object.
        self._committed: int | None = None

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; the columns of the key are always there."""
        super().attach(job)
        self.fields = [*(name for name in KEY if name not in job.fields), *job.fields]
        set_needs(self, self.fields)

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError for a table that is not ours, or has other columns; StorageError if nobody answers."""
        names, more = (NAME_OF_SCHEMA, ", or schema.pages") if self.HAS_SCHEMAS else (NAME, "")
        if not names.fullmatch(self.table) or self.table == POSITIONS:
            allowed = f"a table's name of small letters, digits and _, such as ?table=pages{more}; not {POSITIONS}"
            raise SettingError("output", self.url, allowed)
        with_columns = self.columns()
        if not with_columns:
            return
        owner = self.recorded()
        # Nobody's data is replaced but that of a crawl.
        if owner is None:
            raise SettingError("output", self.url, f"a table that does not exist yet: {self.table} is not Lycosa's")
        if owner[0] != self.job.id and not fresh:
            raise SettingError(
                "output", self.url, f"fresh, to replace {self.table} of another crawl; or ?table=OTHER"
            )
        if fresh:
            return
        types = self.types()
        for name in self.fields:
            wanted, found = types[name], with_columns.get(name)
            if found is not None and found.lower() != wanted.lower():
                allowed = f"a table whose column {name} is {wanted}; it is {found}: name another table with ?table="
                raise SettingError("output", self.url, allowed)

    def exists(self) -> bool:
        """Return whether the table exists."""
        return bool(self.columns())

    def open(self, first: int, end: int) -> int:
        """Make the table, or add the columns that it lacks; see ``lycosa.sink.Sink``."""
        self._committed = None
        known, position = self.columns(), self.committed() or 0
        if position > end:
            # The log's end was damaged: rows of records that are gone are written again under the same key.
            check_restart(self.url, first, "the log is shorter than its position")
            position = 0
        types = self.types()
        missing = {name: kind for name, kind in types.items() if name not in known}
        if not known:
            self.make(types)
        elif missing:
            self.add(missing)
        return position

    def types(self) -> dict[str, str]:
        """Return the database's type of each column."""
        return {name: self.TYPES[_core.COLUMN_TYPES[name]] for name in self.fields}

    @abc.abstractmethod
    def columns(self) -> dict[str, str]:
        """Return the table's columns with their types; none if there is no table. Raises StorageError."""

    @abc.abstractmethod
    def recorded(self) -> tuple[str, int] | None:
        """Return the job that the table is of, and its position; `None` if it is no job's. Raises StorageError."""

    @abc.abstractmethod
    def run(self, statements: Sequence[str]) -> None:
        """Run statements in the transaction of rows, and commit it."""

    def make(self, types: Mapping[str, str]) -> None:
        """Make the table."""
        self.run(create_statements(self.table, self.job.id, types))

    def add(self, types: Mapping[str, str]) -> None:
        """Add columns."""
        self.run([f'ALTER TABLE {quoted(self.table)} ADD COLUMN "{name}" {kind}' for name, kind in types.items()])

    @abc.abstractmethod
    def insert(self, outcomes: Outcomes) -> int:
        """Insert rows, or replace them; returns about how many bytes they have. Nothing is committed yet."""

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Insert rows; see ``lycosa.sink.Sink``."""
        return self.insert(outcomes) if len(outcomes) > 0 else 0

    def commit(self, position: int) -> None:
        """Commit rows and position together."""
        self.run([position_statement(self.table, self.job.id, position)])
        self._committed = position

    def remove(self) -> None:
        """Remove the table."""
        if self.columns():
            statements = [f"DROP TABLE {quoted(self.table)}"]
            if self.recorded() is not None:
                statements.append(f"DELETE FROM {POSITIONS} WHERE name = '{self.table}'")
            self.run(statements)
            self.close()

    def committed(self) -> int | None:
        """Return the position of this job's table."""
        if self._committed is not None:
            return self._committed
        found = self.recorded() if self.columns() else None
        return found[1] if found is not None and found[0] == self.job.id else None


def quoted(table: str) -> str:
    """Return a table's name as statements have it: it may be a word of SQL, such as ``order``.

    >>> quoted("archive.order")
    '"archive"."order"'
    """
    return ".".join(f'"{part}"' for part in table.split("."))


def create_statements(table: str, job: str, types: Mapping[str, str], key: str | None = None) -> list[str]:
    """Return the statements that make a table of a job, and that of positions, for one transaction.

    key: expressions that are unique (default: KEY).
    """
    lines = [f'"{name}" {kind}{" NOT NULL" if name in KEY else ""}' for name, kind in types.items()]
    if key is None:
        lines.append(f"PRIMARY KEY ({COLUMNS_OF_KEY})")
    index = f"{table.rpartition('.')[2]}_url_fetched_at"
    return [
        f"CREATE TABLE {quoted(table)} ({', '.join(lines)})",
        *([f'CREATE UNIQUE INDEX "{index}" ON {quoted(table)} ({key})'] if key is not None else []),
        f"CREATE TABLE IF NOT EXISTS {POSITIONS} "
        "(name TEXT PRIMARY KEY, job TEXT NOT NULL, position BIGINT NOT NULL)",
        position_statement(table, job, 0),
    ]


def position_statement(table: str, job: str, position: int) -> str:
    """Return the statement that keeps the position of a job's table."""
    return (
        f"INSERT INTO {POSITIONS} VALUES ('{table}', '{job}', {position}) ON CONFLICT (name) DO UPDATE SET "
        "job = excluded.job, position = excluded.position"
    )


def upsert(table: str, fields: Sequence[str], source: str, key: str | None = None) -> str:
    """Return the statement that inserts from a source, and replaces rows with the same key; see create_statements."""
    names = ", ".join(f'"{name}"' for name in fields)
    others = ", ".join(f'"{name}" = excluded."{name}"' for name in fields if name not in KEY)
    what = f"UPDATE SET {others}" if others else "NOTHING"
    return f"INSERT INTO {quoted(table)} ({names}) {source} ON CONFLICT ({key or COLUMNS_OF_KEY}) DO {what}"


def file_of(url: str, scheme: str) -> Path:
    """Return the file of a path, or of a URL such as ``sqlite:///data/pages.db``. Raises SettingError for others."""
    if scheme_of(url) != scheme:
        return Path(path_of(url))
    parts = urlsplit(url)
    if parts.netloc or not parts.path.strip("/"):
        raise SettingError(
            "output", url, f"{scheme}: with an absolute path, such as {scheme}:///data/pages.db; or a path"
        )
    return Path(unquote(parts.path))


def failed(url: str, error: Exception, *, is_away: bool = False) -> StorageError:
    """Return the error of a database that refuses. is_away: it may answer later."""
    made = (OutputAway if is_away else StorageError)(f"{url}: {str(error).strip()}")
    made.__cause__ = error
    return made
