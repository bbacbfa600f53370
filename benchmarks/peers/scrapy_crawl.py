"""Scrapy in its well-tuned form: same site, same fields, nothing switched on that the work does not need."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

# Counts as the others do, and is cheaper than the default: repeats are for the dupe filter, and the site
# has no links to files of other types.
EXTRACTOR = LinkExtractor(unique=False, deny_extensions=())


class SiteSpider(scrapy.Spider):
    """Follows every link of the seed's site."""

    name = "site"

    def __init__(self, seed: str, **kwargs: Any) -> None:
        """Start at `seed` and stay below it."""
        super().__init__(**kwargs)
        self.site = seed

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the seed as for any other page; by default Scrapy would fetch it again when linked."""
        yield scrapy.Request(self.site)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """Write a page's record and follow its links."""
        assert isinstance(response, TextResponse)
        links = EXTRACTOR.extract_links(response)
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "link_count": len(links),
        }
        for link in links:
            # Cheaper than the offsite middleware, which would first be given a Request.
            if link.url.startswith(self.site):
                yield scrapy.Request(link.url)


def settings(out: str, concurrency: int, pages: int) -> dict[str, Any]:
    """Give the settings that differ from Scrapy's defaults."""
    return {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "WARNING",
        "CLOSESPIDER_ITEMCOUNT": pages,
        "FEEDS": {out: {"format": "jsonlines", "encoding": "utf8"}},
    }


def main() -> None:
    """Read the command line and crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed")
    parser.add_argument("out")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--pages", type=int, default=0, help="stop soon after so many pages; 0: crawl all")
    args = parser.parse_args()
    process = CrawlerProcess(settings(args.out, args.concurrency, args.pages))
    process.crawl(SiteSpider, seed=args.seed)
    process.start()


if __name__ == "__main__":
    main()
