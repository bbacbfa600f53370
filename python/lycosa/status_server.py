"""HTTP endpoints that tell how a process is: metrics for Prometheus, health checks, JSON. They are read-only.

Guarantees: at most ``THREADS`` requests at a time, each of at most ``MAX_HEAD`` bytes within ``HEAD_WITHIN`` seconds,
one per connection; others wait in the accept queue. Only GET is supported.
"""

from __future__ import annotations

import logging
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from lycosa.errors import LycosaError, SettingError
from lycosa.names.server_settings import endpoint, told

logger = logging.getLogger("lycosa")

#: Concurrent requests: a scraper, probers, and clients that connect and say nothing.
THREADS = 16

#: Time-outs of a request's head and of its response, in seconds; maximum size of the head, in bytes.
HEAD_WITHIN, WITHIN, MAX_HEAD = 1.0, 5.0, 8_192

#: Connections that wait to be accepted.
BACKLOG = 64

#: The text format of Prometheus, version 0.0.4.
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

#: Plain text.
PLAIN = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """An HTTP response."""

    status: str
    kind: str
    text: str


class StatusServer:
    """Serves a few pages by HTTP, on threads of its own, until it is closed.

    >>> with StatusServer("127.0.0.1:9153", {"/healthz": lambda: health(None)}) as http:  # doctest: +SKIP
    ...     urllib.request.urlopen(f"http://{http.address}/healthz")
    """

    def __init__(self, address: str, pages: dict[str, Callable[[], Page]]) -> None:
        """Listen at an address and port; raises SettingError for anything else, LycosaError if it is not possible.

        pages: by path; each is made when it is asked for, by any thread.
        """
        found = endpoint(address)
        if found is None:
            raise SettingError("--http", address, "ADDRESS:PORT, such as 127.0.0.1:9153")
        ip, port = found
        try:
            self._socket = socket.create_server(
                (str(ip), port or 0), family=socket.AF_INET6 if ip.version == 6 else socket.AF_INET, backlog=BACKLOG
            )
        except OSError as error:
            reason = os.strerror(error.errno or 0)  # without Python's additions
            raise LycosaError(f"http {address}: {reason}; choose another address or port") from None
        self._pages = pages
        #: The address, with the port that the system chose.
        self.address = told(ip, self._socket.getsockname()[1])
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, name=f"lycosa-http-{each}", daemon=True) for each in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Accept no more connections; pending requests are answered."""
        self._ended.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the waiting threads
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _serve(self) -> None:
        """Serve one connection after the other; a thread's body."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                # Closed; or the client is gone, or no file descriptor is left: avoid a busy loop.
                if self._ended.wait(0.05):
                    return
                continue
            with connection:
                try:
                    self._answer(connection)
                except OSError:  # too slow, or gone
                    continue

    def _answer(self, connection: socket.socket) -> None:
        """Read a request and send the response."""
        head = _read_head(connection)
        if not head:
            return
        page = self._page(head)
        body = page.text.encode()
        allowed = "Allow: GET\r\n" if page.status.startswith("405") else ""
        connection.settimeout(WITHIN)
        connection.sendall(
            f"HTTP/1.1 {page.status}\r\nContent-Type: {page.kind}\r\nContent-Length: {len(body)}\r\n{allowed}"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
            + body
        )

    def _page(self, head: bytes) -> Page:
        """Return the response to a request's head."""
        line, end, _ = head.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if not end or len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Page("400 Bad Request", PLAIN, "not an HTTP/1 request\n")
        method, target, _ = words
        if method != "GET":
            return Page("405 Method Not Allowed", PLAIN, "only GET\n")
        make = self._pages.get(target.partition("?")[0])
        if make is None:
            return Page("404 Not Found", PLAIN, f"available: {', '.join(self._pages)}\n")
        try:
            return make()
        except Exception:
            # Reported to the client and the log; further requests are still served.
            logger.exception("%s failed", target)
            return Page("500 Internal Server Error", PLAIN, "an error of Lycosa; see its log\n")


def health(trouble: str | None) -> Page:
    """Return the response to a health check. trouble: what is wrong; `None`: nothing is."""
    status = "200 OK" if trouble is None else "503 Service Unavailable"
    return Page(status, PLAIN, f"{trouble or 'ok'}\n")


def _read_head(connection: socket.socket) -> bytes:
    """Read the head of a request, at most ``MAX_HEAD`` bytes or until the end. Raises TimeoutError."""
    head, until = b"", time.monotonic() + HEAD_WITHIN
    while b"\r\n\r\n" not in head and len(head) < MAX_HEAD:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(MAX_HEAD - len(head))
        if not piece:
            break
        head += piece
    return head


def metric_head(name: str, kind: str, says: str) -> tuple[str, str]:
    """Return the header of a family of metrics."""
    return f"# HELP {name} {says}", f"# TYPE {name} {kind}"


def metric_line(name: str, labels: str, value: float) -> str:
    """Format one series. No label contains a quote, a backslash or a line break."""
    return f"{name}{f'{{{labels}}}' if labels else ''} {int(value) if isinstance(value, bool) else value}"


def process_lines() -> Iterator[str]:
    """Yield the metrics that every process has: CPU time and memory."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    for name, kind, says, now in (
        ("process_cpu_seconds_total", "counter", "CPU time of the process.", used.ru_utime + used.ru_stime),
        ("process_resident_memory_bytes", "gauge", "Memory of the process, mapped files included.", resident),
    ):
        yield from metric_head(name, kind, says)
        yield metric_line(name, "", now)
