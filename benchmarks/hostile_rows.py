"""The sites of `memory_hostile`, each hostile in its own way.

A site has two addresses, 127.(10 + number).0.1 and .2, or names of several domains. The first page of each links to
its pages, /1 to /N, and at last to /good, an ordinary page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from benchmarks.hostile_bytes import MIB, brotli, chunked, deflated, gzipped, response, zstd

GZIP, BROTLI, ZSTD, DEFLATE = (f"content-encoding: {coding}" for coding in ("gzip", "br", "zstd", "deflate"))

#: What the addresses of a site are asked for: the path's number, and the host with its port.
Answer = Callable[[int, str], bytes]


@dataclass(frozen=True, slots=True)
class Row:
    """One site."""

    name: str
    answer: Answer
    pages: int = 64  # of each of its two addresses; with 128 slots all of them are fetched at once
    quick: int = 16
    drip: int = 0  # bytes that are sent at once, every 20 ms; 0: all
    robots: bytes = b""  # the answer for robots.txt; none: 404
    columns: tuple[str, ...] = ()  # of the outputs, beside URL, status and error
    outputs: tuple[str, ...] = ()  # files beside the one of JSON lines
    again: bool = False  # measured is a second run, which reads the log of half of the pages again, with new outputs
    depth: int = 1  # how far from the first page links are followed
    limit: int = 0  # pages of the crawl; 0: all there are
    domains: int = 0  # the site is names of so many domains; 0: two addresses


def good(_number: int, host: str) -> bytes:
    """Return an ordinary page, with the host in its title: one page on all domains would look like a portal."""
    return response(f"<title>good at {host}</title><p>{'good ' * 200}".encode())


def _chunks(make: Callable[[], list[bytes]], extension: bytes = b"") -> Answer:
    """Return the same chunks after one with the host's name."""
    made = cache(lambda host: chunked([host.encode(), *make()], extension))
    return lambda _number, host: made(host)


def _markup(make: Callable[[], bytes], *fields: str) -> Answer:
    """Return the same body with different spaces at its end: identical bodies would look like a captive portal.

    After the end of the compressed data they are ignored.
    """
    made = cache(lambda spaces: response(make() + _padding(spaces, fields), *fields))
    return lambda _number, host: made(int(host.rpartition(":")[0].rpartition(".")[2]))


def _padding(spaces: int, fields: tuple[str, ...]) -> bytes:
    """Return spaces that are ignored after a body; after zstd as a skippable frame (RFC 8878 section 3.1.2)."""
    skipped = b"\x50\x2a\x4d\x18" + spaces.to_bytes(4, "little") if ZSTD in fields else b""
    return skipped + b" " * spaces


def _links(urls: list[str], head: str = "") -> bytes:
    """Return a page of links."""
    return (head + "".join(f'<a href="{url}">x</a>' for url in urls)).encode()


def _redirect(number: int, host: str) -> bytes:
    """Redirect to the next URL of a chain, each of 8,000 bytes; the crawler ends it."""
    return response(b"", f"location: http://{host}/{number}{'r' * 8_000}", status=302)


def _again_nofollow() -> bytes:
    """Return nofollow links, then the same in reverse without nofollow; with a long common prefix."""
    urls = [f"/1{'n' * 4_000}{number}" for number in range(1_000)]
    first = "".join(f'<a rel="nofollow" href="{url}">x</a>' for url in urls)
    return first.encode() + _links(urls[::-1])


def _names(name: str, count: int = 2_000) -> Answer:
    """Return links to new names on each page; `name`: with placeholders for the site, the page and the link."""

    def answer(number: int, host: str) -> bytes:
        site, port = host.split(".")[1], host.rpartition(":")[2]
        hosts = [name.format(site=site, page=number, link=link) for link in range(count)]
        return response(_links([f"http://{each}:{port}/good" for each in hosts]))

    return answer


def _addresses(number: int, host: str) -> bytes:
    """Return links to 2,000 new addresses on each page."""
    site, port = host.split(".")[1], host.rpartition(":")[2]
    hosts = [divmod(2_000 * number + link, 256) for link in range(2_000)]
    return response(_links([f"http://127.{site}.{high}.{low}:{port}/good" for high, low in hosts]))


def _cookies(number: int, _host: str) -> bytes:
    """Return new cookies of 4 KB on each page."""
    fields = [f"set-cookie: c{number}-{i}={'c' * 4_000}" for i in range(14)]
    return response(b"<p>cookies", *fields)


