"""Lycosa, Google's parser and Protego read the same generated robots.txt files."""

from __future__ import annotations

import re
import sys
from random import Random
from typing import Any

import pytest
from lycosa import _core
from protego import Protego

COMMON = ["a", "b", "ab", "private", "Private", "news", "2024", "index.html", "index.htm", "page.php", "x.gif", "tmp"]
SPECIAL = ["~joe", "%2F", "caf%C3%A9", "a%20b", "search", "*", "$", "a*b", "q$"]
ESCAPES = ["%7Ejoe", "~joe", "%41", "A", "%2f", "%2F", "caf%c3%a9", "caf%C3%A9", "x%2Db"]
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")

FILES = 2_000
PATHS = 10  # of each file


@pytest.fixture
def google() -> Any:
    """Give Google's own C++ matcher, where there is a build of it."""
    if sys.version_info >= (3, 13):
        pytest.skip("jwm-robotstxt has no wheel for this Python")
    from jwm.robotstxt import googlebot  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return googlebot.RobotsMatcher()


def test_google_agrees_on_every_verdict_and_on_the_line_that_forbids(google: Any) -> None:
    files = Files(1, COMMON + SPECIAL, lenient=True)
    forbidden = 0
    for _ in range(FILES):
        text = files.robots()
        ours = _core.Robots(text.encode(), "lycosa")
        for path in [files.path() for _ in range(PATHS)]:
            url = "http://h.example" + path
            allowed, line, rule = ours.verdict(url)
            assert allowed == google.OneAgentAllowedByRobots(text, "lycosa", url), (text, path, rule)
            if not allowed:
                forbidden += 1
                assert line == google.matching_line(), (text, path, rule)
    assert FILES < forbidden < FILES * PATHS / 2


def test_where_readings_of_escapes_differ_the_stricter_holds(google: Any) -> None:
    """The one difference: RFC 9309 undoes escapes of unreserved characters, Google's parser compares as written."""
    files = Files(2, ESCAPES, lenient=True)
    differ = 0
    for _ in range(FILES):
        text = files.robots()
        ours = _core.Robots(text.encode(), "lycosa")
        for path in [files.path() for _ in range(PATHS)]:
            undone, kept = (
                google.OneAgentAllowedByRobots(reading(text), "lycosa", "http://h.example" + reading(path))
                for reading in (undo_escapes, keep_escapes)
            )
            differ += undone != kept
            assert ours.allows([path]) == [undone and kept], (text, path)
    assert differ > 100


def test_protego_agrees_on_what_both_read() -> None:
    """Left out are what Protego reads otherwise: misspelt keys, agents by substring, `$` and `*` in paths, raw é."""
    files = Files(3, COMMON, lenient=False)
    compared = 0
    for _ in range(FILES):
        text = files.robots()
        if any("*" in line and "?" in line for line in text.splitlines()):
            continue  # Protego counts a ? after a * as the three bytes of %3F: another rule is the longest
        compared += 1
        ours, theirs = _core.Robots(text.encode(), "lycosa"), Protego.parse(text)
        for path in [files.path() for _ in range(PATHS)]:
            if path.endswith(("/", "/index.htm", "/index.html")):
                continue  # an open index page opens its folder: Google's rule, which Protego does not have
            assert ours.allows([path]) == [theirs.can_fetch("http://h.example" + path, "lycosa")], (text, path)
    assert compared > FILES / 4


def test_crawl_delay_is_protegos() -> None:
    text = "user-agent: lycosa\ncrawl-delay: 2.5\ndisallow: /a\nuser-agent: *\ncrawl-delay: 9\n"
    for agent in ("lycosa", "other"):
        assert _core.Robots(text.encode(), agent).crawl_delay == Protego.parse(text).crawl_delay(agent)


class Files:
    """Files and paths of some words; `lenient` adds spellings that only forgiving parsers read."""

    def __init__(self, seed: int, words: list[str], *, lenient: bool) -> None:
        self.random = Random(seed)  # noqa: S311 -- words, no secrets
        self.words = words
        self.lenient = lenient

    def path(self) -> str:
        """Make a path, perhaps with a query."""
        r = self.random
        path = "/" + "/".join(r.choices(self.words, k=r.randint(0, 3)))
        path += "/" if r.random() < 0.3 and path != "/" else ""
        return path + (r.choice(["?id=1", "?q=a", "?sort=asc&id=2", "?a"]) if r.random() < 0.25 else "")

    def pattern(self) -> str:
        """Make a pattern: a path with wildcards, an end, or neither."""
        r = self.random
        pattern = self.path()
        for _ in range(r.randint(0, 2)):
            if r.random() < 0.4 and "/" in pattern[1:]:
                pattern = re.sub(r"[^/]*/", lambda m: r.choice([m[0], "*/", "*"]), pattern[1:], count=2)
                pattern = "/" + pattern
        if self.lenient:
            cut = r.randint(1, len(pattern))
            pattern = pattern[:cut] + "*" + pattern[cut + 1 :] if r.random() < 0.2 else pattern
            pattern = r.choice(["*" + pattern, pattern[1:], pattern + "é", pattern + "**", pattern, pattern, pattern])
        return pattern + ("$" if r.random() < 0.15 else "") if r.random() > 0.05 else ""

    def robots(self) -> str:
        """Make a file."""
        r, lines = self.random, []
        for _ in range(r.randint(1, 4)):
            agents = ["*", "lycosa", "Lycosa", "otherbot"]
            keys = ["User-agent: ", "user-agent:", "USER-AGENT : "]
            if self.lenient:
                agents += ["lycosa/1.0", "lycosabot", "*bot", "* all", "ly", "Lycosa Bot"]
                keys += ["useragent: ", "User agent: "]
            lines += [r.choice(keys) + r.choice(agents) for _ in range(r.randint(1, 2))]
            lines += [self.rule() for _ in range(r.randint(0, 6))]
        end = r.choice(["\n", "\n", "\r\n", "\r"]) if self.lenient else "\n"
        mark = "\ufeff" if self.lenient and r.random() < 0.05 else ""
        return mark + end.join(lines) + r.choice(["", end])

    def rule(self) -> str:
        """Make a line of a group."""
        r = self.random
        if r.random() < 0.08:
            lenient = ["Noindex: /a", "nonsense", "Host: x", "Crawl-delay: 5"] if self.lenient else []
            return r.choice(["Sitemap: https://h.example/s.xml", "# comment", "", *lenient])
        keys = ["Disallow: ", "disallow:", "DISALLOW:  ", "Allow: ", "allow:"]
        keys += ["Disalow: ", "disallow ", "Allow ", "Dissallow:", "disallowed: "] if self.lenient else []
        return r.choice(keys) + self.pattern() + r.choice(["", "", " ", "  # why"])


def undo_escapes(text: str) -> str:
    """Escapes of unreserved characters undone, others in upper case: RFC 9309's reading."""

    def undo(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if UNRESERVED.match(character) else match[0].upper()

    return re.sub("%([0-9A-Fa-f]{2})", undo, text)


def keep_escapes(text: str) -> str:
    """Escapes in upper case, all kept: the other reading."""
    return re.sub("%[0-9A-Fa-f]{2}", lambda match: match[0].upper(), text)
