"""PostgreSQL: ``postgresql://user@host/database?table=pages``, by binary COPY (extra ``postgres``: psycopg)."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lycosa.errors import SettingError
from lycosa.records import Outcomes
from lycosa.store.sql import POSITIONS, TableSink, create_statements, failed, quoted, upsert

if TYPE_CHECKING:
    import psycopg

#: The table of one connection from which rows get into the output's.
STAGE = "lycosa_stage"

#: The column with the names of columns in which NUL, which no text of PostgreSQL has, was replaced.
REPLACED = "replaced"

#: What makes a row the only one: URLs are longer than an index may have.
DIGEST = 'md5("url"), "fetched_at"'

#: Seconds for which a connection is waited for, milliseconds for which an answer is; and what rows are encoded in.
CONNECTION: dict[str, Any] = {"connect_timeout": 10, "tcp_user_timeout": 60_000, "client_encoding": "UTF8"}

#: For how long a lock and a statement are waited for, where the URL has no ``options`` that say otherwise.
OPTIONS = "-c lock_timeout=30s -c statement_timeout=10min -c idle_in_transaction_session_timeout=0"

#: Bytes of rows that are handed to the library at once: it copies them, to where caches have what was there before.
PIECE = 64 << 10

#: Classes of errors of a server that may answer later: connection, resources, an operator who intervenes; and a lock.
AWAY = ("08", "53", "57", "55P03")


class PostgresSink(TableSink):
    """Writes a table of a database."""

    TYPES: ClassVar[Mapping[str, str]] = {
        "text": "text",
        "int": "integer",
        "bigint": "bigint",
        "bool": "boolean",
        "time": "timestamp with time zone",
        "json": "jsonb",
        "bytes": "bytea",
    }

    HAS_SCHEMAS = HAS_OPTIONS = True

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self._connection: psycopg.Connection[Any] | None = None

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without psycopg, too."""
        if importlib.util.find_spec("psycopg") is None:
            raise SettingError("output", self.url, "a file; for PostgreSQL: pip install 'lycosa[postgres]'")
        ((encoding,),) = self._ask("SHOW server_encoding", ())
        if encoding != "UTF8":
            allowed = (
                f"a database of PostgreSQL whose encoding is UTF8: that of this one, {encoding}, has not all letters"
            )
            raise SettingError("output", self.url, allowed)
        super().check(fresh=fresh, is_ours=is_ours)

    @property
    def location(self) -> str:
        """See ``lycosa.sink.Sink``: both names of the scheme are the same, as is a table that is not named."""
        return f"{self.database.partition('://')[2]} {self.table}"

    def columns(self) -> dict[str, str]:
        """See ``TableSink``."""
        query = (
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
        )
        return {str(name): str(kind) for name, kind in self._ask(query, (quoted(self.table),)) if name != REPLACED}

    def recorded(self) -> tuple[str, int] | None:
        """See ``TableSink``."""
        if not self._ask("SELECT 1 WHERE to_regclass(%s) IS NOT NULL", (POSITIONS,)):
            return None
        rows = self._ask(f"SELECT job, position FROM {POSITIONS} WHERE name = %s", (self.table,))
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def make(self, types: Mapping[str, str]) -> None:
        """See ``TableSink``."""
        self.run(create_statements(self.table, self.job.id, {**types, REPLACED: "text"}, DIGEST))

    def insert(self, outcomes: Outcomes) -> int:
        """See ``TableSink``."""
        rows, names = memoryview(outcomes.copied(self.fields)), [*self.fields, REPLACED]
        columns = ", ".join(f'"{name}"' for name in names)
        with self._working() as connection, connection.cursor() as cursor:
            # Of these columns alone: others, of the user's, may have to have a value, which the table gives them.
            of_table = f"SELECT {columns} FROM {quoted(self.table)} WITH NO DATA"
            cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {STAGE} ON COMMIT DROP AS {of_table}")
            with cursor.copy(f"COPY {STAGE} ({columns}) FROM STDIN (FORMAT binary)") as copy:
                for start in range(0, len(rows), PIECE):
                    copy.write(rows[start : start + PIECE])
            # One statement may not change a row twice.
            source = f"SELECT DISTINCT ON ({DIGEST}) {columns} FROM {STAGE}"
            cursor.execute(upsert(self.table, names, source, DIGEST))
            cursor.execute(f"TRUNCATE {STAGE}")
        return len(rows)

    def close(self) -> None:
        """Close the connection: everything is committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Ask, outside the transaction of rows."""
        import psycopg

        try:
            with self._connect() as connection:
                connection.autocommit = True
                return connection.execute(query, values).fetchall()
        except psycopg.Error as error:
            raise failed(self.url, error, is_away=_is_away(error)) from None

    def _connect(self) -> psycopg.Connection[Any]:
        """Connect."""
        import psycopg

        stated = psycopg.conninfo.conninfo_to_dict(self.database).get("options") or ""
        return psycopg.connect(self.database, **CONNECTION, options=f"{OPTIONS} {stated}")

    def run(self, statements: Sequence[str]) -> None:
        """See ``TableSink``."""
        with self._working() as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    @contextlib.contextmanager
    def _working(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection with the transaction of rows. An error of the database ends it: the rows come again."""
        import psycopg

        try:
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection
        except psycopg.Error as error:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
            raise failed(self.url, error, is_away=_is_away(error)) from None


def _is_away(error: psycopg.Error) -> bool:
    """Whether the server may answer later: it could not be reached, or says so."""
    import psycopg

    code = error.sqlstate
    return isinstance(error, psycopg.OperationalError) if code is None else code.startswith(AWAY)