def _long_links(number: int, host: str) -> bytes:
    """Return new links of 1 MB in total on each page."""
    return response(_links([f"/good?{number}-{link}-{'q' * 4_000}" for link in range(250)]))


def _rules(lines: bytes, *fields: str) -> bytes:
    """Return a robots.txt for all agents."""
    return response(b"User-agent: *\n" + lines, "content-type: text/plain", *fields)


BASE = f'<base href="/good/{"b" * 8_000}/">'
BOMB = gzipped(b"<p>bomb ", 4 * MIB - 200_000)  # 32 MB of markup in some 80 KB
SAME = gzipped(b"<p>same ", 300_000)
BOMBS = _markup(lambda: BOMB, GZIP)
#: 30 MB in a character set whose letters are three times as long in UTF-8.
EUROS = _markup(lambda: gzipped(b"\x80" * 1_000, 30_000), GZIP, "content-type: text/html; charset=windows-1252")

#: Rules that are far more in memory than in the file, since escapes have two readings, and 30 MB of them.
DENSE = _rules(b"".join(b"Allow:/%%41%x\n" % rule for rule in range(36_000)))
ROBOTS_BOMB = response(
    gzipped(b"User-agent: *\n" + b"Allow: /%41\n" * 1_000, 2_500), GZIP, "content-type: text/plain"
)

#: Names that lead to the site, with places for its number, that of the page and that of the link.
ONE_DOMAIN = "n{page}-{link}.trap{site}.test"
LONG = f"{'h' * 63}.{'h' * 63}.{'h' * 63}.{'h' * 30}.{{page}}-{{link}}-trap{{site}}.test"

BODY, TEXT = ("body",), ("body", "text")
FOUR = ("a.jsonl", "a.parquet", "b.parquet", "c/")

