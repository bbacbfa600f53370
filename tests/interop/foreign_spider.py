"""A Scrapy spider as people write it: ``scrapy runspider foreign_spider.py -a seeds=FILE``. Not a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response, TextResponse


class ForeignSpider(scrapy.Spider):
    """Follows every link of every page."""

    name = "foreign"
    # What Scrapy's project template sets: robots.txt is obeyed. Everything else is Scrapy's default.
    custom_settings = {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR"}  # noqa: RUF012

    def __init__(self, seeds: str, **kwargs: Any) -> None:
        """Read the seeds, one URL a line."""
        super().__init__(**kwargs)
        self.start_urls = Path(seeds).read_text(encoding="utf-8").split()

    def parse(self, response: Response) -> Iterator[Any]:
        """Follow the links."""
        if isinstance(response, TextResponse):
            yield from response.follow_all(css="a[href]:not([rel=nofollow])")
