"""Blocking downloads as a fetch stage: one request at a time for each of so many threads."""

from __future__ import annotations

import http.client
import queue
import threading
import time
from collections import defaultdict
from urllib.parse import urlsplit

from lycosa import Request, Requests, Response, Responses

from benchmarks.peers.cloud_paper_stages import resolve

#: Seconds without a byte; seconds that a connection stays open without a request; such connections, at most: all as
#: the embedded fetch has them (fetch.read_timeout, fetch.idle_timeout, fetch.idle_connections).
SILENCE, IDLE, KEPT = 30.0, 75.0, 4_096

#: What the embedded fetch sends, too.
FIELDS = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, br, zstd"}

#: Address and port.
Place = tuple[str, int]


class Connections:
    """Open connections without a request, for all threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()  # of what follows
        self._idle: defaultdict[Place, list[tuple[float, http.client.HTTPConnection]]] = defaultdict(list)
        self._kept = 0

    def take(self, place: Place) -> http.client.HTTPConnection | None:
        """Return the connection to a place that was used last, if it is still fresh."""
        with self._lock:
            if not self._idle[place]:
                return None
            since, connection = self._idle[place].pop()
            self._kept -= 1
        if time.monotonic() - since < IDLE:
            return connection
        connection.close()
        return None

    def give(self, place: Place, connection: http.client.HTTPConnection) -> None:
        """Keep a connection for the next request, or close it if there are too many."""
        with self._lock:
            if self._kept < KEPT:
                self._idle[place].append((time.monotonic(), connection))
                self._kept += 1
                return
        connection.close()


class BlockingFetch:
    """HTTP/1.1 by Python's http.client, connections kept; see ``lycosa.stages.Fetch``."""

    def __init__(self, threads: int, agent: str, server: Place | None) -> None:
        """server: the DNS server that each request asks for its name before; `None`: none does."""
        self._threads, self._server, self._fields = threads, server, {"User-Agent": agent, **FIELDS}
        self._running = 0
        self._waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Response] = queue.SimpleQueue()
        self._connections = Connections()
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def free(self) -> int:
        """Return the number of threads without a request."""
        return self._threads - self._running

    def in_flight(self) -> int:
        """Return the number of requests that have no response."""
        return self._running

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        self._running += len(requests)
        for request in requests:
            self._waiting.put(request)

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses; waits for the first."""
        done: list[Response] = []
        try:
            done.append(self._done.get(timeout=within) if within > 0 else self._done.get_nowait())
            while len(done) < max:
                done.append(self._done.get_nowait())
        except queue.Empty:
            pass
        self._running -= len(done)
        return Responses(done)

    def cancel(self) -> None:
        """Forget what is under way; threads end with the process."""
        self._running = 0

    def _work(self) -> None:
        """Fetch one request after the other."""
        while True:
            request = self._waiting.get()
            failure = None if self._server is None else resolve(request.host, self._server)
            self._done.put(self._exchange(request) if failure is None else request.fail(failure))

    def _exchange(self, request: Request) -> Response:
        """Send a request, and wait for its response."""
        place, began = (request.addresses[0], request.port), time.time()
        try:
            connection, reply = self._sent(place, request)
            body = reply.read()
        except TimeoutError:
            return request.fail("read-timeout", address=place[0], started=began)
        except (OSError, http.client.HTTPException) as error:
            return request.fail("connect-failed", str(error), address=place[0], started=began)
        if reply.will_close:
            connection.close()
        else:
            self._connections.give(place, connection)
        return request.respond(reply.status, headers=reply.getheaders(), body=body, address=place[0], started=began)

    def _sent(self, place: Place, request: Request) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request, once more on a new connection if the site has closed the idle one."""
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fields = {"Host": parts.netloc, **self._fields, **dict(request.headers)}
        idle = self._connections.take(place)
        if idle is not None:
            try:
                idle.request(request.method, target, headers=fields)
                return idle, idle.getresponse()
            except (ConnectionError, http.client.HTTPException):
                idle.close()
        fresh = http.client.HTTPConnection(*place, timeout=SILENCE)
        fresh.request(request.method, target, headers=fields)
        return fresh, fresh.getresponse()
