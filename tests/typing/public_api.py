"""How users' programs look; checked by mypy in strict mode, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_type

import lycosa


def pages_and_titles() -> dict[str, str | None]:
    """Synchronous use."""
    titles: dict[str, str | None] = {}
    for page in lycosa.crawl("https://example.com/", user_agent="me@example.org", politeness={"host_interval": 2}):
        assert_type(page, lycosa.Outcome)
        assert_type(page.status, int | None)
        titles[page.url] = page.title
    return titles


async def bodies(crawl: lycosa.Crawl) -> list[bytes]:
    """Asynchronous use."""
    return [page.body async for page in crawl if page.error is None]


def batches(crawl: lycosa.Crawl) -> int:
    """Use in batches."""
    return sum(len(batch) for batch in crawl.batches())


def addresses(names: list[str]) -> dict[str, list[str]]:
    """Names in bulk."""
    return {answer.name: answer.addresses for answer in lycosa.resolve(names, rate=100, families="both")}


async def statuses(names: AsyncIterator[str]) -> list[str]:
    """Names in bulk, in an event loop."""
    async with lycosa.resolve_stream(names, resolvers=["192.0.2.1"]) as stream:
        return [answer.status async for answers in stream for answer in answers]


def middleware_and_signals() -> None:
    """A cache, a limit, and who listens."""
    cache, limit = lycosa.HttpCache("cache", always=True), lycosa.RateLimit(0.5, by=lambda request: request.host)
    crawl = lycosa.crawl("https://example.com/", user_agent="me@example.org", middleware=[cache, limit])
    crawl.on(lycosa.PageFetched, lambda page: print(page.url))
    crawl.on(lycosa.JobPaused, lambda pause: print(pause.url))  # type: ignore[attr-defined]


def mistakes() -> None:
    """What type checkers find: mypy says where an ignored error is none."""
    lycosa.crawl("https://example.com/", max_pagess=3)  # type: ignore[call-arg]
    lycosa.crawl("https://example.com/", max_pages="many")  # type: ignore[arg-type]
    lycosa.crawl("https://example.com/", politeness={"host_intervall": 2})  # type: ignore[typeddict-unknown-key]
    lycosa.crawl("https://example.com/", fetch={"slots": "many"})  # type: ignore[typeddict-item]


def retried(kind: str) -> lycosa.Crawl:
    """A crawl that goes on with what failed."""
    return lycosa.crawl(directory="d", retry_failed=["names", kind], progress=lambda report: print(report["pages"]))
