"""The static site that every contestant crawls: deterministic, connected, with realistic pages."""

from __future__ import annotations

import html
import json
import posixpath
import random
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from benchmarks.report import BenchmarkError

SECTIONS = (
    *("news", "world", "science", "culture", "sport", "travel"),
    *("health", "money", "food", "garden", "history", "music"),
)
YEARS = range(2012, 2026)
FANOUT = 10  # each page links to so many children, which makes the whole site reachable


@dataclass(frozen=True, slots=True)
class Page:
    """The expected result of a correct crawl for one page."""

    title: str
    links: int
    characters: int


@dataclass(frozen=True, slots=True)
class Site:
    """A generated site: the folder to serve, and its pages by path."""

    folder: Path
    pages: dict[str, Page]
    size: int

    @property
    def describe(self) -> str:
        """Describe the site in one phrase, as measured and not as intended."""
        count = len(self.pages)
        links = sum(page.links for page in self.pages.values()) / count
        return f"{count:,} pages, mean {self.size / count / 1024:.1f} KiB, mean {links:.1f} links"


def build(folder: Path, count: int = 5_000, seed: int = 1, size_of_page: int = 27_000) -> Site:
    """Write `count` pages of about a size and robots.txt below `folder`; the same arguments give the same files."""
    writer = _Writer(count, seed, size_of_page)
    pages: dict[str, Page] = {}
    size = 0
    for number, path in enumerate(writer.paths):
        text, page = writer.page(number)
        pages[path] = page
        file = folder / (path[1:] + "index.html" if path.endswith("/") else path[1:])
        file.parent.mkdir(parents=True, exist_ok=True)
        size += file.write_bytes(text.encode())
    (folder / "robots.txt").write_text("User-agent: *\nDisallow:\n")
    return Site(folder, pages, size)


def check(site: Site, output: Path, name: str, *, bodies: bool = False, partial: bool = False) -> int:
    """Check that an output has exactly one correct line per page (`partial`: for some); returns their number."""
    seen: set[str] = set()
    with _lines(output, name) as lines:
        for line in lines:
            record = _record(line, name)
            path = urlsplit(record["url"]).path
            if path not in site.pages or path in seen:
                fault = "twice" if path in seen else "which is not a page of the site"
                raise BenchmarkError(f"{name}: wrote {record['url']} {fault}")
            seen.add(path)
            page = site.pages[path]
            wanted = (200, page.title, page.links, page.characters if bodies else None)
            got = (
                record.get("status"),
                record.get("title"),
                record.get("link_count"),
                len(record.get("body") or "") if bodies else None,
            )
            if got != wanted:
                raise BenchmarkError(
                    f"{name}: {record['url']}: (status, title, links, characters) is {got}, not {wanted}"
                )
    if len(seen) != len(site.pages) and not partial:
        raise BenchmarkError(f"{name}: wrote {len(seen):,} of the {len(site.pages):,} pages")
    return len(seen)


def _record(line: bytes, name: str) -> dict[str, Any]:
    """Parse one line of an output."""
    try:
        record: dict[str, Any] = json.loads(line)
        str.strip(record["url"])
    except (ValueError, KeyError, TypeError):
        raise BenchmarkError(f"{name}: wrote a line that is no record with a URL: {line[:80]!r}") from None
    return record


def _lines(output: Path, name: str) -> IO[bytes]:
    """Open a contestant's output."""
    try:
        return output.open("rb")
    except OSError as error:
        raise BenchmarkError(f"{name}: left no output: {error}") from None


