"""Proxies for crawls of the simulated Internet: SOCKS and HTTP, which fail when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal, Self
from urllib.parse import urlsplit

#: What a proxy does: its work; that after half a second; answers that the site did not give; nothing; no connection.
Behaviour = Literal["good", "slow", "wrong", "silent", "closed"]

#: Request lines in what a crawler sends.
REQUEST = re.compile(rb"^GET (\S+) HTTP/1\.1\r\n", re.MULTILINE)


@dataclass
class ScriptedProxy:
    """One proxy."""

    kind: Literal["socks5", "http"]
    port: int = 0
    behaviour: Behaviour = "good"
    #: What it passed on: host or address of the site, and path.
    passed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The line that names it."""
        return f"{self.kind}://127.0.0.1:{self.port} {self.kind}"

    @property
    def name(self) -> str:
        """Its name in records."""
        return f"{self.kind}://127.0.0.1:{self.port}"


class ScriptedProxies:
    """Proxies in a thread of their own; `act` is called with them ten times a second."""

    def __init__(
        self, count: int, hosts: Mapping[str, str], act: Callable[[ScriptedProxies], None] = lambda _: None
    ) -> None:
        """hosts: the addresses of all sites."""
        self.all = [ScriptedProxy("socks5" if number % 2 else "http") for number in range(count)]
        self._hosts, self._act = hosts, act
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-proxies", daemon=True)

    def __enter__(self) -> Self:
        """Start them."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        """Listen."""
        for proxy in self.all:
            server = await asyncio.start_server(self._handler(proxy), "127.0.0.1", 0, backlog=1_000)
            self._servers.append(server)
            proxy.port = server.sockets[0].getsockname()[1]
        self._acting = asyncio.create_task(self._act_often())

    async def _stop(self) -> None:
        """End all connections."""
        for server in self._servers:
            server.close()
        while tasks := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # transports close in the loop's next turns

    async def _act_often(self) -> None:
        """Let what is to happen happen."""
        while True:
            self._act(self)
            await asyncio.sleep(0.1)

    def _handler(
        self, proxy: ScriptedProxy
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]:
        """What serves a connection."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await self._serve(proxy, reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                with contextlib.suppress(OSError):
                    writer.close()

        return serve

    async def _serve(self, proxy: ScriptedProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        if proxy.behaviour == "closed":
            return
        if proxy.behaviour == "silent":
            await asyncio.sleep(3_600)
        if proxy.behaviour == "slow":
            await asyncio.sleep(0.5)
        if proxy.kind == "socks5":
            host, port = await self._greet(proxy, reader, writer)
            if proxy.behaviour == "wrong":
                writer.write(b"\x05\x01\x00\x01" + bytes(6))  # general failure
                await writer.drain()
                return
            site_reader, site_writer = await asyncio.open_connection(host, port)
            writer.write(b"\x05\x00\x00\x01" + bytes(6))
            await self._join(proxy, host, (reader, writer), (site_reader, site_writer))
            return
        head = await reader.readuntil(b"\r\n\r\n")
        if proxy.behaviour == "wrong":
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        method, target, rest = head.split(b" ", 2)
        assert method == b"GET", head
        parts = urlsplit(target.decode())
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        host = parts.hostname or ""
        address = host if _is_address(host) else self._hosts[host]
        site_reader, site_writer = await asyncio.open_connection(address, parts.port or 80)
        proxy.passed.append((host, path))
        rest = rest.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        site_writer.write(b"GET " + path.encode() + b" " + rest)
        try:
            while data := await site_reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        finally:
            site_writer.close()

    async def _greet(
        self, proxy: ScriptedProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int]:
        """Speak SOCKS 5 up to the request; returns the address that is asked for."""
        _, count = await reader.readexactly(2)
        await reader.readexactly(count)
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 1, "the crawl resolves names"
        address, port = struct.unpack("!4sH", await reader.readexactly(6))
        return str(ip_address(address)), port

    async def _join(
        self,
        proxy: ScriptedProxy,
        host: str,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        site: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Pass everything on, until one side ends or the proxy fails."""

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, notes: bool) -> None:
            while (data := await source.read(1 << 16)) and proxy.behaviour in ("good", "slow"):
                if notes:
                    proxy.passed += [(host, path.decode()) for path in REQUEST.findall(data)]
                sink.write(data)
                await sink.drain()

        there = asyncio.ensure_future(pump(client[0], site[1], notes=True))
        back = asyncio.ensure_future(pump(site[0], client[1], notes=False))
        try:
            await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            site[1].close()


def _is_address(text: str) -> bool:
    """Whether a host is an address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
