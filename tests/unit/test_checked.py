"""Stages and sinks of one's own that give what they must not: told by name, and nothing is lost."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import Outcomes, Request, Requests, Responses, Sink, Stages
from lycosa.checked import fits
from lycosa.fetch import ScriptedFetch

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html")]
PAGES = {
    f"{SITE}/": b"".join(b"<a href=/%d>x</a>" % number for number in range(20)),
    **{f"{SITE}/{number}": b"page" for number in range(20)},
}


def site(url: str) -> Any:
    """A small site."""
    return (200, HTML, PAGES[url]) if url in PAGES else (404, [], b"")


class Fetch(ScriptedFetch):
    """A fetch that is right."""

    def __init__(self) -> None:
        super().__init__(site)


class ListFetch(Fetch):
    """Gives a list."""

    def completed(self, max: int, within: float) -> Any:
        return list(super().completed(max, within))


class NothingFetch(Fetch):
    """Forgets to give something."""

    def completed(self, max: int, within: float) -> Any:
        super().completed(max, within)


class StrangeFetch(Fetch):
    """Answers what nobody asked."""

    def completed(self, max: int, within: float) -> Responses:
        super().completed(max, within)
        return Responses([Request(f"{SITE}/strange").respond(200)])


class TextFetch(Fetch):
    """Gives a status that is none."""

    def completed(self, max: int, within: float) -> Responses:
        return super().completed(max, within).map(lambda response: response.request.respond("ok"))  # type: ignore[arg-type]


class CountingFetch(Fetch):
    """Counts in texts."""

    def free(self) -> Any:
        return "16"


class RepeatingFetch(Fetch):
    """Gives a response twice."""

    def completed(self, max: int, within: float) -> Responses:
        responses = super().completed(max, within)
        return Responses([*responses, *responses])


class LosingFetch(Fetch):
    """Loses every response."""

    def completed(self, max: int, within: float) -> Responses:
        super().completed(max, within)
        return Responses()


class NegativeFetch(Fetch):
    """Has less than nothing in flight."""

    def in_flight(self) -> int:
        return -5


class OverfullFetch(Fetch):
    """Has less than no space."""

    def free(self) -> int:
        return -1


class TrueFetch(Fetch):
    """Takes a truth for a number."""

    def free(self) -> int:
        return True


class Around:
    """All of another stage, under a class of its own."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class NanFrontier(Around):
    """Waits for no number of seconds."""

    def wait(self) -> float:
        return math.nan


class FollowlessLog(Around):
    """Cannot be followed."""

    def follow(self, *arguments: Any) -> Any:
        return None


class HalfLog:
    """Has only what the loop calls."""

    def __init__(self, log: Any) -> None:
        for name in ("append", "append_leases", "append_seeds", "sync", "end"):
            setattr(self, name, getattr(log, name))


class NoFetch:
    """Is no fetch."""


class LosingParse:
    """Loses every second page."""

    def __init__(self, parse: Any) -> None:
        self.inner = parse

    def parse(self, responses: Responses) -> Outcomes:
        outcomes: Outcomes = self.inner.parse(responses)
        return outcomes.select([number % 2 for number in range(len(outcomes))])


class BrokenParse(LosingParse):
    """Has a defect."""

    def parse(self, responses: Responses) -> Outcomes:
        return self.inner.parse(responses).map(lambda outcome: outcome.replace(title=outcome.title + 1))  # type: ignore[no-any-return]


def crawl(directory: Path, change: Any) -> list[str]:
    """The pages of the site, by a crawl with other stages."""
    outcomes = lycosa.crawl(
        f"{SITE}/",
        directory=directory,
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "robots": False},
        speed=200,  # a host whose answers were lost is left alone for a minute
        output=directory / "pages.jsonl",
        stages=change,
    )
    return [outcome.url for outcome in outcomes if outcome.status == 200]


def fetching(kind: type) -> Any:
    """Another fetch."""
    return lambda stages: dataclasses.replace(stages, fetch=kind())


def parsing(kind: type) -> Any:
    """Another parse around the core's."""
    return lambda stages: dataclasses.replace(stages, fetch=Fetch(), parse=kind(stages.parse))


def around(name: str, kind: type) -> Any:
    """Another stage around an embedded one, with a fetch that is right."""
    return lambda stages: dataclasses.replace(stages, **{"fetch": Fetch(), name: kind(getattr(stages, name))})


