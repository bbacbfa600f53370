"""The HTTP of master and download servers: routes, limits, tokens, errors. Served by uvicorn.

Guarantees: a request has at most ``MAX_HEAD`` bytes before its body and ``HEAD_SECONDS`` to send them; its body has
the limit of its route in bytes, and ``BODY_SECONDS``. A refused request is refused whole, with a code of ``refusal``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import json
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lycosa import __version__
from lycosa.dispatch.jsons import JSON, write_json
from lycosa.dispatch.master import PROTOCOL
from lycosa.dispatch.refusal import CODES, Refusal
from lycosa.errors import SettingError
from lycosa.names.server_settings import endpoint, told

logger = logging.getLogger("lycosa")
audit = logging.getLogger("lycosa.audit")

#: Limits of a request: bytes of its head; seconds for its head, and for its body.
MAX_HEAD, HEAD_SECONDS, BODY_SECONDS = 16_384, 10.0, 60.0

#: Connections at once; seconds for which an idle one is kept.
MAX_CONNECTIONS, KEEP_ALIVE = 4_096, 30

#: The field with the version of the protocol, of each request and response.
VERSION = "lycosa-protocol"


class Call(NamedTuple):
    """A request."""

    peer: str  # address
    fields: Mapping[str, str]  # header fields; names in lower case
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object; raises Refusal."""
        try:
            # Numbers that JSON does not have are refused: they would be equal to nothing.
            given = json.loads(self.body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Refusal("malformed", "the body is no JSON") from None
        if not isinstance(given, dict):
            raise Refusal("malformed", "the body is no JSON object")
        return given


class Reply(NamedTuple):
    """A response."""

    status: int
    body: bytes
    fields: tuple[tuple[str, str], ...] = ()
    kind: str = JSON


class Route(NamedTuple):
    """What handles a method and a path."""

    handle: Callable[[Call], Awaitable[Reply]]
    max_bytes: int = 0  # of a body
    admit: Callable[[Call], object] | None = None  # raises Refusal by the head, before a body is read


def reply(given: object, status: int = 200) -> Reply:
    """Return a response of JSON."""
    return Reply(status, write_json(given))


def refused(refusal: Refusal) -> Reply:
    """Return the response to a refused request."""
    body = {"error": refusal.code, "detail": str(refusal), "after": refusal.after}
    fields = (("retry-after", str(max(round(refusal.after), 1))),) if CODES[refusal.code].again else ()
    return reply(body, CODES[refusal.code].status)._replace(fields=fields)


def field(given: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """Return a member of a JSON object; raises Refusal if it is missing or has another type."""
    value = given.get(name, default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        words = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "an object"}
        raise Refusal("malformed", f"{name}: {value!r:.100}; allowed: {words.get(kind, kind.__name__)}")
    return value


async def _openapi(call: Call) -> Reply:
    """Tell the protocol."""
    from lycosa.dispatch.openapi import document  # only for whoever asks

    return reply(document())


class App:
    """An ASGI application of routes."""

    def __init__(self, what: str, routes: Mapping[tuple[str, str], Route]) -> None:
        """what: master or downloader, for the log."""
        self._what = what
        self._routes = {**routes, ("GET", "/openapi.json"): Route(_openapi)}
        self._paths = {path for _, path in self._routes}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http":
            return
        answer = await self._answer(scope, receive)
        fields = [
            (b"content-type", answer.kind.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (VERSION.encode(), str(PROTOCOL).encode()),
            (b"server", f"lycosa/{__version__}".encode()),
            *((name.encode(), value.encode()) for name, value in answer.fields),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": fields})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Any, receive: Any) -> Reply:
        """Return the answer to one request."""
        path, peer = scope["path"], (scope["client"] or ("",))[0]
        try:
            route = self._routes.get((scope["method"], path))
            if route is None:
                status, what = (405, "method") if path in self._paths else (404, "path")
                return reply({"error": "malformed", "detail": f"no such {what}", "after": 0}, status)
            fields = _fields(scope["headers"])
            given = fields.get(VERSION, str(PROTOCOL))
            if given != str(PROTOCOL):
                raise Refusal("other-version", f"the request has version {given:.20}, this {self._what} {PROTOCOL}")
            if route.admit is not None:
                route.admit(Call(peer, fields, b""))
            body = await _body(receive, fields, route.max_bytes)
            return await route.handle(Call(peer, fields, body))
        except Refusal as refusal:
            audit.info("%s: %s %s from %s: %s", self._what, scope["method"], path, peer, refusal)
            return refused(refusal)
        except Exception:
            # Ours: who asked learns nothing of it, and others are served.
            logger.exception("%s: %s %s", self._what, scope["method"], path)
            return refused(Refusal("internal", after=1.0))


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities."""
    raise ValueError(name)


def _fields(given: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return header fields by name; raises Refusal for one that comes twice: two readers may read two things."""
    fields: dict[str, str] = {}
    for name, value in given:
        key = name.decode("latin-1").lower()
        if key in fields:
            raise Refusal("malformed", f"the header field {key:.100} comes twice")
        fields[key] = value.decode("latin-1").strip()
    return fields


async def _body(receive: Any, fields: Mapping[str, str], most: int) -> bytes:
    """Return the body of a request; raises Refusal if it is too large or takes too long."""
    length = fields.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        raise Refusal("too-large", f"a body of {length:.20} bytes; allowed: {most}")
    parts, size = [], 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise Refusal("malformed", "the connection was closed within the body")
                size += len(event.get("body", b""))
                if size > most:
                    raise Refusal("too-large", f"a body of more than {most} bytes")
                parts.append(event.get("body", b""))
                if not event.get("more_body", False):
                    return b"".join(parts) if len(parts) > 1 else parts[0]
    raise Refusal("too-large", f"a body that takes longer than {BODY_SECONDS:g} s")


class Limited(HttpToolsProtocol):
    """uvicorn's protocol with limits of heads: bytes, and time."""

    def connection_made(self, transport: Any) -> None:
        """Start the clock of the first head."""
        super().connection_made(transport)
        self._head = 0
        self._late: asyncio.TimerHandle | None = None
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head."""
        if self._late is not None:
            self._head += len(data)
            # A body may follow in the same segment: it is within the limit, or the head was not.
            if self._head > MAX_HEAD and self._head - len(data) + _head_bytes(data) > MAX_HEAD:
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start the clock of a further head."""
        super().on_message_begin()
        if self._late is None:
            self._head = 0
            self._await_head()

    def on_headers_complete(self) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        """Close the connection unless the head is complete in time."""
        self._late = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_clock(self) -> None:
        """End the time of a head."""
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        """Close the connection of a peer that is late."""
        self._late = None
        self.transport.abort()


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


@functools.lru_cache(1_024)
def is_loopback(address: str) -> bool:
    """Return whether an address is this machine's own; IPv4 in IPv6 is looked into."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return bool((getattr(found, "ipv4_mapped", None) or found).is_loopback)


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


TOKEN_FIELD = re.compile(r"Bearer +([A-Za-z0-9._~+/=-]{1,512})", re.IGNORECASE)


def token_of(call: Call) -> str | None:
    """Return the token of a request (RFC 6750 section 2.1); `None` without one.

    Raises Refusal for a malformed field.
    """
    given = call.fields.get("authorization")
    if given is None:
        return None
    match = TOKEN_FIELD.fullmatch(given)
    if match is None:
        raise Refusal("bad-token")
    return match[1]
