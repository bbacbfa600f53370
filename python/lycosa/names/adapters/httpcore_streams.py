"""Network streams for synchronous httpcore, which does not export its own for an existing socket."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from httpcore import (
    ConnectError,
    ConnectTimeout,
    NetworkError,
    NetworkStream,
    ReadError,
    ReadTimeout,
    TimeoutException,
    WriteError,
    WriteTimeout,
)

#: Result of a TLS step.
Given = TypeVar("Given")

#: Bytes per read for TLS within TLS: a record and its frame (RFC 8446 section 5.2).
RECORD = 16_384 + 256 + 5


class SocketStream(NetworkStream):
    """A connected socket, plain or with TLS."""

    def __init__(self, connected: socket.socket) -> None:
        """Use the socket, which is closed with the stream."""
        self._socket = connected

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, at most so many bytes; none at the end. Raises ReadTimeout, ReadError."""
        with _raising(ReadTimeout, ReadError):
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all; ``timeout`` is for each partial write. Raises WriteTimeout, WriteError."""
        with _raising(WriteTimeout, WriteError), memoryview(buffer) as rest:
            self._socket.settimeout(timeout)
            sent = 0
            while sent < len(rest):
                sent += self._socket.send(rest[sent:])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        """Return the connection with TLS, which replaces this one. Raises ConnectTimeout, ConnectError."""
        if isinstance(self._socket, ssl.SSLSocket):
            return TlsStream(self, ssl_context, server_hostname, timeout)
        try:
            with _raising(ConnectTimeout, ConnectError):
                self._socket.settimeout(timeout)
                return SocketStream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore documents: the socket, its addresses, its TLS, whether it is readable."""
        if info == "ssl_object":
            return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
        if info == "client_addr":
            return self._socket.getsockname()
        if info == "server_addr":
            return self._socket.getpeername()
        if info == "socket":
            return self._socket
        if info == "is_readable":
            return _is_readable(self._socket)
        return None


class TlsStream(NetworkStream):
    """TLS over a stream that has TLS already, as through an HTTPS proxy, which SSL sockets cannot do."""

    def __init__(
        self, below: NetworkStream, context: ssl.SSLContext, server_hostname: str | None, timeout: float | None
    ) -> None:
        """Do the handshake over ``below``, which is closed with this one. Raises ConnectTimeout, ConnectError."""
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            with _raising(ConnectTimeout, ConnectError):
                self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_hostname)
                self._step(self._tls.do_handshake, timeout)
        except BaseException:
            below.close()
            raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, at most so many bytes; none at the end. Raises ReadTimeout, ReadError."""
        with _raising(ReadTimeout, ReadError):
            try:
                return self._step(lambda: self._tls.read(max_bytes), timeout)
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # the end, with or without close_notify
                return b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all. Raises WriteTimeout, WriteError."""
        with _raising(WriteTimeout, WriteError), memoryview(buffer) as rest:
            sent = 0
            while sent < len(rest):
                part = rest[sent:]
                sent += self._step(lambda part=part: self._tls.write(part), timeout)  # type: ignore[misc]

    def close(self) -> None:
        """Close the stream below."""
        self._below.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        """Return the stream with one more layer of TLS. Raises ConnectTimeout, ConnectError."""
        return TlsStream(self, ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore documents: this layer's TLS, and the socket's information."""
        if info == "ssl_object":
            return self._tls
        if info == "is_readable" and self._incoming.pending:
            return True
        return self._below.get_extra_info(info)

    def _step(self, step: Callable[[], Given], timeout: float | None) -> Given:
        """Run a TLS operation, with the sends and receives that it needs."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self._flush(timeout)
                received = self._below.read(RECORD, timeout)
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()
            finally:
                self._flush(timeout)  # may send an alert

    def _flush(self, timeout: float | None) -> None:
        """Send TLS's pending output."""
        if self._outgoing.pending:
            self._below.write(self._outgoing.read(), timeout)


@contextlib.contextmanager
def _raising(late: type[Exception], failed: type[Exception]) -> Iterator[None]:
    """Convert the system's errors, and those of a stream below, to these."""
    try:
        yield
    except (TimeoutError, TimeoutException) as error:
        raise late(str(error)) from error
    except (OSError, NetworkError) as error:
        raise failed(str(error)) from error


def _is_readable(asked: socket.socket) -> bool:
    """Return whether there is unread data, or the end of the stream; a closed socket counts as the end."""
    if asked.fileno() < 0:
        return True
    # Not select.select: it does not support file descriptors from 1,024 on.
    poll = select.poll()
    poll.register(asked, select.POLLIN)
    return bool(poll.poll(0))