ROWS = (
    Row("brotli, a window of 1 GiB", _markup(lambda: brotli(1_024, large_window=True), BROTLI)),
    Row("brotli, 1 GiB in 1 KB", _markup(lambda: brotli(1_024, large_window=False), BROTLI)),
    Row("brotli, 16 MiB in 20 bytes", _markup(lambda: brotli(16, large_window=False), BROTLI)),
    Row("gzip, 30 MB of markup in all slots", _markup(lambda: BOMB, GZIP)),
    Row("gzip, 1 GB in 1 MB", _markup(lambda: gzipped(b"a" * 1_000, 1_000_000), GZIP), pages=16, quick=4),
    Row("gzip, three times over", _markup(lambda: gzipped(b"<p>a", 7_000_000, 3), ", ".join([GZIP, *["gzip"] * 2]))),
    Row("gzip, 9,999 members", _markup(lambda: gzipped(b"a", 1) * 9_999, GZIP)),
    Row("deflate, 30 MiB", _markup(lambda: deflated(30), DEFLATE)),
    Row("zstd, a window of 1 GiB", _markup(lambda: zstd(32, 30), ZSTD)),
    Row("zstd, 30 MiB in 1 KB", _markup(lambda: zstd(30, 23), ZSTD)),
    Row("bodies of 10 MB in all slots", _markup(lambda: b"<p>large " * 1_100_000)),
    Row("bodies of 10 MB in chunks", _chunks(lambda: [b"<p>large " * 5_000] * 230)),
    Row("slow bodies", _markup(lambda: b"<p>slow " * 500), drip=100),
    Row("chunks of one byte", _chunks(lambda: [b"a"] * 100_000), quick=8),
    Row("chunk extensions of 15 KB", _chunks(lambda: [b"<p>ext"] * 100, b";" + b"e" * 15_000)),
    Row("1,000 interim responses", lambda _n, host: b"HTTP/1.1 103 x\r\nlink: </a>\r\n\r\n" * 1_000 + good(0, host)),
    Row("header fields of 60 KB", lambda _n, _h: response(b"<p>x", *(f"x-{i}: {'h' * 290}" for i in range(190)))),
    Row("a header field of 1 MB", lambda _n, _h: response(b"<p>x", f"x: {'h' * MIB}")),
    Row("content-length says more", lambda _n, _h: response(b"<p>short", length=9 * MIB)),
    Row("content-length of 1 TB", lambda _n, _h: response(b"<p>huge" * 10_000, length=1 << 40)),
    Row("connections drop", lambda n, _h: response(b"<p>drop " * 20_000)[: 50 + n * 3_000], quick=8),
    Row("redirects of 8 KB", _redirect, pages=16, quick=4),
    Row("cookies of 4 KB", _cookies),
    Row(
        "robots.txt of 500 KB",
        good,
        robots=_rules(b"".join(b"Disallow: /x%d*y$\n" % i for i in range(25_000))),
    ),
    Row("a base of 8 KB, 10,000 links", _markup(lambda: _links([str(i) for i in range(10_000)], BASE)), quick=8),
    Row("a title of 30 MB", _markup(lambda: gzipped(b"<title>", 1) + gzipped(b"title ", 5_000_000), GZIP)),
    Row("nofollow, then the reverse", _markup(_again_nofollow)),
    Row("UTF-16 of 10 MB", _markup(lambda: ("<p>wide " * 640_000).encode("utf-16"), "content-type: text/html")),
    Row("<a without end, 30 MB", _markup(lambda: gzipped(b"<a ", 10_000_000), GZIP)),
    Row("a million elements deep", _markup(lambda: gzipped(b"<div>", 1_000_000), GZIP)),
    Row("an element of 100,000 attributes", _markup(lambda: b"<a " + b'a="b" ' * 100_000 + b">")),
    Row("entities", _markup(lambda: b'<a href="/good?' + b"&NotEqualTilde;" * 300_000 + b'">')),
    Row("data: URLs of 1 MB", _markup(lambda: _links([f"data:text/html,{'d' * MIB}" for _ in range(8)]))),
    Row("100,000 refreshes", _markup(lambda: b'<meta http-equiv=refresh content="0;url=/good">' * 100_000)),
    Row("100,000 canonicals", _markup(lambda: b'<link rel=canonical href="/good">' * 100_000)),
    Row("a srcset of 5 MB", _markup(lambda: b'<img srcset="' + b"/i.png 1x, " * 450_000 + b'">')),
    Row("character sets in turn", _markup(lambda: b"<meta charset=shift_jis><meta charset=utf-7>" * 100_000)),
    Row("2,000 names a page under one domain", _names(ONE_DOMAIN), quick=8, depth=2, limit=4_000),
    Row("2,000 addresses a page", _addresses, pages=16, quick=4, depth=2, limit=4_000),
    Row("2,000 domains a page, names of 250 bytes", _names(LONG), pages=56, quick=8, depth=2, limit=4_000),
    Row(
        "robots.txt of 500 KB on each of 400 hosts", _names(ONE_DOMAIN, 10), pages=40, quick=4, robots=DENSE, depth=2
    ),
    Row(
        "robots.txt of 30 MB on each of 40 hosts",
        _names(ONE_DOMAIN, 10),
        pages=4,
        quick=1,
        robots=ROBOTS_BOMB,
        depth=2,
    ),
    Row("links of 1 MB a page, all of them waiting", _long_links, quick=8, depth=2, limit=4_000),
    Row("the same 2.5 MB from 16 domains", lambda _n, _h: response(SAME, GZIP), quick=4, domains=16),
    Row("an output that lags, 30 MB a row", BOMBS, pages=8, quick=2, columns=BODY),
    Row("a Parquet output, 30 MB a row", BOMBS, pages=8, quick=2, columns=BODY, outputs=("a.parquet",)),
    Row("text of 30 MB that grows to 90", EUROS, pages=8, quick=2, columns=TEXT, outputs=("a.parquet",)),
    Row("four outputs that lag, 30 MB a row", BOMBS, pages=8, quick=2, columns=TEXT, outputs=FOUR),
    Row("bombs read again from the log", BOMBS, pages=24, quick=2, columns=BODY, again=True),
    Row("bombs read again, four outputs", BOMBS, pages=8, quick=2, columns=TEXT, outputs=FOUR, again=True),
    Row("links of 1 MB a page read again", _long_links, quick=8, columns=("links",), outputs=FOUR, again=True),
    Row("cookies and header fields read again", _cookies, quick=8, columns=("headers",), outputs=FOUR, again=True),
    Row(
        "robots.txt of 30 MB read again",
        _names(ONE_DOMAIN, 10),
        pages=8,
        quick=2,
        robots=ROBOTS_BOMB,
        depth=2,
        again=True,
    ),
)
