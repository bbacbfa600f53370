"""Surveys a simulated Internet as a client: all names, all front pages, some pages linked from them.

Run as ``python -m benchmarks.survey TASK.json RESULT.json``, a process of its own on the contestants' core.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, cast

from benchmarks import dns_load

ASKING = 100  # DNS questions and connections under way
FRESH = 200  # names asked first, when the server is idle: their delays are the model's and not the queue's
PATIENCE = 20.0  # unscaled seconds until a name or a page is given up, and never less than 2 s


def task(resolver: str, port: int, names: Iterable[str], *, pages: int, speed: float) -> dict[str, Any]:
    """Return the task: also follows the first `pages` links of each front page to the same host."""
    return {"resolver": resolver, "port": port, "names": list(names), "pages": pages, "speed": speed}


async def survey(task: dict[str, Any]) -> dict[str, Any]:
    """Resolve all names, then fetch pages at their addresses."""
    patience = max(2.0, PATIENCE / task["speed"])
    address, _, port = task["resolver"].rpartition(":")
    names: list[dict[str, Any]] = []
    _, asker = await asyncio.get_running_loop().create_datagram_endpoint(_Asker, remote_addr=(address, int(port)))

    async def ask(name: str) -> None:
        names.append({"name": name, **await asker.ask(name, patience)})

    await _each(ask, task["names"][:FRESH], 8)
    await _each(ask, task["names"][FRESH:], ASKING)
    pages: list[dict[str, Any]] = []

    async def visit(found: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(patience * (1 + task["pages"])):
                await _visit(found["name"], found["address"], task, pages)
        except (OSError, EOFError, ValueError, TimeoutError):
            pages.append({"status": 0})  # refused, reset, late, or no HTTP

    # Few at once where nothing is delayed: then it is the server's time that is measured, not the queue's.
    at_once = 4 if task["speed"] == 1 else 64
    await _each(visit, [found for found in names if "address" in found], at_once)
    return {"names": names, "pages": pages}


async def _each(work: Callable[[Any], Awaitable[None]], items: list[Any], at_once: int) -> None:
    """Process all items, some concurrently."""
    waiting = iter(items)

    async def one() -> None:
        for item in waiting:
            await work(item)

    await asyncio.gather(*(one() for _ in range(at_once)))


async def _visit(name: str, address: str, task: dict[str, Any], pages: list[dict[str, Any]]) -> None:
    """Fetch a front page and some pages that it links to, over one connection."""
    reader, writer = await asyncio.open_connection(address, task["port"], limit=1 << 20)
    try:
        paths = ["/"]
        for number, path in enumerate(paths):
            begin = time.perf_counter()
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {name}:{task['port']}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            first = time.perf_counter() - begin
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            body = await (reader.readexactly(int(length[1])) if length else reader.read())
            status = int(head.split(None, 2)[1])
            pages.append({"status": status, "first": first, "size": len(body), "front": number == 0})
            if number == 0 and status == 200 and task["pages"]:
                links = dict.fromkeys(re.findall(r'href="(/[\w/.-]+)"', body.decode("latin-1"), re.ASCII))
                paths += [link for link in links if link != "/"][: task["pages"]]
            if not length or b"onnection: close" in head:
                break
    finally:
        writer.close()


class _Asker(asyncio.DatagramProtocol):
    """Asks DNS questions over one socket."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[bytes]] = {}
        self.number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the socket."""
        # CPython 3.11's own transport does not say that it is one.
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Pass an answer to its waiter."""
        future = self.waiting.get(int.from_bytes(data[:2]))
        if future is not None and not future.done():
            future.set_result(data)

    async def ask(self, name: str, patience: float) -> dict[str, Any]:
        """Retry once without an answer, as datagrams get lost; the delay is that of the answered question."""
        for _ in range(2):
            self.number = (self.number + 1) % 65536
            number = self.number
            self.waiting[number] = future = asyncio.get_running_loop().create_future()
            begin = time.perf_counter()
            self.transport.sendto(dns_load.message(number, name))
            try:
                answer = await asyncio.wait_for(future, patience / 2)
                return {"seconds": time.perf_counter() - begin, **_read(answer)}
            except TimeoutError:
                pass
            finally:
                del self.waiting[number]
        return {"answer": "dead"}


def _read(message: bytes) -> dict[str, Any]:
    """Parse an answer for A: the number of aliases, and the TTL of the address."""
    code, records = message[3] & 15, int.from_bytes(message[6:8])
    if code:
        return {"answer": {2: "servfail", 3: "nxdomain"}.get(code, "error")}
    at = _skip(message, 12) + 4
    aliases = 0
    for _ in range(records):
        at = _skip(message, at)
        kind, ttl = int.from_bytes(message[at : at + 2]), int.from_bytes(message[at + 4 : at + 8])
        length = int.from_bytes(message[at + 8 : at + 10])
        if kind == 1:
            address = ".".join(map(str, message[at + 10 : at + 14]))
            return {"answer": "address", "address": address, "ttl": ttl, "aliases": aliases}
        aliases += kind == 5
        at += 10 + length
    return {"answer": "nodata"}


def _skip(message: bytes, at: int) -> int:
    """Return the offset after a name."""
    while message[at]:
        if message[at] >= 192:
            return at + 2
        at += message[at] + 1
    return at + 1


def main() -> None:
    """Run a task."""
    task, result = map(Path, sys.argv[1:])
    result.write_text(json.dumps(asyncio.run(survey(json.loads(task.read_text())))))


if __name__ == "__main__":
    main()
