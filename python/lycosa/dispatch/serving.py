"""How master, download servers and receivers serve HTTP, by uvicorn: sockets, TLS, limits of connections and heads.

Guarantees: a request has at most ``MAX_HEAD`` bytes before its body and ``HEAD_SECONDS`` to send them, and
``BODY_SECONDS`` for its body; another machine has at most ``MAX_OF_ADDRESS`` connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lycosa.dispatch.http import App, is_loopback
from lycosa.errors import SettingError
from lycosa.names.server_settings import endpoint, told

#: Limits of a request: bytes of its head; seconds for it, and for its body. The application refuses a slow body
#: earlier, with the reason.
MAX_HEAD, HEAD_SECONDS, BODY_SECONDS = 16_384, 10.0, 70.0

#: Connections at once, of all and of one other machine; seconds for which an idle one is kept.
MAX_CONNECTIONS, MAX_OF_ADDRESS, KEEP_ALIVE = 4_096, 512, 30


class Limited(HttpToolsProtocol):
    """uvicorn's protocol with limits of connections, and of heads: bytes, and time."""

    #: Connections of each other machine.
    connected: ClassVar[Counter[str]] = Counter()

    _limit: float | None = None  # seconds for the head or the body that is expected; None: neither

    def connection_made(self, transport: Any) -> None:
        """Count the connection, and start the clock of the first head."""
        gathered: Any = _Gathered(transport, self.loop)
        super().connection_made(gathered)
        self._expect(HEAD_SECONDS)
        peer = self.client[0] if self.client is not None else ""
        self._peer = "" if is_loopback(peer) else peer
        self.connected[self._peer] += 1
        if self._peer and self.connected[self._peer] > MAX_OF_ADDRESS:
            self.transport.abort()
        # One timer for all that comes over the connection: one for each request would cost more than its bytes.
        self._watch = self.loop.call_later(HEAD_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head."""
        if self._limit == HEAD_SECONDS:
            self._head += len(data)
            # A body may follow in the same segment: it is within the limit, or the head was not.
            if self._head > MAX_HEAD and self._head - len(data) + _head_bytes(data) > MAX_HEAD:
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start the clock of a further head."""
        super().on_message_begin()
        if self._limit is None:
            self._expect(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """Start the clock of its body."""
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the clock."""
        self._limit = None
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock, and count the connection no more."""
        self._watch.cancel()
        self.connected[self._peer] -= 1
        if not self.connected[self._peer]:
            del self.connected[self._peer]
        super().connection_lost(exc)

    def _expect(self, seconds: float) -> None:
        """Start the clock of a head or a body."""
        self._head, self._limit, self._since = 0, seconds, self.loop.time()

    def _look(self) -> None:
        """Close the connection of a peer that is late; if it is not, look again when it may be."""
        left = HEAD_SECONDS if self._limit is None else self._since + self._limit - self.loop.time()
        if left <= 0:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(left, self._look)


class _Gathered:
    """A transport that sends what is written in one turn of the event loop at once.

    Head and body of a response would be a system call each, which is a quarter of what a grant costs.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        """transport: of asyncio; all else is its own."""
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self.is_closing, self.get_extra_info = transport.is_closing, transport.get_extra_info

    def write(self, data: bytes) -> None:
        """Write."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        """Close, once what was written is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        """Send what was written."""
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.writelines(parts)

    def __getattr__(self, name: str) -> Any:
        """Return what is the transport's own."""
        return getattr(self._transport, name)


def _head_bytes(data: bytes) -> int:
    """Return how many bytes of a segment belong to a head at most."""
    end = data.find(b"\r\n\r\n")
    return len(data) if end < 0 else end


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate of a server, and whose certificates its peers must have."""

    certificate: Path
    key: Path
    client_ca: Path | None = None  # mutual TLS: who has no certificate of these roots is refused

    def check(self) -> None:
        """Raise SettingError if a file cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            allowed = f"a certificate and its key in PEM ({error.strerror or error})"
            raise SettingError("--tls-certificate", self.certificate, allowed) from None
        if self.client_ca is not None:
            try:
                context.load_verify_locations(self.client_ca)
            except OSError as error:
                allowed = f"root certificates in PEM ({error.strerror or error})"
                raise SettingError("--tls-client-ca", self.client_ca, allowed) from None


def bind(listen: str, *, is_closed: bool) -> socket.socket:
    """Bind a socket; raises SettingError for a bad address, or one that others reach while some need no token.

    is_closed: whether everybody needs a token.
    """
    found = endpoint(listen)
    if found is None or found[1] is None:
        raise SettingError(
            "--listen", listen, "an address and a port: 127.0.0.1:7700, [::1]:7700; port 0: any free one"
        )
    address, port = found
    if not is_loopback(str(address)) and not is_closed:
        allowed = "an address of this machine alone, such as 127.0.0.1:7700; others once all services have tokens"
        raise SettingError("--listen", listen, allowed)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # asyncio sends small writes at once (TCP_NODELAY) only where the protocol is named.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((str(address), port))
    except OSError as error:
        bound.close()
        raise OSError(error.errno, f"--listen: {listen} cannot be used: {error.strerror}") from None
    return bound


@contextlib.asynccontextmanager
async def serving(app: App, bound: socket.socket, tls: Tls | None = None) -> AsyncIterator[str]:
    """Serve an application on a bound socket; yields its URL."""
    # The types of uvicorn want text where its code takes paths.
    secure: dict[str, Any] = {}
    if tls is not None:
        secure = {"ssl_certfile": str(tls.certificate), "ssl_keyfile": str(tls.key)}
        if tls.client_ca is not None:
            secure |= {"ssl_ca_certs": str(tls.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(
        app,
        http=Limited,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=5,
        **secure,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(server.serve(sockets=[bound]))
        try:
            await server.listening.wait()
            host, port = bound.getsockname()[:2]
            yield f"http{'' if tls is None else 's'}://{told(ipaddress.ip_address(host), port)}"
        finally:
            # Also where the caller was cancelled: connections and sockets are closed by the server itself.
            server.should_exit = True
            await asyncio.wait([task])


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        """config: of uvicorn."""
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so; also if it failed, for then the task ends with the error."""
        try:
            await super().startup(sockets)
        finally:
            self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Capture none."""
        yield
