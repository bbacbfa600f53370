"""Requests through a pool: which proxy each gets, and what failures come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from lycosa import _core
from lycosa.proxies import Proxy, Ring
from lycosa.proxies.fetch import ProxyFetch
from lycosa.proxies.pool import Pool
from lycosa.records import Request, Requests, Response, Responses

Answer = Callable[[Request], Response]


class ScriptedFetch:
    """Answers at once what a function says, and notes by which proxy it was asked."""

    def __init__(self, answer: Answer) -> None:
        """answer: of each request."""
        self._answer, self._ready, self.asked = answer, list[Response](), list[str | None]()
        self.keeps = False  # whether answers stay when all is cancelled

    def free(self) -> int:
        """Return the number of free slots."""
        return 10

    def in_flight(self) -> int:
        """Return the number of answers that wait."""
        return len(self._ready)

    def submit(self, requests: Requests) -> None:
        """Answer requests."""
        for request in requests:
            self.asked.append(request.proxy)
            self._ready.append(self._answer(request))

    def completed(self, max: int, within: float) -> Responses:
        """Return the answers."""
        ready, self._ready = self._ready, []
        return Responses(ready)

    def cancel(self) -> None:
        """Forget the answers."""
        self._ready = self._ready if self.keeps else []


def through(
    answer: Answer, proxies: int = 3, tries: int = 3, concurrency: int = 8
) -> tuple[ProxyFetch, ScriptedFetch, Pool]:
    """A fetch through so many proxies that nobody checks."""
    pool = Pool(is_checked=False, concurrency=concurrency)
    for number in range(proxies):
        pool.add(Proxy("http", f"192.0.2.{number}", 80), [f"192.0.2.{number}"])
    fetch = ScriptedFetch(answer)
    return ProxyFetch(fetch, pool, tries), fetch, pool


def failing(kind: str, address: str | None = None) -> Answer:
    """Fails with a kind; address: of the proxy, if that was connected to."""
    return lambda request: request.fail(kind, "why", address=address)


def leased(number: int, url: str = "http://a.example/") -> Request:
    """A request with a number of its own."""
    return _core.Proxies.request(url, number, ["192.0.2.99"])


def fetched(fetch: ProxyFetch, *requests: Request) -> list[Response]:
    """The responses to requests."""
    fetch.submit(Requests(list(requests)))
    found: list[Response] = []
    for _ in range(10):
        found += fetch.completed(100, 0.0)
    return found


def test_requests_of_a_domain_go_around_the_ring() -> None:
    fetch, scripted, _ = through(lambda request: request.respond(200))
    responses = fetched(fetch, *(leased(number, f"http://a.example/{number}") for number in range(1, 7)))
    assert [response.status for response in responses] == [200] * 6
    assert scripted.asked == [f"http://192.0.2.{number}:80" for number in (0, 1, 2, 0, 1, 2)]


def test_a_proxy_that_fails_itself_is_replaced_and_leaves() -> None:
    def answer(request: Request) -> Response:
        bad = request.proxy == "http://192.0.2.0:80"
        return request.fail("proxy-failed", "refused") if bad else request.respond(200)

    fetch, scripted, pool = through(answer)
    (response,) = fetched(fetch, leased(1))
    assert (response.status, len(scripted.asked), pool.working()) == (200, 2, 2)
    assert fetch.in_flight() == 0


def test_a_request_is_given_so_many_proxies_and_no_more() -> None:
    fetch, scripted, _ = through(lambda request: request.fail("proxy-failed", "refused"), proxies=9, tries=3)
    (response,) = fetched(fetch, leased(1))
    assert (response.error, len(set(scripted.asked))) == ("proxy-failed", 3)


def test_a_failure_that_may_be_the_sites_is_left_to_the_frontier() -> None:
    fetch, scripted, pool = through(lambda request: request.fail("read-timeout", "slow"))
    (response,) = fetched(fetch, leased(1))
    assert (response.error, len(scripted.asked), pool.working()) == ("read-timeout", 1, 3)


def test_a_proxy_that_says_that_a_site_is_dead_is_not_at_fault() -> None:
    for kind in ("connect-failed", "connect-refused", "connect-timeout"):
        fetch, scripted, pool = through(failing(kind, "192.0.2.0"))
        responses = fetched(fetch, *(leased(number, f"https://a.example/{number}") for number in range(1, 10)))
        assert ({response.error for response in responses}, len(scripted.asked), pool.working()) == ({kind}, 9, 3)
        fetched(fetch, *(leased(number, f"https://{number}.example/") for number in range(1, 10)))
        assert pool.working() < 3, "one that reaches no site is"


def test_a_407_that_may_be_the_sites_is_repeated_by_nobody_but_the_frontier() -> None:
    for method in ("GET", "POST"):
        fetch, scripted, pool = through(lambda request: request.respond(407), proxies=1)
        for number, domain in enumerate(("a", "a", "a", "b"), 1):
            (response,) = fetched(fetch, leased(number, f"http://{domain}.example/").replace(method=method))
            assert (response.error, response.request.proxy) == ("proxy-failed", "http://192.0.2.0:80")
        assert (len(scripted.asked), pool.working()) == (4, 1)
        fetched(fetch, leased(9, "http://c.example/").replace(method=method))
        assert pool.working() == 0, "several sites do not want passwords"


def test_a_407_through_a_tunnel_is_the_sites() -> None:
    fetch, _, pool = through(lambda request: request.respond(407))
    responses = fetched(fetch, *(leased(number, f"https://{number}.example/") for number in range(1, 10)))
    assert ({response.status for response in responses}, pool.working()) == ({407}, 3)


def test_the_proxies_of_requests_that_are_not_repeated_are_heard_of() -> None:
    fetch, _, pool = through(lambda request: request.fail("unanswered", "silent"), proxies=1)
    fetched(fetch, *(leased(number, f"http://{number}.example/") for number in range(1, 4)))
    assert pool.working() == 0


def test_trouble_of_this_machine_is_no_failure_of_a_proxy() -> None:
    for kind in ("local-failure", "connect-failed"):
        fetch, scripted, pool = through(failing(kind))
        responses = fetched(fetch, *(leased(number, f"http://{number}.example/") for number in range(1, 20)))
        assert ({response.error for response in responses}, len(scripted.asked), pool.working()) == ({kind}, 19, 3)


def test_a_proxy_that_a_site_refuses_is_not_used_for_it() -> None:
    def answer(request: Request) -> Response:
        return request.respond(429 if request.proxy == "http://192.0.2.0:80" else 200)

    fetch, scripted, _ = through(answer, proxies=2)
    fetched(fetch, *(leased(number, f"http://a.example/{number}") for number in range(1, 3)))
    fetched(fetch, *(leased(number, f"http://a.example/{number}") for number in range(3, 6)))
    assert scripted.asked[2:] == ["http://192.0.2.1:80"] * 3
    fetched(fetch, leased(6, "http://b.example/"))
    assert scripted.asked[-1] == "http://192.0.2.0:80", "another site may not mind"


def test_pages_that_are_refused_to_everyone_do_not_stop_a_site() -> None:
    fetch, scripted, _ = through(lambda request: request.respond(403), proxies=1)
    for number in range(1, 10):
        (response,) = fetched(fetch, leased(number, f"http://a.example/{number}"))
        assert response.status == 403
    assert len(scripted.asked) == 9


def test_without_a_proxy_that_works_nothing_is_taken() -> None:
    fetch, _, _ = through(lambda request: request.fail("proxy-failed", "refused"), proxies=1)
    assert fetch.free() == 10
    fetched(fetch, leased(1))
    assert fetch.free() == 0


def test_a_request_waits_while_all_proxies_are_busy() -> None:
    fetch, scripted, _ = through(lambda request: request.respond(200), proxies=1, concurrency=1)
    fetch.submit(Requests([leased(1), leased(2, "http://a.example/2")]))
    assert (len(scripted.asked), fetch.in_flight(), fetch.free()) == (1, 2, 9)
    assert len(fetch.completed(9, 0.0)) == 1
    assert len(fetch.completed(9, 0.0)) == 1
    assert fetch.in_flight() == 0


def test_requests_that_wait_ask_again_only_when_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, walk = [0], Ring.next

    def counted(ring: Ring, domain: str, suits: Callable[[str], bool]) -> str | None:
        asked[0] += 1
        return walk(ring, domain, suits)

    monkeypatch.setattr(Ring, "next", counted)
    fetch, scripted, _ = through(lambda request: request.respond(200), proxies=2, concurrency=1)
    fetch.submit(Requests([leased(number, f"http://a.example/{number}") for number in range(1, 300)]))
    scripted._ready, held = [], scripted._ready
    for _ in range(100):
        assert not fetch.completed(9, 0.0)
    assert (asked[0], fetch.in_flight()) == (2, 297)
    scripted._ready = held
    assert len(fetch.completed(9, 0.0)) == 2
    assert len(fetch.completed(9, 0.0)) == 2
    assert asked[0] == 4


def test_a_refused_tunnel_goes_through_another_proxy_and_none_leaves() -> None:
    def answer(request: Request) -> Response:
        is_good = request.proxy == "http://192.0.2.1:80"
        why = f"{request.proxy}: it answered CONNECT with status 403"
        return request.respond(200) if is_good else request.fail("proxy-failed", why, address="192.0.2.0")

    fetch, scripted, pool = through(answer)
    responses = fetched(fetch, *(leased(number, f"https://a.example/{number}") for number in range(1, 20)))
    assert ({response.status for response in responses}, len(responses), pool.working()) == ({200}, 19, 3)
    asked = len(scripted.asked)
    fetched(fetch, leased(20, "https://a.example/20"))
    assert scripted.asked[asked:] == ["http://192.0.2.1:80"]


def test_a_port_to_which_no_proxy_leads_says_nothing_of_the_sites_other_pages() -> None:
    def answer(request: Request) -> Response:
        why = f"{request.proxy}: it answered CONNECT with status 403"
        return request.fail("proxy-failed", why) if ":8443/" in request.url else request.respond(200)

    fetch, scripted, pool = through(answer)
    fetched(fetch, *(leased(number, f"https://a.example:8443/{number}") for number in range(1, 10)))
    assert pool.working() == 3
    asked = len(scripted.asked)
    fetched(fetch, *(leased(number, f"https://a.example/{number}") for number in range(10, 16)))
    assert sorted(Counter(scripted.asked[asked:]).values()) == [2, 2, 2]


def test_a_link_to_which_no_proxy_leads_fails_and_waits_for_none() -> None:
    refused = "it answered CONNECT with status 403"
    fetch, scripted, pool = through(
        lambda request: request.fail("proxy-failed", f"{request.proxy}: {refused}"), proxies=2
    )
    for number in range(1, 10):
        (response,) = fetched(fetch, leased(number, f"https://a.example/{number}"))
        assert response.error == "proxy-failed"
    assert (len(scripted.asked), pool.working(), fetch.in_flight()) == (18, 2, 0)


def test_a_proxy_that_a_middleware_has_chosen_is_used() -> None:
    fetch, scripted, _ = through(lambda request: request.fail("proxy-failed", "refused"))
    (response,) = fetched(fetch, leased(1).replace(proxy="http://192.0.2.2:80"))
    assert (response.error, scripted.asked) == ("proxy-failed", ["http://192.0.2.2:80"])


def test_a_response_that_parse_had_no_memory_for_comes_again() -> None:
    fetch, scripted, pool = through(lambda request: request.respond(200))
    (response,) = fetched(fetch, leased(1))
    scripted._ready.append(response)
    assert [again.status for again in fetch.completed(9, 0.0)] == [200]
    assert (len(scripted.asked), pool.working()) == (1, 3)


def test_requests_that_wait_for_a_proxy_end_with_the_others_when_all_are_cancelled() -> None:
    fetch, scripted, _ = through(lambda request: request.respond(200), proxies=1, concurrency=1)
    fetch.submit(Requests([leased(1, "http://a.example/1"), leased(2, "http://a.example/2")]))
    assert len(scripted.asked) == 1
    fetch.cancel()
    found = [(response.request.lease, response.error) for response in fetch.completed(100, 0.0)]
    assert found == [(2, "cancelled")], "the first is its fetch's to end"
    assert fetch.in_flight() == 0


def test_a_request_that_its_proxy_has_failed_is_not_sent_again_once_all_are_cancelled() -> None:
    fetch, scripted, _ = through(failing("proxy-failed", "192.0.2.0"))
    fetch.submit(Requests([leased(1)]))
    scripted.keeps = True
    fetch.cancel()
    assert [response.error for response in fetch.completed(100, 0.0)] == ["proxy-failed"]
    assert len(scripted.asked) == 1
    scripted.keeps = False
    fetched(fetch, leased(2))
    assert len(scripted.asked) > 2, "what is submitted later is tried by other proxies"


def test_what_waits_when_it_is_cancelled_ends_whatever_is_submitted_then() -> None:
    fetch, _, _ = through(lambda request: request.respond(200), proxies=0)
    fetch.submit(Requests([leased(1)]))
    fetch.cancel()
    fetch.submit(Requests([leased(2)]))
    assert fetch.in_flight() == 2
    ended = fetch.completed(100, 0.0)
    assert [(response.request.url, response.error_detail) for response in ended] == [
        ("http://a.example/", "the crawl ends it")
    ]
    assert (ended[0].request.lease, fetch.in_flight()) == (1, 1), "the second one waits for a proxy"
