"""Reads lists of proxies on the web, which strangers write."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit

from lycosa import _core
from lycosa.errors import SettingError

#: Bytes of a list, those that are read at once, and seconds for reading a list, at most.
LONGEST, PART, WITHIN = 16 << 20, 1 << 16, 30.0


def shown(url: str) -> str:
    """Return the scheme and the host of a URL: all else may be a secret, such as a key in the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that is none"
    is_all = parts.path in ("", "/") and not parts.query
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{'' if is_all else '…'}"


class Web:
    """Reads texts on the web, as the crawler that it is, until the crawl ends."""

    def __init__(
        self,
        user_agent: str = "lycosa",
        allowed: Sequence[str] = (),
        stopped: threading.Event | None = None,
        within: float = WITHIN,
    ) -> None:
        """allowed: private networks to which redirects may lead. stopped: ends reading once it is set.

        within: seconds for one text.
        """
        self._user_agent, self._allowed, self._within = user_agent, list(allowed), within
        self._stopped = stopped or threading.Event()

    def text(self, url: str) -> str:
        """Return a text; user and password of its URL are sent by HTTP authentication.

        Raises OSError if it cannot be read in time, whose message has no part of the URL; SettingError if the URL is
        no http or https one.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            raise SettingError("proxies", shown(url), "an http or https URL") from None
        if parts.scheme not in ("http", "https"):
            raise SettingError("proxies", shown(url), "an http or https URL")
        request = urllib.request.Request(  # noqa: S310  # the scheme is checked
            parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), headers={"User-Agent": self._user_agent}
        )
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            # Not sent after a redirect.
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
        with _Way(self._allowed, self._within) as way:
            try:
                return self._read(way, request)
            except (OSError, ValueError, HTTPException) as error:
                if way.is_over():
                    raise TimeoutError(f"it was not complete after {self._within:g} s") from None
                raise OSError(_why(error)) from None

    def _read(self, way: _Way, request: urllib.request.Request) -> str:
        """Read in pieces."""
        body = bytearray()
        with way.open(request) as response:
            while len(body) < LONGEST and (part := response.read1(PART)):
                body += part
                if self._stopped.is_set():
                    raise OSError("the crawl ends")
        if way.is_over():
            raise TimeoutError  # the end of the body is that of the time
        return body[:LONGEST].decode("utf-8", "replace")


def _why(error: Exception) -> str:
    """Why a text could not be read, without any part of its URL."""
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) if isinstance(error, OSError) and not isinstance(error, HTTPException) else type(error).__name__


class _Way:
    """The connections of one reading, through redirects: in time all of them, and to addresses that are permitted."""

    def __init__(self, allowed: Sequence[str], within: float) -> None:
        """allowed: private networks to which redirects may lead. within: seconds for all."""
        self._allowed, self._end = allowed, time.monotonic() + within
        #: The addresses of hosts to which redirects lead: a second look at their names might find others.
        self._addresses: dict[str, list[str]] = {}
        #: The host and the port of the list itself.
        self._first: tuple[str, int] | None = None
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(within, self._shut)
        self._timer.daemon = True
        self._lock = threading.Lock()

    def __enter__(self) -> _Way:
        """Begin."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._timer.cancel()
        with self._lock:
            for each in self._sockets:
                each.close()
            self._sockets.clear()

    def is_over(self) -> bool:
        """Return whether the time has passed."""
        return time.monotonic() >= self._end

    def open(self, request: urllib.request.Request) -> Any:
        """Return the response to a request."""
        opener = urllib.request.build_opener(_Http(self.connect), _Https(self.connect), _Redirects(self.permit))
        return opener.open(request, timeout=self._left())

    def permit(self, host: str) -> None:
        """Look up the addresses of a host to which a redirect leads; raises URLError for a private one."""
        found = [str(each[4][0]) for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        if not all(_core.is_permitted_address(each, self._allowed) for each in found):
            raise urllib.error.URLError(
                "redirected to a private address, which proxies.allow_addresses does not name"
            )
        self._addresses[host] = found

    def connect(self, address: tuple[str, int], *_: object) -> socket.socket:
        """Connect to the first address of a host that accepts, as `socket.create_connection`."""
        if self.is_over():
            raise TimeoutError
        host, port = address[0].lower(), address[1]
        self._first = self._first or (host, port)
        if (host, port) != self._first and host not in self._addresses:
            self.permit(host)  # whatever a redirect's URL seemed to say
        failed: OSError = OSError("its name has no address")
        for each in self._addresses.get(host, [address[0]]):
            try:
                connected = socket.create_connection((each, port), self._left())
            except OSError as error:
                failed = error
                continue
            with self._lock:
                self._sockets.append(connected.dup())  # the other one is hidden in TLS later
            return connected
        raise failed

    def _left(self) -> float:
        """The seconds that are left."""
        return max(self._end - time.monotonic(), 0.01)

    def _shut(self) -> None:
        """End whatever is being read: each piece may come in time, but not all."""
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


#: Connects as `socket.create_connection`.
_Connect = Callable[..., socket.socket]


class _Http(urllib.request.HTTPHandler):
    """Connects by a function."""

    def __init__(self, connect: _Connect) -> None:
        """connect: the function."""
        super().__init__()
        self._connect = connect

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Send a request."""

        def made(host: str, **options: Any) -> HTTPConnection:
            return _by(self._connect, HTTPConnection(host, **options))

        return self.do_open(made, req)


class _Https(urllib.request.HTTPSHandler):
    """Connects by a function, and checks the certificate for the host's name."""

    def __init__(self, connect: _Connect) -> None:
        """connect: the function."""
        super().__init__()
        self._connect = connect

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Send a request."""

        def made(host: str, **options: Any) -> HTTPConnection:
            return _by(self._connect, HTTPSConnection(host, **options))

        return self.do_open(made, req)


def _by(connect: _Connect, connection: HTTPConnection) -> HTTPConnection:
    """Have a connection made by a function."""
    vars(connection)["_create_connection"] = connect
    return connection


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the web, not those into a private network."""

    def __init__(self, permit: Callable[[str], None]) -> None:
        """permit: looks up the addresses of a host, and raises URLError for private ones."""
        self._permit = permit

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request."""
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme not in ("http", "https") or after.hostname is None:
            raise urllib.error.URLError("redirected to what is not http")
        if (after.hostname, after.port) != (before.hostname, before.port):
            self._permit(after.hostname)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
