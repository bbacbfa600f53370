"""The sites of `memory_hostile`: forty, each hostile in its own way.

A site is an address of its own, 127.(10 + number).0.1 to .4. Its first page leads to its pages, /1 to /N, and at last
to /good, a page like any other.
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
    pages: int = 32  # of each of its four addresses; with 128 slots all of them are fetched at once
    quick: int = 8
    drip: int = 0  # bytes that are sent at once, every 20 ms; 0: all
    robots: bytes = b""  # the body of robots.txt; none: 404
    bodies: bool = False  # whether the output has bodies
    again: bool = False  # measured is a second run, which reads the log again and adds an output


def good(_number: int, _host: str) -> bytes:
    """A page like any other."""
    return response(b"<title>good</title><p>" + b"good " * 200)


def _whole(make: Callable[[], bytes]) -> Answer:
    """Always the same response, made when it is first asked for."""
    made = cache(make)
    return lambda _number, _host: made()


def _markup(make: Callable[[], bytes], *fields: str) -> Answer:
    """Always the same body."""
    return _whole(lambda: response(make(), *fields))


def _links(urls: list[str], head: str = "") -> bytes:
    """A page of links."""
    return (head + "".join(f'<a href="{url}">x</a>' for url in urls)).encode()


def _redirect(number: int, host: str) -> bytes:
    """To the next of a chain, each URL of 8,000 bytes; the crawler ends it."""
    return response(b"", f"location: http://{host}/{number}{'r' * 8_000}", status=302)


def _again_nofollow() -> bytes:
    """Links that are nofollow, then the same in reverse without; a long prefix in common."""
    urls = [f"/1{'n' * 4_000}{number}" for number in range(1_000)]
    first = "".join(f'<a rel="nofollow" href="{url}">x</a>' for url in urls)
    return first.encode() + _links(urls[::-1])


def _names(number: int, host: str) -> bytes:
    """Links to 2,000 names of one domain, new ones on each page."""
    site, port = host.split(".")[1], host.rpartition(":")[2]
    return response(_links([f"http://n{number}-{i}.trap{site}.test:{port}/good" for i in range(2_000)]))


def _hosts(number: int, host: str) -> bytes:
    """Links to 2,000 addresses, new ones on each page."""
    site, port = host.split(".")[1], host.rpartition(":")[2]
    return response(_links([f"http://127.{site}.{number + 1}.{i % 256}:{port}/good?{i}" for i in range(2_000)]))


def _cookies(number: int, _host: str) -> bytes:
    """Cookies of 4 KB, new ones on each page."""
    fields = [f"set-cookie: c{number}-{i}={'c' * 4_000}" for i in range(14)]
    return response(b"<p>cookies", *fields)


BASE = f'<base href="/good/{"b" * 8_000}/">'
BOMB = gzipped(b"<p>bomb ", 4 * MIB - 200_000)  # 32 MB of markup in some 80 KB

ROWS = (
    Row("brotli, a window of 1 GiB", _markup(lambda: brotli(1_024, large_window=True), BROTLI)),
    Row("brotli, 1 GiB in 1 KB", _markup(lambda: brotli(1_024, large_window=False), BROTLI)),
    Row("brotli, 16 MiB in 20 bytes", _markup(lambda: brotli(16, large_window=False), BROTLI)),
    Row("gzip, 30 MB of markup in all slots", _markup(lambda: BOMB, GZIP)),
    Row("gzip, 1 GB in 1 MB", _markup(lambda: gzipped(b"a" * 1_000, 1_000_000), GZIP), pages=8, quick=2),
    Row("gzip, three times over", _markup(lambda: gzipped(b"<p>a", 7_000_000, 3), ", ".join([GZIP, *["gzip"] * 2]))),
    Row("gzip, 9,999 members", _markup(lambda: gzipped(b"a", 1) * 9_999, GZIP)),
    Row("deflate, 30 MiB", _markup(lambda: deflated(30), DEFLATE)),
    Row("zstd, a window of 1 GiB", _markup(lambda: zstd(32, 30), ZSTD)),
    Row("zstd, 30 MiB in 1 KB", _markup(lambda: zstd(30, 23), ZSTD)),
    Row("bodies of 10 MB in all slots", _markup(lambda: b"<p>large " * 1_100_000)),
    Row("bodies of 10 MB in chunks", _whole(lambda: chunked([b"<p>large " * 5_000] * 230))),
    Row("slow bodies", _markup(lambda: b"<p>slow " * 500), drip=100),
    Row("chunks of one byte", _whole(lambda: chunked([b"a"] * 100_000)), quick=4),
    Row("chunk extensions of 15 KB", _whole(lambda: chunked([b"<p>ext"] * 100, b";" + b"e" * 15_000))),
    Row("1,000 interim responses", lambda _n, _h: b"HTTP/1.1 103 x\r\nlink: </a>\r\n\r\n" * 1_000 + good(0, "")),
    Row("header fields of 60 KB", lambda _n, _h: response(b"<p>x", *(f"x-{i}: {'h' * 290}" for i in range(190)))),
    Row("a header field of 1 MB", lambda _n, _h: response(b"<p>x", f"x: {'h' * MIB}")),
    Row("content-length says more", lambda _n, _h: response(b"<p>short", length=9 * MIB)),
    Row("content-length of 1 TB", lambda _n, _h: response(b"<p>huge" * 10_000, length=1 << 40)),
    Row("connections drop", lambda n, _h: response(b"<p>drop " * 20_000)[: 50 + n * 3_000], quick=4),
    Row("redirects of 8 KB", _redirect, pages=8, quick=2),
    Row("cookies of 4 KB", _cookies),
    Row(
        "robots.txt of 500 KB",
        good,
        robots=b"User-agent: *\n" + b"".join(b"Disallow: /x%d*y$\n" % i for i in range(25_000)),
    ),
    Row("a base of 8 KB, 10,000 links", _markup(lambda: _links([str(i) for i in range(10_000)], BASE)), quick=4),
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
    Row("2,000 names a page under one domain", _names, quick=4),
    Row("2,000 hosts a page", _hosts, pages=4, quick=2),
    Row("an output that lags, 30 MB a row", _markup(lambda: BOMB, GZIP), pages=4, quick=1, bodies=True),
    Row("bombs read again from the log", _markup(lambda: BOMB, GZIP), pages=4, quick=1, bodies=True, again=True),
)
