"""``lycosa why`` tells one URL's whole story."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from lycosa import _core
from lycosa.cli.why import lines
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages
from lycosa.store.directory import JobDirectory, Record

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html")]
ANSWERS: dict[str, Answer] = {
    "/robots.txt": (200, [], b"User-agent: *\nDisallow: /private\n"),
    "/": (
        200,
        HTML,
        b"<a href=/a>a</a><a href=/private>p</a><a href=/moved>m</a><a href=/slow>s</a>"
        b"<a rel=nofollow href=/hidden>h</a><a href=http://203.0.113.9/>elsewhere</a>"
        b"<a href=http://93.184.216.34:25/mail>m</a>",
    ),
    "/a": (200, HTML, b"<a href=/deep>d</a><a href=/>back</a>"),
    "/moved": (301, [("Location", "/new")], b""),
    "/new": (200, HTML, b"new"),
    "/slow": "read-timeout",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job directory ``d`` with a crawl of a scripted site, of depth 1 at most."""
    folder = tmp_path_factory.mktemp("why")
    directory = JobDirectory(folder / "d")
    politeness = {"host_interval": 0, "address_interval": 0, "retry_delay": 0, "retries": 1}
    given = {"max_depth": 1, "politeness": politeness, "frontier": {"patience": 0}}
    job = make_job({"seeds": [f"{SITE}/", f"{SITE}/later"], **given})
    log = _core.Log(directory.log, 1 << 20)
    fetch = ScriptedFetch(lambda url: ANSWERS.get(url.removeprefix(SITE), (404, [], b"")))
    stages = Stages(frontier=_core.Frontier(job, _core.Names(job)), fetch=fetch, parse=_core.Parser(job), log=log)
    log.append_seeds([f"{SITE}/"])
    stages.frontier.add([f"{SITE}/"])
    for _ in run(stages, Control()):
        pass
    # Killed with a request under way.
    stages.frontier.add([f"{SITE}/lost"])
    log.append_seeds([f"{SITE}/lost"])
    while not len(lost := stages.frontier.take(9)):
        time.sleep(stages.frontier.wait())
    log.append_leases(lost)
    # Accepted, and never come to.
    log.append_seeds([f"{SITE}/later"])
    log.sync()
    directory.write(Record.make(job.model_dump(mode="json"), ()))
    return folder


def why(url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "lycosa", "why", url, "d", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "/",
            ["accepted as a seed", "robots.txt: ", "200: allows it", "status 200, 7 links", "now: done: status 200"],
        ),
        ("/a", [f"linked from {SITE}/ (200), depth 1: accepted unless already known", "now: done: status 200"]),
        (
            "/private",
            [
                "robots.txt: http://93.184.216.34/robots.txt: 200: line 2 forbids it: Disallow: /private",
                "accepted unless already known",
                "settled without a request: robots-disallowed (line 2 of robots.txt: Disallow: /private)",
                "refused: robots-disallowed",
            ],
        ),
        ("/moved", [f"redirects to {SITE}/new", f"now: done: redirected to {SITE}/new"]),
        ("/new", [f"redirected to from {SITE}/moved (301)", "now: done: status 200"]),
        ("/slow", ["try 1, lease", "read-timeout", "goes back to waiting", "try 2, lease", "failed: read-timeout"]),
        ("/hidden", ["depth 1, nofollow: refused", "now: not admitted: refused: the link or its page is nofollow"]),
        ("/deep", [f"linked from {SITE}/a", "depth 2: refused", "not admitted: refused: deeper than max_depth"]),
        (":25/mail", ["depth 1: refused: its port is blocked", "now: not admitted: refused: its port is blocked"]),
        ("/lost", ["accepted as a seed", "no outcome is recorded", "now: waits for its turn"]),
        ("/later", ["accepted as a seed", "now: waits for its turn at its host; lycosa crawl --dir d resumes the "]),
    ],
)
def test_a_story_tells_each_event_and_how_things_stand(path: str, told: list[str], folder: Path) -> None:
    result = why(f"{SITE}{path}", folder)
    assert result.returncode == 0, result.stderr
    rest = result.stdout
    for part in told:
        assert part in rest, result.stdout
        rest = rest[rest.index(part) :]
    assert " 0.000 s" not in result.stdout  # a time that was not measured is not told


def test_what_is_out_of_scope_and_what_was_never_seen_are_told_apart(folder: Path) -> None:
    other = why("http://203.0.113.9/", folder)
    assert "not admitted: refused: out of scope" in other.stdout
    unknown = why("http://nowhere.example/", folder)
    assert "does not know this URL: no seed, link or redirect" in unknown.stdout
    assert (other.returncode, unknown.returncode) == (0, 1)


def test_a_url_is_found_in_any_form_and_told_as_json(folder: Path) -> None:
    story: dict[str, Any] = json.loads(why("HTTP://93.184.216.34:80/slow#top", folder, "--json").stdout)
    assert story["url"] == f"{SITE}/slow"
    assert [outcome["attempt"] for outcome in story["outcomes"]] == [0, 1]
    assert all(outcome["lease"] > 0 for outcome in story["outcomes"])
    assert story["now"] == ("failed: read-timeout; lycosa crawl --dir d --retry-failed=read-timeout fetches it again")


def link(page: int, refused: str | None = None) -> dict[str, Any]:
    """A link to the URL as a story has it."""
    found = {"page": f"{SITE}/{page}", "status": 200, "depth": 1, "nofollow": False, "refused": refused}
    return {"position": page, "at": 0.0, **found}


@pytest.mark.parametrize(
    ("found", "shown", "more"),
    [
        ([link(n) for n in range(3)], [0, 1, 2], None),
        ([link(n) for n in range(4)], [0, 1, 2], "and 1 more page links to it"),
        ([*(link(n, "depth") for n in range(10)), link(99)], [0, 1, 99], "and 8 more pages link to it"),
    ],
)
def test_three_links_are_shown_the_one_that_let_it_in_among_them(
    found: list[dict[str, Any]], shown: list[int], more: str | None
) -> None:
    empty: dict[str, Any] = {name: [] for name in ("seeds", "redirected", "robots", "outcomes", "unanswered")}
    told = lines({**empty, "url": f"{SITE}/x", "found": found, "found_more": 0, "skipped": 0, "now": "waits"})
    links = [line.split("linked from ")[1].split()[0] for line in told if "linked from" in line]
    assert links == [f"{SITE}/{page}" for page in shown]
    assert [line.strip() for line in told if "more page" in line] == ([more] if more else [])


@pytest.mark.parametrize(("url", "directory"), [("example.com", "d"), ("http://example.com/", "missing")])
def test_bad_input_is_one_line(url: str, directory: str, folder: Path) -> None:
    command = [sys.executable, "-m", "lycosa", "why", url, directory]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr


def test_a_link_that_lost_its_tracking_parameters_is_found_by_what_the_page_says(folder: Path) -> None:
    made = why(f"{SITE}/a?utm_source=news", folder)
    assert made.returncode == 0, made
    assert made.stdout.startswith(f"{SITE}/a?utm_source=news in a link is normalised to {SITE}/a")
    assert "now: done: status 200" in made.stdout
    told = json.loads(why(f"{SITE}/a?utm_source=news", folder, "--json").stdout)
    assert (told["url"], told["asked"]) == (f"{SITE}/a", f"{SITE}/a?utm_source=news")