class _Writer:
    """Generates pages from a pool of words, sentences and paragraphs drawn once."""

    def __init__(self, count: int, seed: int, size: int) -> None:
        """Draw the vocabulary, the paragraphs and all paths and titles."""
        self.size = size
        self.rng = random.Random(seed)
        self.words = [self._word() for _ in range(3_000)]
        self.sentences = [self._sentence() for _ in range(1_500)]
        self.paragraphs = [self._paragraph() for _ in range(800)]
        self.paths = ["/"] + [f"/{name}/" for name in SECTIONS]
        self.paths += [self._path(number) for number in range(len(self.paths), count)]
        self.paths = self.paths[:count]
        self.titles = [self._title(number) for number in range(count)]

    def page(self, number: int) -> tuple[str, Page]:
        """Return one page's HTML and what a crawl must find in it."""
        rng, title = self.rng, self.titles[number]
        navigation = range(min(len(SECTIONS) + 1, len(self.paths)))
        chosen = self._links(number, skip=set(navigation))
        links = [self._link(number, target) for target in chosen]
        links += [
            f'<a rel="nofollow noopener" href="https://{self._pick()}.partner.invalid/p/{n}">{self._pick()}</a>'
            for n in (1, 2)
        ]  # .invalid: no host that could ever be asked
        inline, cards, aside = links[:12], links[12:32], links[32:]
        parts = [
            _HEAD.format(title=html.escape(title), description=html.escape(self._pick_sentence()), number=number),
            self._navigation(number, navigation),
            f'<main id="content"><article class="article article--long" data-id="{number}"><header>'
            f'<h1 class="article__title">{html.escape(title)}</h1><p class="byline">By <span class="author">'
            f"{self._pick().title()} {self._pick().title()}</span></p></header>",
        ]
        end = [self._cards(cards), self._aside(aside), _FOOT]
        size = (
            self.size + rng.randint(-4_000, 4_000) - sum(map(len, parts)) - sum(map(len, end)) - sum(map(len, inline))
        )
        parts += [*self._body(inline, size), *end]
        text = "".join(parts)
        return text, Page(title, len(chosen) + 2 + len(navigation), len(text))

    def _links(self, number: int, skip: set[int]) -> list[int]:
        """Choose the targets of a page: its children, then others, the popular ones more often."""
        count = len(self.paths)
        children = range(number * FANOUT + 1, min(number * FANOUT + FANOUT + 1, count))
        chosen = dict.fromkeys(child for child in children if child not in skip)
        wanted = min(self.rng.randint(54, 66) - len(skip) - 2, count - len(skip))
        while len(chosen) < wanted:
            target = int(count * self.rng.random() ** 2)
            if target not in skip:
                chosen[target] = None
        result = list(chosen)
        self.rng.shuffle(result)
        return result

    def _link(self, source: int, target: int) -> str:
        """Write one link as sites do: absolute path, relative path or with a fragment."""
        path, title = self.paths[target], html.escape(self.titles[target])
        draw = self.rng.random()
        if draw < 0.3:
            folder = posixpath.dirname(self.paths[source])
            path = posixpath.relpath(path, folder) + ("/" if path.endswith("/") else "")
        if draw > 0.9:
            path += "#comments"
        return (
            f'<a class="link link--story" data-track="story-{target}" title="{title}" '
            f'href="{path}"><span class="link__text">{title}</span></a>'
        )

    def _navigation(self, number: int, pages: range) -> str:
        """Write the bar of sections that is on every page."""
        items = "".join(
            f'<li class="nav__item{" nav__item--on" if n == number else ""}"><a class="nav__link" '
            f'href="{self.paths[n]}">{html.escape(self.titles[n])}</a></li>'
            for n in pages
        )
        return f'<nav class="nav" aria-label="Sections"><ul class="nav__list">\n{items}\n</ul></nav>'

    def _body(self, inline: list[str], size: int) -> list[str]:
        """Write paragraphs with links, of about `size` characters in total."""
        parts: list[str] = []
        while size > 0:
            paragraph = self.rng.choice(self.paragraphs)
            size -= len(paragraph)
            parts.append(paragraph)
            if inline:
                parts.append(f"<p>{self.rng.choice(self.sentences)} {inline.pop()}.</p>\n")
        parts += [f"<p>{link}</p>\n" for link in inline]
        return [*parts, "</article>"]

    def _cards(self, links: list[str]) -> str:
        """Write the grid of related stories."""
        cards = "".join(
            f'<div class="card"><div class="card__media"><img loading="lazy" alt="" width="320" height="180" '
            f'src="/img/{n}.jpg"></div><h3 class="card__head">{link}</h3></div>\n'
            for n, link in enumerate(links)
        )
        return f'<section class="related"><h2>Related</h2><div class="grid">{cards}</div></section></main>'

    def _aside(self, links: list[str]) -> str:
        """Write the list at the side."""
        items = "".join(f"<li>{link}</li>\n" for link in links)
        return f'<aside class="side"><h2>Most read</h2><ol class="side__list">{items}</ol></aside>'

    def _path(self, number: int) -> str:
        """Return the path of an article: section, year, slug."""
        slug = "-".join(self._pick(plain=True) for _ in range(3))
        return f"/{self.rng.choice(SECTIONS)}/{self.rng.choice(YEARS)}/{slug}-{number}.html"

    def _title(self, number: int) -> str:
        """Return the title of a page; some have characters that HTML must escape."""
        if 0 < number <= len(SECTIONS):
            return SECTIONS[number - 1].title()
        joint = self.rng.choice([" & ", ": ", " \N{EN DASH} ", " ", " "])
        return f"{self._pick().title()} {self._pick()}{joint}{self._pick()} {self._pick()} {number}"

    def _word(self) -> str:
        """Make a word of two to four syllables; a few have accents."""
        choice, syllables = self.rng.choice, range(self.rng.randint(1, 4))
        word = "".join(choice("bcdfglmnprstv") + choice("aeiou") for _ in syllables)
        word += choice(["", "n", "r", "s", "t"])
        return word.replace("e", "é", 1) if self.rng.random() < 0.04 else word

    def _pick(self, *, plain: bool = False) -> str:
        """Draw a word, frequent ones more often; `plain` asks for ASCII."""
        word = self.words[int(len(self.words) * self.rng.random() ** 3)]
        return word.replace("é", "e") if plain else word

    def _sentence(self) -> str:
        """Make a sentence of plain words."""
        return " ".join(self._pick() for _ in range(self.rng.randint(6, 16))).capitalize() + "."

    def _pick_sentence(self) -> str:
        """Draw a sentence."""
        return self.rng.choice(self.sentences)

    def _paragraph(self) -> str:
        """Make a paragraph with markup inside, now and then a list, a quotation or a figure."""
        shapes = (
            "<p>{0} <em>{1}</em> {2} <strong>{3}</strong> {4}</p>\n",
            '<p>{0} {1} <span class="term" data-kind="note">{2}</span> {3} &mdash; {4}</p>\n',
            '<blockquote class="quote"><p>{0} {1}</p><footer>{2} <cite>{3}</cite> &amp; {4}</footer></blockquote>\n',
            '<ul class="list"><li>{0}</li><li>{1} <code>{2}</code></li><li>{3}</li><li>{4}</li></ul>\n',
            '<figure class="figure"><img src="/img/f.jpg" alt="{0}" width="640" height="360">'
            "<figcaption>{1} <!-- {2} --> {3} <small>{4}</small></figcaption></figure>\n",
        )
        shape = self.rng.choices(shapes, weights=(5, 3, 1, 1, 1))[0]
        return shape.format(*(self._pick_sentence() for _ in range(5)))


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{description}">
<meta property="og:title" content="{title}">
<link rel="stylesheet" href="/static/main.css">
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Article","identifier":{number}}}</script>
<style>.nav{{display:flex}}.card{{border:1px solid #ddd}}.side{{float:right}}</style>
</head>
<body class="page page--article">
<div class="wrap"><div class="wrap__inner">
"""

_FOOT = """
<footer class="foot"><div class="foot__row"><p>All rights reserved &copy; 2025</p>
<form action="/search" method="get"><label>Search <input type="search" name="q"></label>
<button type="submit">Go</button></form></div></footer>
</div></div>
<script>window.page = {loaded: Date.now()}; if (1 < 2 && 3 > 2) { document.title; }</script>
</body>
</html>
"""
