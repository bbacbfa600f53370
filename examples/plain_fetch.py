"""A fetch stage in Python alone: asyncio and httpx on a thread, to the addresses that the frontier has vetted."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Thread
from typing import Any

import httpx
from lycosa import Request, Requests, Response, Responses

#: Seconds for a request; bytes of a body.
WHOLE, BODY = 60.0, 10 << 20
#: Seconds without a byte; no proxy of the environment, since requests go to vetted addresses; no kept connection.
CLIENT: dict[str, Any] = {"timeout": 10.0, "trust_env": False, "limits": httpx.Limits(max_keepalive_connections=0)}
FIELDS = {"Accept-Encoding": "identity"}
#: Kinds of failures by httpx's exceptions; all others are "connect-failed".
KINDS = {"TimeoutError": "timeout", "ReadTimeout": "read-timeout", "RemoteProtocolError": "protocol"}


class PlainFetch:
    """HTTP/1.1 by httpx; see ``lycosa.stages.Fetch``."""

    def __init__(self, user_agent: str, slots: int = 32, **client: Any) -> None:
        self.slots, self.running, self.loop = slots, set[Future[Response]](), asyncio.new_event_loop()
        self.http = httpx.AsyncClient(headers={"User-Agent": user_agent, **FIELDS}, **CLIENT, **client)
        Thread(target=self.loop.run_forever, daemon=True).start()

    def free(self) -> int:
        return self.slots - len(self.running)

    def in_flight(self) -> int:
        return len(self.running)

    def submit(self, requests: Requests) -> None:
        self.running |= {asyncio.run_coroutine_threadsafe(self.exchange(each), self.loop) for each in requests}

    def completed(self, max: int, within: float) -> Responses:
        done = list(wait(self.running or {Future()}, within, FIRST_COMPLETED).done)[:max]
        self.running -= set(done)
        return Responses(future.result() for future in done)

    def cancel(self) -> None:
        while self.running:
            self.running.pop().cancel()

    async def exchange(self, request: Request) -> Response:
        began, address, body, marks = time.time(), request.addresses[0], bytearray(), dict[str, float]()

        async def trace(event: str, _: object) -> None:
            marks[event] = time.time()

        about: dict[str, Any] = {"address": address, "started": began}
        fields = {"Host": request.url.split("/")[2], **dict(request.headers)}
        sent: dict[str, Any] = {"content": request.body, "extensions": {"sni_hostname": request.host, "trace": trace}}
        url = httpx.URL(request.url).copy_with(host=address)
        try:
            async with asyncio.timeout(WHOLE), self.http.stream(request.method, url, headers=fields, **sent) as reply:
                async for piece in reply.aiter_raw():
                    body += piece
                    if len(body) > BODY:
                        return request.fail("body-too-large", **about)
        except (TimeoutError, httpx.HTTPError) as error:
            return request.fail(KINDS.get(type(error).__name__, "connect-failed"), str(error), **about)
        connected = max((at for event, at in marks.items() if event.startswith("connection")), default=began)
        first = marks["http11.receive_response_headers.complete"]
        times = {"connect": connected - began, "first_byte": first - connected, "body": time.time() - first}
        received = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in reply.headers.raw]
        return request.respond(reply.status_code, headers=received, body=bytes(body), times=times, **about)
