"""Calls of the protocol, as clients and download servers make them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp

from lycosa.dispatch.jsons import read_json, write_json
from lycosa.dispatch.protocol import JSON, PROTOCOL, VERSION
from lycosa.dispatch.refusal import CODES, Refusal
from lycosa.errors import SettingError

#: Seconds to connect; for an answer.
CONNECT, ANSWER = 5.0, 60.0

#: The same where there are several masters; seconds for which one that was silent is not called again.
CONNECT_SEVERAL, ANSWER_SEVERAL, PASSED_OVER = 1.5, 5.0, 3.0

#: Bytes that are received before reading pauses: results come by the megabyte.
READ = 1 << 20

#: Bytes of an answer; the longest wait that one may ask for, in seconds.
MAX_ANSWER, LONGEST = 512 << 20, 3_600.0


def tls_context(ca_file: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return what checks servers' certificates, and has an own one for mutual TLS; `None`: the system's roots."""
    if ca_file is None and certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        allowed = f"files in PEM ({error.strerror or error})"
        raise SettingError("TLS", ca_file or certificate, allowed) from None
    return context


class Caller:
    """Calls a server, or the one of several masters that serves. An async context manager.

    It stays with the server that answers. One that cannot be connected to has not got the request: the next one is
    called at once. One that fails otherwise may have got it: the next call begins with another one.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        fields: Mapping[str, str] | None = None,
        context: ssl.SSLContext | aiohttp.Fingerprint | None = None,
    ) -> None:
        """url: of the server, or several with commas. token: of a service, or of download servers.

        fields: header fields of each request. context: of TLS, or the one certificate that the server must have;
        `None`: the system's roots.
        """
        self._urls = [one.strip().rstrip("/") for one in url.split(",")]
        if not all(one.startswith(("http://", "https://")) for one in self._urls):
            allowed = "an http or https URL, such as http://127.0.0.1:7700, or several with commas"
            raise SettingError("master", url, allowed)
        self.url = self._urls[0]  # the one that is called
        self._silent: dict[str, float] = {}  # when those that did not answer may be called again
        self._fields = {VERSION: str(PROTOCOL), **(fields or {})}
        if token is not None:
            self._fields["authorization"] = f"Bearer {token}"
        self._context = context
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, given: object, within: float = ANSWER) -> dict[str, Any]:
        """Send JSON; returns the JSON of the answer. Raises Refusal, aiohttp.ClientError, TimeoutError."""
        body = write_json(given)
        _, answer = await self.send(path, body, {"content-type": JSON}, within)
        return _object(answer)

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of an answer to a GET."""
        _, answer = await self.send(path, None, {})
        return _object(answer)

    async def send(
        self, path: str, body: bytes | None, fields: Mapping[str, str], within: float = ANSWER, most: int = MAX_ANSWER
    ) -> tuple[Mapping[str, str], bytes]:
        """Send bytes (`None`: a GET); returns the answer's header fields and its body. Raises as ``post``.

        within: seconds; with several masters ANSWER_SEVERAL at most. most: bytes of an answer.
        """
        if len(self._urls) == 1:
            return await self._send(self.url, path, body, fields, _limits(within, CONNECT), most)
        limits = _limits(min(within, ANSWER_SEVERAL), CONNECT_SEVERAL)
        for url in self._order():
            try:
                answer = await self._send(url, path, body, fields, limits, most)
            except aiohttp.ClientConnectorError as error:
                refused: aiohttp.ClientError = error
            except aiohttp.ConnectionTimeoutError as error:
                self._silent[url] = time.monotonic() + PASSED_OVER
                refused = error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                if isinstance(error, TimeoutError):
                    self._silent[url] = time.monotonic() + PASSED_OVER
                self._turn(url)
                raise
            except Refusal as refusal:
                if refusal.code == "unavailable":
                    self._turn(url)
                raise
            else:
                self.url = url
                return answer
        raise refused

    def _order(self) -> list[str]:
        """Return the servers to call, one after the other: without silent ones, unless all are silent."""
        begin, now = self._urls.index(self.url), time.monotonic()
        turned = self._urls[begin:] + self._urls[:begin]
        heard = [url for url in turned if self._silent.get(url, now) <= now]
        return heard or [min(turned, key=lambda url: self._silent[url])]

    def _turn(self, url: str) -> None:
        """Begin the next call with another server than this one."""
        if self.url == url:
            self.url = self._urls[(self._urls.index(url) + 1) % len(self._urls)]

    async def _send(
        self,
        url: str,
        path: str,
        body: bytes | None,
        fields: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        most: int,
    ) -> tuple[Mapping[str, str], bytes]:
        """Send to one server."""
        session = self._opened()
        method = "GET" if body is None else "POST"
        named = {**self._fields, **fields}
        async with session.request(
            method, url + path, data=body, headers=named, timeout=limits, allow_redirects=False
        ) as answer:
            parts, size = list[bytes](), 0
            async for part, _ in answer.content.iter_chunks():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise Refusal("unavailable", f"an answer of more than {most} bytes", 1.0)
            content = b"".join(parts)
            if answer.status >= 300:
                raise _refusal(answer.status, content)
            return answer.headers, content

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session of the running event loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ssl=self._context or True)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("accept-encoding",),
                auto_decompress=False,
                trust_env=False,
                read_bufsize=READ,
            )
        return self._session

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        """Return the caller."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close it."""
        await self.close()


def _limits(within: float, connect: float) -> aiohttp.ClientTimeout:
    """Return the limits of a call, in seconds."""
    return aiohttp.ClientTimeout(total=within, sock_connect=connect)


def _object(answer: bytes) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        found = read_json(answer)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Refusal("malformed", "the answer is no JSON object: is this the URL of a master or a download server?")
    return found


def _refusal(status: int, content: bytes) -> Refusal:
    """Return what an error says; one that is none of ours may be a proxy's, or of a server that ends."""
    try:
        given = read_json(content)
        code, detail, after = str(given["error"]), str(given["detail"]), min(max(float(given["after"]), 0.0), LONGEST)
    except (ValueError, KeyError, TypeError, OverflowError):
        code, detail, after = "", "", 1.0
    if code in CODES:
        return Refusal(code, detail.removeprefix(f"{code}: "), after)
    if status >= 500 or status in (408, 429):
        return Refusal("unavailable", f"status {status}", after)
    return Refusal("malformed", f"status {status}: is this the URL of a master or a download server?")
