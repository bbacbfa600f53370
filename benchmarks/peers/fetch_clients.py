"""HTTP clients for Python that fetch one URL many times: ``WHO URL COUNT SLOTS [CA_FILE]``."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable

import uvloop


async def aiohttp_fetch(url: str, count: int, slots: int, context: ssl.SSLContext | None) -> int:
    """Fetch with aiohttp; returns the number of responses."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=slots, ssl=True if context is None else context)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def one() -> None:
            async with session.get(url) as response:
                response.raise_for_status()
                await response.read()

        return await _many(one, count, slots)


async def httpx_fetch(url: str, count: int, slots: int, context: ssl.SSLContext | None) -> int:
    """Fetch with httpx; returns the number of responses."""
    import httpx

    limits = httpx.Limits(max_connections=slots, max_keepalive_connections=slots)
    async with httpx.AsyncClient(limits=limits, verify=True if context is None else context) as client:

        async def one() -> None:
            (await client.get(url)).raise_for_status()

        return await _many(one, count, slots)


async def _many(one: Callable[[], Awaitable[None]], count: int, slots: int) -> int:
    """Make so many requests, so many at a time."""
    made = 0
    numbers = iter(range(count))

    async def work() -> None:
        nonlocal made
        for _ in numbers:
            await one()
            made += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(slots):
            group.create_task(work())
    return made


def main() -> None:
    """Run one client."""
    who, url, count, slots, *trusted = sys.argv[1:]
    context = ssl.create_default_context(cafile=trusted[0]) if trusted else None
    fetch = {"aiohttp": aiohttp_fetch, "httpx": httpx_fetch}[who]
    made = uvloop.run(fetch(url, int(count), int(slots), context))
    print(f"{made} responses")


if __name__ == "__main__":
    main()
