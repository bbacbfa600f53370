"""The server of `memory_hostile`: `python -m benchmarks.hostile_server PORT`, HTTP on all of 127.0.0.0/8, and DNS."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sys

from benchmarks.hostile_bytes import response
from benchmarks.hostile_rows import ROWS, Row, good

#: The second part of the first site's addresses.
FIRST = 10


async def serve(port: int) -> None:
    """Serve until the process ends; print one line when it is ready."""
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(_connection, "0.0.0.0", port, backlog=1_024)  # noqa: S104
    await loop.create_datagram_endpoint(Names, local_addr=("127.0.0.1", port))
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        asked = re.search(r"(?im)^host: (.*?)\r$", head)
        address, port = writer.get_extra_info("sockname")
        row = ROWS[int(address.split(".")[1]) - FIRST]
        answer = _answer(row, path, asked[1] if asked else "", f"{address}:{port}")
        step = row.drip if re.fullmatch(r"/\d+.*", path) and row.drip else len(answer) or 1
        for begin in range(0, len(answer), step):
            writer.write(answer[begin : begin + step])
            await writer.drain()
            if row.drip:
                await asyncio.sleep(0.02)
    writer.close()


def _answer(row: Row, path: str, asked: str, host: str) -> bytes:
    """Return a site's response. `asked`: the request's Host; `host`: the address with its port."""
    if path == "/robots.txt":
        return row.robots or response(status=404)
    if number := re.match(r"/(\d+)", path):
        return row.answer(int(number[1]), host)
    if path.startswith("/?"):
        links = [f"/{number}" for number in range(1, int(path[2:]) + 1)]
        return response((asked + "".join(f'<a href="{link}">x</a>' for link in [*links, "/good"])).encode())
    return good(0, asked)


class Names(asyncio.DatagramProtocol):
    """Answers names in `…trapN.test`, in any case, with site N's first address; in `…trapN-M.test` with its Mth."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]  # it is one

    def datagram_received(self, question: bytes, client: tuple[str, int]) -> None:
        """Answer one question."""
        site = re.search(rb"(?i)trap(\d+)(?:-(\d+))?\x04test\x00", question)
        header = question[:2] + b"\x84\x00\x00\x01" + (b"\x00\x01" if site else b"\x00\x00") + bytes(4)
        end = question.index(b"\x00", 12) + 5
        address = socket.inet_aton(f"127.{int(site[1])}.0.{int(site[2] or 1)}") if site else b""
        record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04" + address if site else b""
        self._transport.sendto(header + question[12:end] + record, client)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(sys.argv[1])))
