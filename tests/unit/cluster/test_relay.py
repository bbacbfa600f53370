"""Responses that other workers parse: whatever becomes of their messages, each has one outcome."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lycosa import _core
from lycosa.cluster import relay
from lycosa.cluster.relay import PATIENCE, PIECE, RelayedParse
from lycosa.cluster.stage_workers import parsed
from lycosa.job import make_job
from lycosa.records import Outcomes, Request, Responses

JOB = make_job({"seeds": ["https://example.com/"]})


class ModelChannel:
    """Parsers that answer when the test wants it."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bytes]] = []
        self.answers: list[tuple[int, bytes]] = []
        self.is_open = True
        self.parser = _core.Parser(JOB)

    def send(self, number: int, message: bytes) -> bool:
        if self.is_open:
            self.sent.append((number, message))
        return self.is_open

    def received(self) -> list[tuple[int, bytes]]:
        answers, self.answers = self.answers, []
        return answers

    def answer(self) -> None:
        """Parse the oldest message that was sent."""
        number, message = self.sent.pop(0)
        self.answers.append((number, parsed(self.parser, message)[1]))


class Clock:
    """Time that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pages(numbers: Iterable[int]) -> Responses:
    """Responses to different URLs."""
    return Responses(
        [
            Request(f"https://example.com/{number}").respond(
                200, headers=[("Content-Type", "text/html")], body=b'<title>Page</title><a href="/next">'
            )
            for number in numbers
        ]
    )


def urls(outcomes: Outcomes) -> list[str]:
    """What has an outcome; each was parsed."""
    assert all(outcome.title == "Page" and outcome.links for outcome in outcomes)
    return [outcome.url for outcome in outcomes]


def made() -> tuple[RelayedParse, ModelChannel, Clock]:
    channel, clock = ModelChannel(), Clock()
    return RelayedParse(_core.Parser(JOB), channel, 1 << 20, clock), channel, clock


def answered() -> tuple[RelayedParse, ModelChannel, Clock]:
    """A parse whose parsers have answered before."""
    parse, channel, clock = made()
    assert urls(parse.parse(pages([0]))) == ["https://example.com/0"]
    channel.answer()
    assert len(parse.parse(Responses())) == 0, "a copy was sent"
    return parse, channel, clock


def test_outcomes_come_in_a_later_call_and_responses_are_in_flight_until_then() -> None:
    parse, channel, _ = answered()
    assert len(parse.parse(pages(range(2 * PIECE + 1)))) == 0
    assert len(channel.sent) == 3, "in batches that several parsers may take"
    assert parse.pending() == 2 * PIECE + 1
    channel.answer()
    channel.answer()
    assert len(urls(parse.parse(Responses()))) == 2 * PIECE
    assert parse.pending() == 1


def test_without_a_parser_all_is_parsed_at_once(caplog: pytest.LogCaptureFixture) -> None:
    # A batch that was held back until nobody had answered delayed a crawl by half a minute, again and again.
    parse, channel, clock = made()
    for number in range(3):
        assert urls(parse.parse(pages([number]))) == [f"https://example.com/{number}"]
        assert len(channel.sent) == 1, "one copy at a time"
    clock.now += PATIENCE
    parse.parse(Responses())
    assert urls(parse.parse(pages([3]))) == ["https://example.com/3"]
    assert len(channel.sent) == 2, "and the next one is tried"
    assert parse.pending() == 0
    assert not caplog.text, "nobody was there who could have gone"


def test_a_parser_that_refuses_the_copy_is_none() -> None:
    parse, channel, clock = made()
    parse.parse(pages([0]))
    channel.answers = [(1, b"")]
    assert urls(parse.parse(pages([1]))) == ["https://example.com/1"]
    assert parse.pending() == 0
    assert len(channel.sent) == 1, "nor is it asked again at once"
    clock.now += PATIENCE
    parse.parse(pages([2]))
    assert len(channel.sent) == 2


def test_an_answer_that_comes_late_says_nothing_of_now() -> None:
    parse, channel, clock = made()
    parse.parse(pages([0]))
    channel.answer()
    clock.now += PATIENCE
    assert urls(parse.parse(pages([1]))) == ["https://example.com/1"]
    assert parse.pending() == 0


def test_a_parser_that_is_gone_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    parse, channel, clock = answered()
    parse.parse(pages(range(PIECE + 1)))
    clock.now += PATIENCE
    assert len(urls(parse.parse(Responses()))) == PIECE + 1
    assert caplog.text.count("no parser answers") == 1
    for _ in range(2):
        channel.answer()
    assert len(parse.parse(Responses())) == 0, "what was parsed here is not taken again"


def test_what_a_parser_cannot_read_is_parsed_here() -> None:
    parse, channel, _ = answered()
    parse.parse(pages([1, 2]))
    channel.answers = [(2, b"")]
    assert len(urls(parse.parse(Responses()))) == 2
    parse.parse(pages([3]))
    channel.answers = [(3, b"damaged")]
    assert urls(parse.parse(Responses())) == ["https://example.com/3"]


def test_at_the_end_nobody_is_waited_for() -> None:
    parse, channel, _ = answered()
    parse.parse(pages([1]))
    parse.recall()
    assert urls(parse.parse(Responses())) == ["https://example.com/1"]
    parse.parse(pages([2]))
    parse.forget()
    assert parse.pending() == 0
    for _ in range(2):
        channel.answer()
    assert len(parse.parse(Responses())) == 0


def test_what_is_larger_than_a_message_is_parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "PIECE_BYTES", 1_000)
    monkeypatch.setattr(relay, "MOST", 1_000)
    parse, channel, _ = answered()
    large = [*pages([1]), Request("https://example.com/2").respond(200, body=b"x" * 2_000), *pages([3])]
    assert [outcome.url for outcome in parse.parse(Responses(large))] == ["https://example.com/2"]
    assert parse.pending() == 2
    assert len(channel.sent) == 2


def test_what_is_elsewhere_has_a_limit() -> None:
    parse, channel, _ = answered()
    parse.parse(Responses([Request("https://example.com/1").respond(200, body=b"x" * (1 << 20))]))
    assert urls(parse.parse(pages([2]))) == ["https://example.com/2"]
    channel.answer()
    assert len(parse.parse(Responses())) == 1
    assert len(parse.parse(pages([3]))) == 0


def test_what_comes_back_is_parsed_in_turns() -> None:
    parse, _, _ = answered()
    parse.parse(pages(range(100)))
    parse.recall()
    assert len(parse.parse(Responses())) == relay.TURN * PIECE
    assert parse.pending() == 100 - relay.TURN * PIECE


def test_where_nothing_can_be_sent_all_is_parsed_here() -> None:
    parse, channel, _ = answered()
    channel.is_open = False
    assert len(urls(parse.parse(pages(range(PIECE + 1))))) == PIECE + 1


@given(st.integers(0, 1 << 32))
def test_each_response_has_one_outcome_whatever_becomes_of_messages(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    parse, channel, clock = made()
    found, count = Counter[str](), 0
    for _ in range(30):
        new = rng.choice([0, 0, 1, 3])
        found.update(urls(parse.parse(pages(range(count, count + new)))))
        count += new
        clock.now += rng.choice([0.1, 0.1, PATIENCE])
        channel.is_open = rng.random() < 0.9
        match rng.choice(["answer", "answer", "lose", "refuse", "twice", "recall", "reorder"]):
            case "recall":
                parse.recall()
            case "reorder":
                rng.shuffle(channel.sent)
                rng.shuffle(channel.answers)
            case what if channel.sent:
                if what == "lose":
                    channel.sent.pop(0)
                elif what == "refuse":
                    channel.answers.append((channel.sent.pop(0)[0], b""))
                else:
                    channel.answer()
                    channel.answers *= 1 + (what == "twice")
    parse.recall()
    while parse.pending() > 0:
        found.update(urls(parse.parse(Responses())))
    found.update(urls(parse.parse(Responses())))
    assert found == Counter(f"https://example.com/{number}" for number in range(count))
