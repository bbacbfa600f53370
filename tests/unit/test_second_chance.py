"""Requests that one fetch cannot send get their answers from another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import lycosa
import pytest
from lycosa import Request, Requests, Response, Responses, SecondChance, StageError, _core

Answer = Callable[[Request], Response]

OLD = "https://old.example"


class ScriptedFetch:
    """Answers at once what a function says, and notes what it was asked."""

    def __init__(self, answer: Answer, slots: int = 10) -> None:
        """answer: of each request."""
        self._answer, self._slots, self._ready, self.asked = answer, slots, list[Response](), list[str]()

    def free(self) -> int:
        """Return the number of free slots."""
        return self._slots - len(self._ready)

    def in_flight(self) -> int:
        """Return the number of answers that wait."""
        return len(self._ready)

    def submit(self, requests: Requests) -> None:
        """Answer requests."""
        self.asked += [request.url for request in requests]
        self._ready += [self._answer(request) for request in requests]

    def completed(self, max: int, within: float) -> Responses:
        """Return the answers."""
        ready, self._ready = self._ready[:max], self._ready[max:]
        return Responses(ready)

    def cancel(self) -> None:
        """Forget the answers."""
        self._ready = []


def refused_if_old(request: Request) -> Response:
    """What a fetch without old TLS says."""
    return request.fail("tls-too-old") if request.url.startswith(OLD) else request.respond(200)


def leased(number: int, url: str) -> Request:
    """A request with a number of its own."""
    return _core.Proxies.request(url, number, ["192.0.2.99"])


def fetched(fetch: SecondChance, *requests: Request) -> dict[str, int | str | None]:
    """What requests come to: status or failure."""
    fetch.submit(Requests(list(requests)))
    found: list[Response] = []
    for _ in range(10):
        found += fetch.completed(100, 0.0)
    assert len(found) == len(requests)
    assert fetch.in_flight() == 0
    return {response.url: response.status or response.error for response in found}


def fetched_all(fetch: SecondChance) -> None:
    """Take what there is."""
    for _ in range(3):
        fetch.completed(10, 0.0)


def test_an_old_site_is_fetched_by_the_second_and_from_then_on_by_it_alone() -> None:
    first, second = ScriptedFetch(refused_if_old), ScriptedFetch(lambda request: request.respond(201))
    fetch = SecondChance(first, second)
    new = "https://new.example/"
    assert fetched(fetch, leased(1, f"{OLD}/a"), leased(2, new)) == {f"{OLD}/a": 201, new: 200}
    assert (first.asked, second.asked) == ([f"{OLD}/a", new], [f"{OLD}/a"])
    assert fetched(fetch, leased(3, f"{OLD}/b"), leased(4, new)) == {f"{OLD}/b": 201, new: 200}
    assert (first.asked[2:], second.asked[1:]) == ([new], [f"{OLD}/b"])
    http = "http://old.example/"
    assert fetched(fetch, leased(5, http)) == {http: 200}


def test_what_the_second_cannot_do_either_fails_as_it_says_and_the_first_is_asked_again() -> None:
    first = ScriptedFetch(refused_if_old)
    second = ScriptedFetch(lambda request: request.fail("connect-timeout", "no luck"))
    fetch = SecondChance(first, second)
    for number in (1, 2):
        assert fetched(fetch, leased(number, f"{OLD}/{number}")) == {f"{OLD}/{number}": "connect-timeout"}
    assert first.asked == second.asked == [f"{OLD}/1", f"{OLD}/2"]


def test_other_failures_and_requests_through_a_proxy_have_no_second_chance() -> None:
    second = ScriptedFetch(lambda request: request.respond(200))
    failed = SecondChance(ScriptedFetch(lambda request: request.fail("tls-certificate")), second)
    assert fetched(failed, leased(1, f"{OLD}/")) == {f"{OLD}/": "tls-certificate"}
    proxied = leased(2, f"{OLD}/").replace(proxy="http://192.0.2.1:80")
    fetch = SecondChance(ScriptedFetch(refused_if_old), second)
    assert fetched(fetch, proxied) == {f"{OLD}/": "tls-too-old"}
    assert fetched(fetch, leased(3, f"{OLD}/")) == {f"{OLD}/": 200}
    assert fetched(fetch, proxied) == {f"{OLD}/": "tls-too-old"}
    assert second.asked == [f"{OLD}/"]
    other = SecondChance(ScriptedFetch(lambda request: request.fail("tls-certificate")), second, {"tls-certificate"})
    assert fetched(other, leased(4, f"{OLD}/x")) == {f"{OLD}/x": 200}


def test_what_the_second_has_no_slot_for_waits_and_takes_a_slot_meanwhile() -> None:
    second = ScriptedFetch(lambda request: request.respond(200), slots=2)
    fetch = SecondChance(ScriptedFetch(refused_if_old), second)
    fetch.submit(Requests([leased(number, f"{OLD}/{number}") for number in range(1, 6)]))
    assert len(fetch.completed(100, 0.0)) == 0
    assert (fetch.free(), fetch.in_flight(), len(second.asked)) == (5, 5, 2)
    found = [response.url for _ in range(5) for response in fetch.completed(1, 0.0)]
    assert found == [f"{OLD}/{number}" for number in range(1, 6)]
    fetch.submit(Requests([leased(number, f"{OLD}/{number}") for number in range(6, 12)]))
    fetch.cancel()
    assert (fetch.in_flight(), len(fetch.completed(100, 0.0))) == (0, 0)


def test_a_second_that_answers_what_nobody_asked_is_named() -> None:
    class Strange(ScriptedFetch):
        def completed(self, max: int, within: float) -> Responses:
            super().completed(max, within)
            return Responses([leased(99, f"{OLD}/strange").respond(200)])

    class Silent(ScriptedFetch):
        def free(self) -> Any:
            return "10"

    for kind, told in (
        (Strange, "Strange.completed returned a response .* not get"),
        (Silent, "Silent.free returned str"),
    ):
        fetch = SecondChance(ScriptedFetch(refused_if_old), kind(lambda request: request.respond(200)))
        fetch.submit(Requests([leased(1, f"{OLD}/")]))
        with pytest.raises(StageError, match=told):
            fetched_all(fetch)


def test_a_crawl_with_a_second_chance_has_the_pages_of_both() -> None:
    def page(request: Request) -> Response:
        links = f"<a href={OLD}/1>x</a><a href={OLD}/2>y</a>"
        return request.respond(200, headers=[("Content-Type", "text/html")], body=links.encode())

    first = ScriptedFetch(lambda request: refused_if_old(request) if request.host == "old.example" else page(request))
    second = ScriptedFetch(page)
    crawl = lycosa.crawl(
        "https://93.184.216.34/",
        f"{OLD}/",
        scope="any",
        user_agent="t/1 (t@example.org)",
        names={"local_data": ["old.example A 93.184.216.35"]},
        politeness={"host_interval": 0, "address_interval": 0},
        speed=100,
        stages=lambda stages: dataclasses.replace(stages, fetch=SecondChance(first, second)),
    )
    ended = {outcome.url: outcome.status or outcome.error for outcome in crawl}
    assert ended == {"https://93.184.216.34/": 200, f"{OLD}/": 200, f"{OLD}/1": 200, f"{OLD}/2": 200}
    assert second.asked[0] == f"{OLD}/robots.txt"
    assert [url for url in first.asked if url.startswith(OLD)] == [f"{OLD}/robots.txt"]
