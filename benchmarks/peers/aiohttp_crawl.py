"""The honest peer: a crawl loop on aiohttp, uvloop and lexbor, written for speed and nothing else."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from typing import IO, Any
from urllib.parse import urldefrag, urljoin
from urllib.robotparser import RobotFileParser

import aiohttp
import orjson
import uvloop
from selectolax.lexbor import LexborHTMLParser

AGENT = "lycosa-benchmark"


async def crawl(seed: str, out: IO[bytes], workers: int, bodies: bool) -> None:
    """Fetch everything below `seed` with `workers` requests at a time."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    queue.put_nowait(seed)
    seen = {seed}
    connector = aiohttp.TCPConnector(limit=workers)
    # What the site does not need is switched off: cookies.
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=30)
    ) as session:
        robots = RobotFileParser()
        async with session.get(urljoin(seed, "/robots.txt")) as response:
            robots.parse((await response.text()).splitlines())

        def admit(link: str) -> bool:
            """Tell whether a link is new, of the site and allowed; the costly question comes last."""
            return link not in seen and link.startswith(seed) and robots.can_fetch(AGENT, link)

        tasks = [asyncio.create_task(work(session, queue, seen, admit, out, bodies)) for _ in range(workers)]
        ended = asyncio.create_task(queue.join())
        await asyncio.wait([ended, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()  # a worker only ends by failing: show why
            task.cancel()


async def work(
    session: aiohttp.ClientSession,
    queue: asyncio.Queue[str],
    seen: set[str],
    admit: Callable[[str], bool],
    out: IO[bytes],
    bodies: bool,
) -> None:
    """Take URLs from the queue for ever: fetch, parse, write, put new links."""
    while True:
        url = await queue.get()
        async with session.get(url) as response:
            body = await response.read()
            status = response.status
        record, links = parse(url, status, body)
        for link in links:
            if admit(link):
                seen.add(link)
                queue.put_nowait(link)
        if bodies:
            record["body"] = body.decode("utf-8", "replace")
        out.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        queue.task_done()


def parse(url: str, status: int, body: bytes) -> tuple[dict[str, Any], list[str]]:
    """Give the record of a page and its links, absolute and without fragments."""
    tree = LexborHTMLParser(body)
    title = tree.css_first("title")
    links = []
    for node in tree.css("a[href]"):
        link = urljoin(url, node.attrs["href"])
        links.append(urldefrag(link).url if "#" in link else link)
    record = {
        "url": url,
        "status": status,
        "title": title.text() if title else None,
        "link_count": len(links),
    }
    return record, links


def main() -> None:
    """Read the command line and crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed")
    parser.add_argument("out")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--bodies", action="store_true")
    args = parser.parse_args()
    with open(args.out, "wb", buffering=1 << 20) as out:
        uvloop.run(crawl(args.seed, out, args.concurrency, args.bodies))


if __name__ == "__main__":
    main()
