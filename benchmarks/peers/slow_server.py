"""A server that answers each request after a time: ``PORT SECONDS BYTES``."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop


class Slow(asyncio.Protocol):
    """One connection, without pipelining."""

    def __init__(self, seconds: float, response: bytes) -> None:
        """seconds: until each response."""
        self._seconds, self._response = seconds, response
        self._head = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        """Answer a whole request later."""
        self._head += data
        if self._head.endswith(b"\r\n\r\n"):
            self._head = b""
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        """Send the response."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._response)


async def serve(port: int, seconds: float, size: int) -> None:
    """Serve until the end of the process."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n"
    response = head.encode() + b"x" * size
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Slow(seconds, response), "127.0.0.1", port, backlog=4_096)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
