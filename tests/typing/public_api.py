"""How users' programs look; checked by mypy in strict mode, never run."""

from __future__ import annotations

from typing import assert_type

import lycosa


def pages_and_titles() -> dict[str, str | None]:
    """Synchronous use."""
    titles: dict[str, str | None] = {}
    for page in lycosa.crawl("https://example.com/", user_agent="me@example.org", politeness={"host_interval": 2}):
        assert_type(page, lycosa.Page)
        assert_type(page.status, int | None)
        titles[page.url] = page.title
    return titles


async def bodies(crawl: lycosa.Crawl) -> list[bytes]:
    """Asynchronous use."""
    return [page.body async for page in crawl if page.error is None]


def batches(crawl: lycosa.Crawl) -> int:
    """Use in batches."""
    return sum(len(batch) for batch in crawl.batches())
