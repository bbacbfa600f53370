"""A fetch stage in Python alone: a connection for each request, on threads, to an address that was vetted."""

from __future__ import annotations

import contextlib
import math
import socket
import ssl
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http.client import HTTPConnection, HTTPException, IncompleteRead
from itertools import pairwise
from typing import Any

from lycosa import Request, Requests, Response, Responses

PHASES = ("connect", "first_byte", "body")  # the first with TLS
#: Seconds for a request, and for the next bytes of its answer; bytes of a body.
WHOLE, SILENCE, BODY = 60.0, 10.0, 10 << 20


class PlainFetch:
    """HTTP/1.1 by the standard library; see ``lycosa.stages.Fetch``."""

    def __init__(self, user_agent: str, slots: int = 32) -> None:
        self.user_agent, self.slots, self.tls = user_agent, slots, ssl.create_default_context()
        self.pool, self.running = ThreadPoolExecutor(slots), dict[Future[Response], tuple[float, socket.socket]]()

    def free(self) -> int:
        return self.slots - len(self.running)

    def in_flight(self) -> int:
        return len(self.running)

    def submit(self, requests: Requests) -> None:
        for request in requests:
            sock = socket.socket(socket.AF_INET6 if ":" in request.addresses[0] else socket.AF_INET)
            if request.url.startswith("https:"):
                sock = self.tls.wrap_socket(sock, server_hostname=request.host)
            until = time.monotonic() + WHOLE
            self.running[self.pool.submit(self.exchange, request, sock, until)] = until, sock

    def completed(self, max: int, within: float) -> Responses:
        time.sleep(0 if self.running else within)  # wait() does not wait for nothing
        done = list(wait(self.running, within, FIRST_COMPLETED).done)[:max]
        self.end(time.monotonic())
        return Responses(future.result() for future in done if self.running.pop(future))

    def cancel(self) -> None:
        self.end(math.inf)
        self.running.clear()

    def end(self, now: float) -> None:
        for sock in [sock for until, sock in self.running.values() if until < now]:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # the thread that waits for it goes on at once

    def exchange(self, request: Request, sock: socket.socket, until: float) -> Response:
        began, connection = time.time(), HTTPConnection(request.host, request.port)
        about: dict[str, Any] = {"address": request.addresses[0], "started": began}
        with sock:
            try:
                sock.settimeout(SILENCE)
                sock.connect((request.addresses[0], request.port))
                marks = [began, time.time()]
                connection.sock, fields = sock, {"User-Agent": self.user_agent, **dict(request.headers)}
                connection.request(request.method, request.path, request.body or None, fields)
                answer = connection.getresponse()
                marks.append(time.time())
                body = answer.read(BODY + 1)
                marks.append(time.time())
                if len(body) > BODY:
                    return request.fail("body-too-large", **about)
                if answer.length or time.monotonic() > until:
                    raise IncompleteRead(body, answer.length)
                times = {
                    phase: after - before for phase, (before, after) in zip(PHASES, pairwise(marks), strict=True)
                }
                return request.respond(answer.status, headers=answer.getheaders(), body=body, times=times, **about)
            except (OSError, HTTPException) as error:
                kind = "protocol" if isinstance(error, HTTPException) else "connect-failed"
                return request.fail("timeout" if time.monotonic() > until else kind, str(error), **about)
