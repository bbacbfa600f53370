"""SQLite files: ``pages.sqlite``, ``pages.db``, or ``sqlite:///path?table=name``."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar
from urllib.parse import quote

from lycosa.errors import StorageError
from lycosa.records import Outcomes
from lycosa.store.file_sink import check_folder, check_writable
from lycosa.store.sql import POSITIONS, TableSink, failed, file_of, quoted, upsert

#: Seconds for which a lock of another program is waited for.
PATIENCE = 30.0


class SqliteSink(TableSink):
    """Writes a table of a file; other programs read it while the crawl runs."""

    TYPES: ClassVar[Mapping[str, str]] = {
        "text": "TEXT",
        "int": "INTEGER",
        "bigint": "INTEGER",
        "bool": "INTEGER",
        "time": "TEXT",
        "json": "TEXT",
        "bytes": "BLOB",
    }

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self.path = file_of(self.database, "sqlite")
        self._connection: sqlite3.Connection | None = None

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError for a path that cannot be written, too."""
        check_folder(self.url, self.path)
        check_writable("output", self.path)
        super().check(fresh=fresh, is_ours=is_ours)

    def columns(self) -> dict[str, str]:
        """See ``TableSink``."""
        if self._connection is None and not self.path.exists():
            return {}
        with self._reading() as connection:
            rows = connection.execute(f"PRAGMA table_info({quoted(self.table)})").fetchall()
        return {str(row[1]): str(row[2]) for row in rows}

    def recorded(self) -> tuple[str, int] | None:
        """See ``TableSink``."""
        with self._reading() as connection:
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (POSITIONS,)).fetchone()
            query = f"SELECT job, position FROM {POSITIONS} WHERE name = ?"
            row = connection.execute(query, (self.table,)).fetchone() if there else None
        return None if row is None else (str(row[0]), int(row[1]))

    def run(self, statements: Sequence[str]) -> None:
        """See ``TableSink``."""
        with self._working() as connection:
            # The module begins a transaction for rows, but for no other statement.
            if not connection.in_transaction:
                connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def insert(self, outcomes: Outcomes) -> int:
        """See ``TableSink``."""
        rows, length = outcomes.tuples(self.fields)
        source = f"VALUES ({', '.join('?' for _ in self.fields)})"
        with self._working() as connection:
            connection.executemany(upsert(self.table, self.fields, source), rows)
        return length

    def close(self) -> None:
        """Close the file: everything is committed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _writing(self) -> sqlite3.Connection:
        """The connection that writes; made by the thread that uses it first."""
        if self._connection is None:
            self._connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
            # Readers do not wait for the writer, nor the writer for them.
            self._connection.execute("PRAGMA journal_mode = WAL")
            # What was committed is there after a power cut: the log may have removed it by then.
            self._connection.execute("PRAGMA synchronous = FULL")
        return self._connection

    @contextlib.contextmanager
    def _working(self) -> Iterator[sqlite3.Connection]:
        """The connection with the transaction of rows. An error ends it: the rows come again.

        Raises OSError for a full disk, OutputAway while another program has the file locked.
        """
        try:
            yield self._writing()
        except sqlite3.Error as error:
            self.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path)) from None
            raise failed(self.url, error, is_away=code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)) from None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that only asks."""
        if self._connection is not None:
            yield self._connection
            return
        connection = sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True, timeout=PATIENCE)
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            raise StorageError(f"{self.path}: no SQLite file ({error}); name another one") from None
        finally:
            connection.close()
