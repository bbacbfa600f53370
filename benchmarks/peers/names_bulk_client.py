"""Resolves a file of names in one manner and prints what it cost: `WHO NAMES ADDRESS:PORT CONCURRENCY`.

CPU seconds are those of this process, all its threads, from the first name to the last answer; modules are imported
before.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def by_resolve(names: list[str], resolver: str, concurrency: int) -> int:
    """Give how many of the names have addresses: `lycosa.resolve`, an object for each answer."""
    import lycosa

    answers = lycosa.resolve(names, resolvers=[resolver], concurrency=concurrency)
    return sum(1 for answer in answers if answer.status == "ok")


def by_stream(names: list[str], resolver: str, concurrency: int) -> int:
    """Do the same by `lycosa.resolve_stream`, batches in an event loop."""
    import lycosa

    async def run() -> int:
        found = 0
        async with lycosa.resolve_stream(names, resolvers=[resolver], concurrency=concurrency) as stream:
            async for answers in stream:
                found += sum(1 for answer in answers if answer.status == "ok")
        return found

    return asyncio.run(run())


def by_aiodns(names: list[str], resolver: str, concurrency: int) -> int:
    """Do the same by aiodns on uvloop, with as many tasks as names under way."""
    import aiodns
    import uvloop

    address, _, port = resolver.rpartition(":")

    async def run() -> int:
        client = aiodns.DNSResolver(
            nameservers=[address], udp_port=int(port), tcp_port=int(port), timeout=2.0, tries=4
        )
        left, found = iter(names), 0

        async def work() -> None:
            nonlocal found
            for name in left:
                try:
                    answer = await client.query_dns(name, "A")
                except aiodns.error.DNSError:
                    continue
                found += bool(answer.answer)

        await asyncio.gather(*(work() for _ in range(concurrency)))
        await client.close()
        return found

    return uvloop.run(run())


#: What each needs.
MODULES = {"resolve": ("lycosa",), "stream": ("lycosa.names.stream",), "aiodns": ("aiodns", "uvloop")}

WHO: dict[str, Callable[[list[str], str, int], int]] = {
    "resolve": by_resolve,
    "stream": by_stream,
    "aiodns": by_aiodns,
}


def main() -> None:
    """Resolve and print."""
    who, file, resolver, concurrency = sys.argv[1:]
    names = Path(file).read_text().split()
    for module in MODULES[who]:
        importlib.import_module(module)
    begin, used = time.monotonic(), time.process_time()
    found = WHO[who](names, resolver, int(concurrency))
    cpu, wall = time.process_time() - used, time.monotonic() - begin
    print(json.dumps({"names": len(names), "found": found, "cpu": cpu, "wall": wall}))


if __name__ == "__main__":
    main()
