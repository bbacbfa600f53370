"""httpx: ``httpx.Client(transport=HttpxTransport(lookups))``, and ``HttpxAsyncTransport`` for clients on asyncio.

httpx lets nobody choose how its own transports connect; these do as they do, over httpcore's public pools.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, TypedDict, Unpack

import httpcore
import httpx

from lycosa.names.adapters.httpcore import HttpcoreBackend, HttpcoreSyncBackend
from lycosa.names.lookups import Lookups

#: httpx's default limits of connections.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20)


class HttpxOptions(TypedDict, total=False):
    """The options of `httpx.HTTPTransport`, with the same defaults. Through a proxy, the proxy resolves."""

    verify: ssl.SSLContext | str | bool
    cert: Any
    trust_env: bool
    http1: bool
    http2: bool
    limits: httpx.Limits
    proxy: httpx.Proxy | httpx.URL | str | None
    uds: str | None
    local_address: str | None
    retries: int
    socket_options: Iterable[Any] | None


class HttpxTransport(httpx.BaseTransport):
    """`httpx.HTTPTransport` that connects to the addresses of the lookups, by Happy Eyeballs (RFC 8305)."""

    def __init__(self, lookups: Lookups, **options: Unpack[HttpxOptions]) -> None:
        """Use the lookups, which stay open; options are those of `httpx.HTTPTransport`."""
        self._pool = httpcore.ConnectionPool(network_backend=HttpcoreSyncBackend(lookups), **_for_pool(**options))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises what httpx raises."""
        with _errors_of_httpx():
            answer = self._pool.handle_request(_for_httpcore(request))
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class HttpxAsyncTransport(httpx.AsyncBaseTransport):
    """The same for `httpx.AsyncHTTPTransport`, on asyncio."""

    def __init__(self, lookups: Lookups, **options: Unpack[HttpxOptions]) -> None:
        """Use the lookups, which stay open; options are those of `httpx.AsyncHTTPTransport`."""
        self._pool = httpcore.AsyncConnectionPool(network_backend=HttpcoreBackend(lookups), **_for_pool(**options))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises what httpx raises."""
        with _errors_of_httpx():
            answer = await self._pool.handle_async_request(_for_httpcore(request))
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_AsyncBody(answer), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx.SyncByteStream):
    """A body as a stream."""

    def __init__(self, answer: httpcore.Response) -> None:
        """Take the response."""
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        """Its parts."""
        with _errors_of_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        """Give the connection back."""
        self._answer.close()


class _AsyncBody(httpx.AsyncByteStream):
    """The same in an event loop."""

    def __init__(self, answer: httpcore.Response) -> None:
        """Take the response."""
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Its parts."""
        with _errors_of_httpx():
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._answer.aclose()


def _for_pool(
    *,
    verify: ssl.SSLContext | str | bool = True,
    cert: Any = None,
    trust_env: bool = True,
    limits: httpx.Limits = LIMITS,
    proxy: httpx.Proxy | httpx.URL | str | None = None,
    **same: Any,
) -> dict[str, Any]:
    """Convert a transport's options to those of httpcore's pool; most are the same."""
    options: dict[str, Any] = {
        "ssl_context": httpx.create_ssl_context(verify=verify, cert=cert, trust_env=trust_env),
        "max_connections": limits.max_connections,
        "max_keepalive_connections": limits.max_keepalive_connections,
        "keepalive_expiry": limits.keepalive_expiry,
    }
    if proxy is not None:
        proxy = proxy if isinstance(proxy, httpx.Proxy) else httpx.Proxy(proxy)
        options["proxy"] = httpcore.Proxy(
            _url(proxy.url), auth=proxy.raw_auth, headers=proxy.headers.raw, ssl_context=proxy.ssl_context
        )
    return options | same


def _for_httpcore(request: httpx.Request) -> httpcore.Request:
    """Convert a request to httpcore's."""
    return httpcore.Request(
        request.method,
        _url(request.url),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _url(url: httpx.URL) -> httpcore.URL:
    """Convert a URL to httpcore's."""
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


@contextlib.contextmanager
def _errors_of_httpx() -> Iterator[None]:
    """Convert httpcore's errors to httpx's, which have the same names."""
    try:
        yield
    except Exception as error:
        for kind in type(error).__mro__:
            found = getattr(httpx, kind.__name__, None) if kind.__module__.startswith("httpcore") else None
            if isinstance(found, type) and issubclass(found, httpx.TransportError):
                raise found(str(error)) from error
        raise
