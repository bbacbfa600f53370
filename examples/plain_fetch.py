"""A fetch stage in Python alone: a connection for each request, on threads, to an address that was vetted."""

from __future__ import annotations

import socket
import ssl
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http.client import HTTPConnection, HTTPException
from itertools import pairwise

from lycosa import Request, Requests, Response, Responses

PHASES = ("connect", "tls", "first_byte", "body")


class PlainFetch:
    """HTTP/1.1 by the standard library; see ``lycosa.stages.Fetch``."""

    def __init__(self, user_agent: str, slots: int = 32) -> None:
        self.user_agent, self.slots = user_agent, slots
        self.pool, self.running = ThreadPoolExecutor(slots), set[Future[Response]]()

    def free(self) -> int:
        return self.slots - len(self.running)

    def in_flight(self) -> int:
        return len(self.running)

    def submit(self, requests: Requests) -> None:
        self.running |= {self.pool.submit(self.exchange, request) for request in requests}

    def completed(self, max: int, within: float) -> Responses:
        done = list(wait(self.running, within, FIRST_COMPLETED).done)[:max]
        self.running -= set(done)
        return Responses(future.result() for future in done)

    def cancel(self) -> None:
        self.running = {future for future in self.running if not future.cancel()}

    def exchange(self, request: Request) -> Response:
        address, marks = request.addresses[0], [time.time()]
        connection = HTTPConnection(request.host, request.port, timeout=10)
        try:
            connection.sock = socket.create_connection((address, request.port), timeout=10)
            marks.append(time.time())
            if request.url.startswith("https:"):
                context = ssl.create_default_context()
                connection.sock = context.wrap_socket(connection.sock, server_hostname=request.host)
            marks.append(time.time())
            fields = {"User-Agent": self.user_agent, **dict(request.headers)}
            connection.request(request.method, request.path, request.body or None, fields)
            answer = connection.getresponse()
            marks.append(time.time())
            body = answer.read()
            marks.append(time.time())
            times = {phase: after - before for phase, (before, after) in zip(PHASES, pairwise(marks), strict=True)}
            return request.respond(
                answer.status, headers=answer.getheaders(), body=body, address=address, started=marks[0], times=times
            )
        except (OSError, HTTPException) as error:
            kind = "protocol" if isinstance(error, HTTPException) else "connect-failed"
            return request.fail(kind, str(error), address=address, started=marks[0])
        finally:
            connection.close()
