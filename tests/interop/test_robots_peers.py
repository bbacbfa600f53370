"""Lycosa, Google's parser and Protego read the same generated robots.txt files."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from lycosa import _core
from protego import Protego

from robots_files import COMMON, ESCAPES, SPECIAL, Files, keep_escapes, undo_escapes

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
    """The one difference: RFC 9309 undoes escapes of unreserved characters, Google's parser compares them as written."""
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
    for _ in range(FILES):
        text = files.robots()
        ours, theirs = _core.Robots(text.encode(), "lycosa"), Protego.parse(text)
        for path in [files.path() for _ in range(PATHS)]:
            if path.endswith(("/", "/index.htm", "/index.html")):
                continue  # an open index page opens its folder: Google's rule, which Protego does not have
            assert ours.allows([path]) == [theirs.can_fetch("http://h.example" + path, "lycosa")], (text, path)


def test_crawl_delay_is_protegos() -> None:
    text = "user-agent: lycosa\ncrawl-delay: 2.5\nuser-agent: *\ncrawl-delay: 9\n"
    for agent in ("lycosa", "other"):
        assert _core.Robots(text.encode(), agent).crawl_delay == Protego.parse(text).crawl_delay(agent)
