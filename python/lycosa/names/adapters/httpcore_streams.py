"""Connections as synchronous httpcore wants them: it has its own, but does not give them away for a given socket."""

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

#: What a step of TLS gives.
Given = TypeVar("Given")

#: Bytes read at once for TLS within TLS: a record and its frame (RFC 8446 section 5.2).
RECORD = 16_384 + 256 + 5


class SocketStream(NetworkStream):
    """A connected socket, plain or with TLS."""

    def __init__(self, connected: socket.socket) -> None:
        """Take the socket, which is closed with the stream."""
        self._socket = connected

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, at most so many bytes; none at the end. Raises ReadTimeout, ReadError."""
        with _raising(ReadTimeout, ReadError):
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all; ``timeout`` is for each part that the system takes. Raises WriteTimeout, WriteError."""
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
        """The connection with TLS, which takes this one's place. Raises ConnectTimeout, ConnectError."""
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
        """What httpcore documents: the socket, its addresses, its TLS, whether reading would not wait."""
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
    """TLS over a stream that has TLS already, as through a proxy on HTTPS: no system's socket does that."""

    def __init__(
        self, below: NetworkStream, context: ssl.SSLContext, server_hostname: str | None, timeout: float | None
    ) -> None:
        """Shake hands over ``below``, which is closed with this one. Raises ConnectTimeout, ConnectError."""
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
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # as a socket with TLS has it: who leaves, leaves
                return b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all. Raises WriteTimeout, WriteError."""
        with _raising(WriteTimeout, WriteError), memoryview(buffer) as rest:
            sent = 0
            while sent < len(rest):
                part = rest[sent:]
                sent += self._step(lambda part=part: self._tls.write(part), timeout)  # type: ignore[misc]

    def close(self) -> None:
        """Close what is below."""
        self._below.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        """One more layer. Raises ConnectTimeout, ConnectError."""
        return TlsStream(self, ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore documents: this layer's TLS, and what the socket says."""
        if info == "ssl_object":
            return self._tls
        if info == "is_readable" and self._incoming.pending:
            return True
        return self._below.get_extra_info(info)

    def _step(self, step: Callable[[], Given], timeout: float | None) -> Given:
        """Do something with TLS, and all sending and receiving that it needs."""
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
                self._flush(timeout)  # with an alert, too, that says why

    def _flush(self, timeout: float | None) -> None:
        """Send what TLS has to say."""
        if self._outgoing.pending:
            self._below.write(self._outgoing.read(), timeout)


@contextlib.contextmanager
def _raising(late: type[Exception], failed: type[Exception]) -> Iterator[None]:
    """Turn the system's errors, and those of a stream below, into these."""
    try:
        yield
    except (TimeoutError, TimeoutException) as error:
        raise late(str(error)) from error
    except (OSError, NetworkError) as error:
        raise failed(str(error)) from error


def _is_readable(asked: socket.socket) -> bool:
    """Whether something came that nobody has read, or the end; a closed socket counts as its own end."""
    if asked.fileno() < 0:
        return True
    # No select.select: it knows no file descriptor from 1,024 on.
    poll = select.poll()
    poll.register(asked, select.POLLIN)
    return bool(poll.poll(0))
