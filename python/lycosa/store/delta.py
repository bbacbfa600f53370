"""Delta Lake: ``delta:///data/pages``, ``delta+s3://bucket/pages`` (extra ``delta``: deltalake).

A table of Parquet files with a log of its own, which Spark, DuckDB, Polars and many warehouses read. Rows and
position are one commit: the position is the table's transaction of the job (protocol section "Transaction
Identifiers"), so that each row is there once, whatever fails. Credentials come from the environment of each
provider's tools.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

from lycosa.errors import OutputAway, SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob, scheme_of
from lycosa.store.file_sink import check_writable, set_needs
from lycosa.store.restart import check_restart

if TYPE_CHECKING:
    import pyarrow
    from deltalake import CommitProperties, DeltaTable

#: Types of Arrow that Delta does not have, and those that hold the same values.
WIDER = {"uint8": "int16", "uint16": "int32", "uint32": "int64"}


class DeltaSink(Sink):
    """Writes a table: a file of Parquet at each commit."""

    commit_bytes: int = 128 << 20
    commit_seconds: float = 60.0

    def __init__(self, url: str) -> None:
        """Open nothing yet. Raises SettingError for a path that is not absolute."""
        parts, scheme = urlsplit(url), scheme_of(url)
        super().__init__(url)
        self._is_local = scheme == "delta"
        if self._is_local and (parts.netloc or not parts.path.strip("/")):
            raise SettingError("output", url, "delta: with an absolute path, such as delta:///data/pages")
        #: Where the table is, as the library has it.
        self.place = unquote(parts.path) if self._is_local else url.removeprefix("delta+")
        self._fields: list[str] = []
        self._pending: list[pyarrow.Table] = []

    @property
    def location(self) -> str:
        """See ``lycosa.sink.Sink``."""
        return str(Path(self.place).resolve()) if self._is_local else self.place.rstrip("/")

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        self._fields = list(job.fields)
        set_needs(self, job.fields)

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError for a table that is not ours, or without the library; see ``lycosa.sink.Sink``."""
        if importlib.util.find_spec("deltalake") is None or importlib.util.find_spec("pyarrow") is None:
            raise SettingError("output", self.url, "a directory; for Delta Lake: pip install 'lycosa[delta]'")
        if self._is_local:
            check_writable("output", Path(self.place))
        table = self._table()
        if table is None or fresh:
            return
        if not is_ours and table.transaction_version(self.job.id) is None:
            raise SettingError("output", self.url, "a table that does not exist yet, or fresh to replace it")
        known = {field.name for field in table.schema().fields}
        if not known <= set(self._fields):
            lost = ", ".join(sorted(known - set(self._fields)))
            raise SettingError(
                "output", self.url, f"a table whose columns are all in store.fields; it also has {lost}"
            )

    def exists(self) -> bool:
        """Return whether there is a table."""
        return self._table() is not None

    def open(self, first: int, end: int) -> int:
        """Drop what is not committed; see ``lycosa.sink.Sink``."""
        self._pending.clear()
        position = self.committed() or 0
        if position > end:
            check_restart(self.url, first, "the log is shorter than its position")
            self.remove()
            position = 0
        return position

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Keep rows until the commit."""
        import pyarrow

        table = pyarrow.table(outcomes.take_columns(self._fields))
        if table.num_rows == 0:
            return 0
        self._pending.append(table)
        size: int = table.nbytes
        return size

    def commit(self, position: int) -> None:
        """Write rows and position in one commit of the table."""
        if not self._pending and self.committed() == position:
            return
        self._write("append", self._rows(), position)
        self._pending.clear()

    def committed(self) -> int | None:
        """Return the position of the table's last commit of this job."""
        table = self._table()
        return None if table is None else table.transaction_version(self.job.id)

    def close(self) -> None:
        """Nothing is open."""
        self._pending.clear()

    def remove(self) -> None:
        """Remove all rows, and the position; earlier versions of the table stay until somebody vacuums it."""
        self._pending.clear()
        if self._table() is not None:
            self._write("overwrite", self._rows(), 0)

    def _rows(self) -> pyarrow.Table:
        """The rows that are not committed, in types that Delta has."""
        import pyarrow

        tables = self._pending or [pyarrow.table(Outcomes().columns(self._fields))]
        table = pyarrow.concat_tables(tables)
        return table.cast(pyarrow.schema([_wider(field) for field in table.schema]))

    def _write(self, mode: Literal["append", "overwrite"], rows: pyarrow.Table, position: int) -> None:
        """Write rows and position."""
        import deltalake

        with self._working():
            deltalake.write_deltalake(
                self.place,
                rows,
                mode=mode,
                schema_mode="overwrite" if mode == "overwrite" else "merge",
                commit_properties=self._properties(position),
            )

    def _properties(self, position: int) -> CommitProperties:
        """The position, as a commit has it."""
        import deltalake

        return deltalake.CommitProperties(
            custom_metadata={"writer": "lycosa"},
            app_transactions=[deltalake.Transaction(app_id=self.job.id, version=position)],
        )

    def _table(self) -> DeltaTable | None:
        """The table, `None` if there is none."""
        import deltalake.exceptions

        with self._working():
            try:
                # Not is_deltatable: it holds Python's lock while it waits for a store, and with it the crawl.
                return deltalake.DeltaTable(self.place)
            except deltalake.exceptions.TableNotFoundError:
                return None

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """Raise the library's errors as ours: OSError for a full disk, OutputAway for a store that is away."""
        import deltalake.exceptions

        try:
            yield
        except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
            text = f"{self.url}: {str(error).splitlines()[0][:300]}"
            if os.strerror(errno.ENOSPC) in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.place) from None
            is_away = not self._is_local and isinstance(error, OSError)
            raise (OutputAway if is_away else StorageError)(text) from None


def _wider(field: pyarrow.Field) -> pyarrow.Field:
    """A field in a type that Delta has."""
    import pyarrow

    return field.with_type(_wider_type(field.type)) if not pyarrow.types.is_null(field.type) else field


def _wider_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """A type that Delta has: it knows no numbers without a sign."""
    import pyarrow

    if pyarrow.types.is_list(kind):
        return pyarrow.list_(_wider(kind.value_field))
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([_wider(kind.field(number)) for number in range(kind.num_fields)])
    if (name := WIDER.get(str(kind))) is not None:
        return pyarrow.type_for_alias(name)
    return pyarrow.decimal128(20) if str(kind) == "uint64" else kind
