"""Arrow Flight: ``grpc://HOST:PORT/NAME``, ``grpc+tls://…``: columns are put to a server as they are in memory.

Rows between two commits are one call of DoPut, whose descriptor has the path ``NAME``; a server keeps them when the
call ends without an error. The position is stored after that, in the job directory: so each row arrives, and after a
crash between the two once more, as the same ``url`` and ``fetched_at``. Each batch has metadata for servers that drop
what they have: ``{"job": …, "position": …}``, the position of the log behind it, which batches may have in common. A
token comes from the environment.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lycosa.errors import OutputAway, SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob
from lycosa.store.file_sink import set_needs
from lycosa.store.parquet import require_library

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.flight import FlightCallOptions, FlightClient, FlightDescriptor, FlightMetadataReader

logger = logging.getLogger("lycosa")

#: The variable of the environment with a token.
TOKEN = "LYCOSA_FLIGHT_TOKEN"  # noqa: S105  # a name

#: Seconds within which a server answers a question, and takes the rows of a commit.
ANSWERS, TAKES = 10.0, 120.0


class FlightSink(Sink):
    """Puts rows to a server."""

    commit_bytes: int = 32 << 20
    commit_seconds: float = 10.0

    def __init__(self, url: str) -> None:
        """Open nothing yet. Raises SettingError for a URL without a host, a port and a name."""
        super().__init__(url)
        parts = urlsplit(url)
        self._path = [unquote(part) for part in parts.path.strip("/").split("/")]
        try:
            has_place = bool(parts.hostname and parts.port)
        except ValueError:
            has_place = False
        if not has_place or not all(self._path) or parts.query:
            raise SettingError("output", url, f"{parts.scheme}://HOST:PORT/NAME")
        self._server, self._is_encrypted = f"{parts.scheme}://{parts.netloc}", parts.scheme.lower() == "grpc+tls"
        self._host = parts.hostname or ""
        self._fields: list[str] = []
        self._client: FlightClient | None = None
        self._pending: list[tuple[pyarrow.RecordBatch, bytes]] = []

    @property
    def location(self) -> str:
        """See ``lycosa.sink.Sink``."""
        return f"{self._server.lower()}/{'/'.join(self._path)}"

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        self._fields = list(job.fields)
        set_needs(self, job.fields)

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without pyarrow, or for a token that everybody could read; OutputAway without answer."""
        require_library(self.url)
        token = os.environ.get(TOKEN, "")
        if not (token.isascii() and token.isprintable()):
            raise SettingError(TOKEN, "***", "letters, digits and signs of ASCII, without line breaks")
        if token and not self._is_encrypted and not _is_local(self._host):
            raise SettingError("output", self.url, f"grpc+tls://…, since {TOKEN} is set, or a server of this machine")
        self._ask()

    def open(self, first: int, end: int) -> int:
        """Drop what was not committed; see ``lycosa.sink.Sink``. Raises OutputAway before rows are made in vain."""
        self._drop()
        self._pending.clear()
        self._ask()
        return super().open(first, end)

    def write(self, outcomes: Outcomes, position: int) -> int:
        """Keep rows until the commit: a call that is left does not look broken to each server."""
        import pyarrow

        if len(outcomes) == 0:
            return 0
        told, size = json.dumps({"job": self.job.id, "position": position}).encode(), 0
        with pyarrow.RecordBatchReader.from_stream(outcomes.take_columns(self._fields)) as reader:
            for batch in reader:
                self._pending.append((batch, told))
                size += batch.nbytes
        return size

    def commit(self, position: int) -> None:
        """Put rows in one call, then store the position."""
        if self._pending:
            with self._working():
                schema = self._pending[0][0].schema
                writer, told = self._connected().do_put(self._descriptor(), schema, self._options(TAKES))
                # A server that acknowledges batches waits until that is read.
                reading = threading.Thread(target=_read_all, args=(told,), name="lycosa-flight", daemon=True)
                reading.start()
                try:
                    for batch, metadata in self._pending:
                        writer.write_with_metadata(batch, metadata)
                    writer.done_writing()
                finally:
                    reading.join()
                writer.close()  # raises the server's error
            self._pending.clear()
        super().commit(position)

    def close(self) -> None:
        """Close the connection: everything is committed."""
        self._drop()

    def _connected(self) -> FlightClient:
        """The connection."""
        if self._client is None:
            from pyarrow.flight import FlightClient

            self._client = FlightClient(self._server)
        return self._client

    def _descriptor(self) -> FlightDescriptor:
        """Where rows are put."""
        from pyarrow.flight import FlightDescriptor

        return FlightDescriptor.for_path(*self._path)

    def _options(self, seconds: float) -> FlightCallOptions:
        """The time that a call may take, and the token, if there is one."""
        from pyarrow.flight import FlightCallOptions

        token = os.environ.get(TOKEN)
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        return FlightCallOptions(timeout=seconds, headers=headers)

    def _ask(self) -> None:
        """Ask the server for anything. Raises OutputAway without an answer, StorageError if it refuses the token."""
        import pyarrow
        from pyarrow import flight

        with self._working():
            try:
                next(iter(self._connected().list_flights(options=self._options(ANSWERS))), None)
            except (*_away(), flight.FlightUnauthenticatedError):
                raise
            except pyarrow.ArrowException as error:
                logger.debug("%s: has no list: %s", self.url, error)

    def _drop(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """Raise the library's errors as ours; the connection is closed then."""
        import pyarrow
        from pyarrow import flight

        try:
            yield
        except _away() as error:
            self._drop()
            raise OutputAway(f"{self.url}: {_first_line(error)}") from None
        except (flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError) as error:
            self._drop()
            text = f"{self.url}: {_first_line(error)}; a token is taken from {TOKEN}"
            raise StorageError(text) from None
        except (pyarrow.ArrowException, OSError) as error:
            self._drop()
            raise StorageError(f"{self.url}: {_first_line(error)}") from None


def _away() -> tuple[type[Exception], ...]:
    """Errors of a server that does not answer."""
    from pyarrow import flight

    return flight.FlightUnavailableError, flight.FlightTimedOutError, flight.FlightCancelledError


def _read_all(told: FlightMetadataReader) -> None:
    """Read what a server tells of batches, to its end; the writer raises what goes wrong."""
    import pyarrow

    with contextlib.suppress(pyarrow.ArrowException):
        while told.read() is not None:
            pass


def _first_line(error: BaseException) -> str:
    """What an error says first."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _is_local(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
