"""A program that has URLs downloaded by a dispatch service, and keeps their bodies: ``MASTER SERVICE FILE``.

Its last line is what it gathered, in JSON; its own start is left out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from lycosa.dispatch import Client
from lycosa.dispatch.loops import run


async def gather(master: str, service: str, urls: list[str]) -> None:
    """Download all, and tell what it cost."""
    begin, began = time.process_time(), time.monotonic()
    bodies: dict[str, bytes] = {}
    async with Client(master, service) as client:
        async for response in client.download(urls):
            if response.status == 200:
                bodies[response.url] = bytes(response.body)
    gathered = {
        "pages": len(bodies),
        "bytes": sum(map(len, bodies.values())),
        "cpu": time.process_time() - begin,
        "wall": time.monotonic() - began,
    }
    print(json.dumps(gathered))


def main() -> None:
    """Run it."""
    master, service, file = sys.argv[1:]
    run(gather(master, service, Path(file).read_text().split()))


if __name__ == "__main__":
    main()
