"""The HTTP of master and download servers as an ASGI application: routes, limits of bodies, tokens, errors.

Guarantees: a body has the limit of its route in bytes, and ``BODY_SECONDS``. A refused request is refused whole, with
a code of ``refusal``; if its body was not read, its connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from lycosa import __version__
from lycosa.dispatch.audit import note_refused
from lycosa.dispatch.jsons import read_json, write_json
from lycosa.dispatch.protocol import JSON, PROTOCOL, VERSION
from lycosa.dispatch.refusal import CODES, Refusal

logger = logging.getLogger("lycosa")

#: Seconds for a request's body; bytes of a small one.
BODY_SECONDS, SMALL = 60.0, 65_536

#: Of each response.
_FIELDS = [(VERSION.encode(), str(PROTOCOL).encode()), (b"server", f"lycosa/{__version__}".encode())]


class Call(NamedTuple):
    """A request."""

    peer: str  # address
    fields: Mapping[str, str]  # header fields; names in lower case
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object; raises Refusal."""
        try:
            given = read_json(self.body)
        except ValueError:
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
            *_FIELDS,
            *((name.encode(), value.encode()) for name, value in answer.fields),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": fields})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Any, receive: Any) -> Reply:
        """Return the answer to one request."""
        path, peer, is_read = scope["path"], (scope["client"] or ("",))[0], False
        try:
            route = self._routes.get((scope["method"], path))
            if route is None:
                status, what = (405, "method") if path in self._paths else (404, "path")
                return reply({"error": "malformed", "detail": f"no such {what}", "after": 0}, status)
            fields = _fields(scope["headers"])
            # A browser sends one of these with what the page of another site asks for; programs send neither.
            if "origin" in fields or fields.get("sec-fetch-site", "none") != "none":
                raise Refusal("malformed", "requests of web pages are not served")
            given = fields.get(VERSION, str(PROTOCOL))
            if given != str(PROTOCOL):
                raise Refusal("other-version", f"the request has version {given:.20}, this {self._what} {PROTOCOL}")
            if route.admit is not None:
                route.admit(Call(peer, fields, b""))
            body = await _body(receive, fields, route.max_bytes)
            is_read = True
            return await route.handle(Call(peer, fields, body))
        except Refusal as refusal:
            note_refused(self._what, f"{scope['method']} {path}", peer, refusal.logged)
            answer = refused(refusal)
            return answer if is_read else answer._replace(fields=(*answer.fields, ("connection", "close")))
        except Exception:
            # Ours: who asked learns nothing of it, and others are served.
            logger.exception("%s: %s %s", self._what, scope["method"], path)
            return refused(Refusal("internal", after=1.0))


def _fields(given: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return header fields by name; raises Refusal for one that comes twice: two readers may read two things."""
    listed = list(given)
    fields = {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in listed}
    if len(fields) < len(listed):
        twice, _ = Counter(name.lower() for name, _ in listed).most_common(1)[0]
        raise Refusal("malformed", f"the header field {twice.decode('latin-1'):.100} comes twice")
    return fields


async def _body(receive: Any, fields: Mapping[str, str], most: int) -> bytes:
    """Return the body of a request; raises Refusal if it is too large or takes too long."""
    length = fields.get("content-length", "0")
    chunked = "transfer-encoding" in fields
    if not length.isdecimal() or int(length) > most:
        raise Refusal("too-large", f"a body of {length:.20} bytes; allowed: {most}")
    if int(length) <= SMALL and not chunked:
        # It has the time that the connection has for it: a clock for each costs more than to read it.
        return await _received(receive, most)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BODY_SECONDS):
            return await _received(receive, most)
    raise Refusal("too-large", f"a body that takes longer than {BODY_SECONDS:g} s")


async def _received(receive: Any, most: int) -> bytes:
    """Return what of a body comes; raises Refusal if it is too large."""
    parts, size, is_more = [], 0, True
    while is_more:
        event = await receive()
        if event["type"] != "http.request":
            raise Refusal("malformed", "the connection was closed within the body")
        part, is_more = event.get("body", b""), event.get("more_body", False)
        size += len(part)
        if size > most:
            raise Refusal("too-large", f"a body of more than {most} bytes")
        parts.append(part)
    return b"".join(parts) if len(parts) > 1 else parts[0]


@functools.lru_cache(1_024)
def is_loopback(address: str) -> bool:
    """Return whether an address is this machine's own; IPv4 in IPv6 is looked into."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return bool((getattr(found, "ipv4_mapped", None) or found).is_loopback)


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
