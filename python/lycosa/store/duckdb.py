"""DuckDB files: ``pages.duckdb``, or ``duckdb:///path?table=name`` (extra ``duckdb``).

Rows go there as Arrow columns, without Python objects; lists and structures are DuckDB's own. One program at a time
has a DuckDB file open for writing, and then no other one reads it: while the crawl runs, read another output.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lycosa.errors import SettingError
from lycosa.records import Outcomes
from lycosa.store.file_sink import check_folder, check_writable
from lycosa.store.sql import KEY, POSITIONS, TableSink, failed, file_of, upsert

if TYPE_CHECKING:
    import duckdb


#: Memory of the library: what does not fit is on disk.
MEMORY = "256MB"


class DuckdbSink(TableSink):
    """Writes a table of a file."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self.path = file_of(self.database, "duckdb")
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._is_in_transaction = False

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without DuckDB, and for a path that cannot be written, too."""
        if importlib.util.find_spec("duckdb") is None:
            raise SettingError("output", self.url, "a Parquet file; for DuckDB: pip install 'lycosa[duckdb]'")
        check_folder(self.url, self.path)
        check_writable("output", self.path)
        super().check(fresh=fresh, is_ours=is_ours)

    def types(self) -> dict[str, str]:
        """Return DuckDB's types of the Arrow columns."""
        import duckdb

        given = Outcomes().columns(self.fields)
        with duckdb.connect() as connection:
            rows = connection.execute("DESCRIBE SELECT * FROM given").fetchall()
        del given
        return {str(row[0]): str(row[1]) for row in rows}

    def columns(self) -> dict[str, str]:
        """See ``TableSink``."""
        if self._connection is None and not self.path.exists():
            return {}
        query = "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ?"
        return {str(column): str(kind) for column, kind in self._ask(query, [self.table])}

    def recorded(self) -> tuple[str, int] | None:
        """See ``TableSink``."""
        if not self._ask("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [POSITIONS]):
            return None
        rows = self._ask(f"SELECT job, position FROM {POSITIONS} WHERE name = ?", [self.table])
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def insert(self, outcomes: Outcomes) -> int:
        """See ``TableSink``."""
        given = outcomes.columns(self.fields)
        names = ", ".join(f'"{name}"' for name in self.fields)
        key = ", ".join(f'"{name}"' for name in KEY)
        # One statement may not change a row twice.
        source = f"SELECT DISTINCT ON ({key}) {names} FROM given"
        with self._working() as connection:
            connection.register("given", given)
            try:
                connection.execute(upsert(self.table, self.fields, source))
            finally:
                connection.unregister("given")
        return given.nbytes

    def close(self) -> None:
        """Close the file: everything is committed."""
        connection, self._connection = self._connection, None
        self._is_in_transaction = False
        if connection is not None:
            connection.close()

    def _ask(self, query: str, values: list[Any]) -> list[tuple[Any, ...]]:
        """Ask; without a connection that writes the file is opened for it."""
        import duckdb

        try:
            if self._connection is not None:
                return self._connection.execute(query, values).fetchall()
            with duckdb.connect(self.path, read_only=True) as connection:
                return connection.execute(query, values).fetchall()
        except duckdb.Error as error:
            raise failed(self.url, error) from None

    def run(self, statements: Sequence[str]) -> None:
        """See ``TableSink``."""
        with self._working() as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
            self._is_in_transaction = False

    @contextlib.contextmanager
    def _working(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection with the transaction of rows. An error ends it: the rows come again."""
        import duckdb

        try:
            if self._connection is None:
                self._connection = duckdb.connect(self.path, config={"memory_limit": MEMORY})
            if not self._is_in_transaction:
                self._connection.begin()
                self._is_in_transaction = True
            yield self._connection
        except duckdb.Error as error:
            self.close()
            # The library has no codes for what the system said.
            if os.strerror(errno.ENOSPC) in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path)) from None
            raise failed(self.url, error, is_away=isinstance(error, duckdb.IOException)) from None