WRONG = [
    (fetching(RepeatingFetch), f"RepeatingFetch.completed returned a response .* not get, or had answered: {SITE}/"),
    (
        fetching(LosingFetch),
        f"LosingFetch.in_flight returned 0 while 1 requests have no response yet, among {SITE}/; expected: all that",
    ),
    (fetching(NegativeFetch), "NegativeFetch.in_flight returned -5; expected: int, at least 0"),
    (fetching(OverfullFetch), "OverfullFetch.free returned -1; expected: int, at least 0"),
    (fetching(TrueFetch), "TrueFetch.free returned bool; expected: int"),
    (around("frontier", NanFrontier), "NanFrontier.wait returned nan; expected: float, at least 0"),
    (around("log", FollowlessLog), "FollowlessLog.follow returned None; expected: Follow"),
    (around("log", HalfLog), "HalfLog.append_requests is missing; .* as lycosa.stages.Log has it"),
    (fetching(ListFetch), "ListFetch.completed returned list; expected: Responses"),
    (fetching(NothingFetch), "NothingFetch.completed returned None; expected: Responses"),
    (fetching(StrangeFetch), f"StrangeFetch.completed returned a response .* or had answered: {SITE}/strange"),
    (fetching(TextFetch), "TextFetch.completed raised TypeError: .*processing 'status'"),
    (fetching(CountingFetch), "CountingFetch.free returned str; expected: int"),
    (fetching(NoFetch), "NoFetch.free is missing; expected: a method free"),
    (
        parsing(LosingParse),
        f"LosingParse.parse returned no outcome for 1 responses, among {SITE}/; expected: one for each",
    ),
    (parsing(BrokenParse), "BrokenParse.parse raised TypeError"),
    (lambda stages: None, "lycosa.crawl.stages returned NoneType; expected: lycosa.Stages"),
]


@pytest.mark.parametrize(("change", "told"), WRONG)
def test_a_stage_that_gives_what_it_must_not_is_told_and_nothing_is_lost(
    change: Any, told: str, tmp_path: Path
) -> None:
    with pytest.raises(lycosa.StageError, match=told):
        crawl(tmp_path, change)
    again = crawl(tmp_path, fetching(Fetch))
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    assert sorted(again) == sorted(PAGES), "what was in flight waited"
    assert len(lines) == len(PAGES)


def test_stages_of_ones_own_may_stand_around_the_embedded_ones(tmp_path: Path) -> None:
    class Titles:
        """Makes titles of URLs."""

        def __init__(self, stages: Stages) -> None:
            self.inner = stages.parse

        def parse(self, responses: Responses) -> Outcomes:
            return self.inner.parse(responses).map(lambda outcome: outcome.replace(title=outcome.url[-3:]))

    crawl = lycosa.crawl(
        f"{SITE}/",
        directory=tmp_path,
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0},
        stages=lambda stages: dataclasses.replace(stages, fetch=Fetch(), parse=Titles(stages)),
    )
    assert all(outcome.title == outcome.url[-3:] for outcome in crawl)


def test_the_embedded_stages_are_what_they_promise(tmp_path: Path) -> None:
    def change(stages: Stages) -> Stages:
        names = ("frontier", "parse", "log")
        around: dict[str, Any] = {name: Around(getattr(stages, name)) for name in names}
        return Stages(fetch=Fetch(), **around)

    assert sorted(crawl(tmp_path, change)) == sorted(PAGES)
    # Nothing keeps the log from the next crawl of this process.
    crawl(tmp_path, change)
    for hint, good, bad in [
        (tuple[int, bytes], (1, b""), (1,)),
        (list[tuple[str, float]], [("a", 1)], [("a", -1.0)]),
        (float | None, None, math.nan),
        (dict[str, Any], {"a": None}, {1: None}),
        (dict[str, int], {"a": 1}, {"a": "many"}),
    ]:
        assert fits(good, hint)
        assert not fits(bad, hint)


class CountingSink(Sink):
    """Gives its count as text."""

    def write(self, outcomes: Outcomes, position: int) -> Any:
        return f"{len(outcomes)}"


class NoSink(Sink):
    """Writes nothing."""


class MisplacedSink(Sink):
    """Opens nowhere."""

    def open(self, first: int, end: int) -> Any:
        return "beginning"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (CountingSink, r"CountingSink.write returned str; expected: int \| None"),
        (MisplacedSink, "MisplacedSink.open returned str; expected: int"),
        (NoSink, "mine:pages: NotImplementedError: NoSink.write"),
    ],
)
def test_a_sink_that_gives_what_it_must_not_is_told(kind: type[Sink], told: str, tmp_path: Path) -> None:
    with pytest.raises(lycosa.LycosaError, match=told):
        for _ in lycosa.crawl(
            f"{SITE}/",
            directory=tmp_path,
            user_agent="t/1 (t@example.org)",
            politeness={"host_interval": 0, "address_interval": 0},
            output=kind("mine:pages"),
            stages=fetching(Fetch),
        ):
            pass


def test_requests_that_nobody_answers_are_still_there(tmp_path: Path) -> None:
    """A fetch may be slow: nothing is expected of it until it says that it has nothing in flight."""

    class Slow(Fetch):
        """Gives nothing at first."""

        calls = 0

        def completed(self, max: int, within: float) -> Responses:
            self.calls += 1
            return Responses() if self.calls % 3 else super().completed(max, within)

    assert sorted(crawl(tmp_path, fetching(Slow))) == sorted(PAGES)
    assert isinstance(Requests(), Requests)
