"""Middleware: hooks in Python that see each batch of requests before it is sent, of responses, and of outcomes.

``middleware_stages.py`` calls them. Built in are `DefaultHeaders`, `HttpCache` (``http_cache``), `RateLimit` and
`BandwidthLimit` (``limits.py``).
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from typing import Any

from lycosa.errors import SettingError, StageError
from lycosa.records import Outcome, Outcomes, Request, Requests, Response, Responses

#: Longest delay, in seconds: a request that waited for longer than its lease would come back again and again.
LONGEST_DELAY = 60.0

#: Characters of a traceback in an outcome, at most: its end says what happened.
TRACEBACK = 2_000


class Way:
    """What a middleware may do with requests other than letting them go on."""

    def __init__(self) -> None:
        """Nothing is answered or delayed yet."""
        self.answered: list[Response] = []
        self.delayed: list[tuple[float, Requests]] = []
        self.returned: list[tuple[float, Requests]] = []

    def answer(self, response: Response) -> None:
        """Use a response instead of the site's: of ``request.respond(…, source="cache")`` or ``request.fail()``."""
        self.answered.append(response)

    def drop(self, request: Request, why: str = "") -> None:
        """Settle a request: its outcome is the failure ``dropped``."""
        self.answered.append(request.fail("dropped", why))

    def delay(self, requests: Request | Requests, seconds: float) -> None:
        """Let requests go on later, to the next middleware: after a minute at most (SettingError).

        One whose lease does not last for that and an exchange goes back to the frontier instead: see ``give_back``.
        """
        self.delayed.append(_later("delay", requests, seconds))

    def give_back(self, requests: Request | Requests, seconds: float = 0.0) -> None:
        """Give requests back to the frontier after a while, a minute at most (SettingError).

        They wait in their host's queue again, and come again at its next turn. No try is counted.
        """
        self.returned.append(_later("give_back", requests, seconds))


def _later(name: str, requests: Request | Requests, seconds: float) -> tuple[float, Requests]:
    """When something is to happen with requests; raises SettingError if that is too late."""
    if not 0 <= seconds <= LONGEST_DELAY:
        raise SettingError(name, seconds, f"0 to {LONGEST_DELAY:g} seconds")
    return time.monotonic() + seconds, Requests([requests]) if isinstance(requests, Request) else requests


class Middleware:
    """Sees batches of pages; robots.txt passes by. Override one method or several, as ``def`` or ``async def``.

    ``def``: called by one thread at a time. ``async def``: runs on another thread, and may be called again before it
    has ended. An exception fails the requests, or replaces responses and outcomes, of its batch:
    ``middleware-failed``, with the traceback; failures, and statuses that slow the crawl down (429, 5xx, with
    Retry-After), stay as they are.
    """

    def requests(self, requests: Requests, way: Way) -> Any:
        """Return the requests that go on, changed or not (``select``, ``map``, ``replace``).

        Each of the others is answered, dropped, delayed or given back by ``way``.
        """
        return requests

    def responses(self, responses: Responses) -> Any:
        """Return the responses before they are parsed, changed or not: one for each. Bodies are as received.

        Answers of middleware (``source`` is "cache") and failures come here as well.
        """
        return responses

    def outcomes(self, outcomes: Outcomes) -> Any:
        """Return the outcomes, changed or not: one for each."""
        return outcomes

    def settled(self, outcomes: Outcomes) -> None:
        """See outcomes that the crawl has accepted and recorded; ``outcome.retry``: its URL is tried again.

        One whose request has the lease 0 was settled without a request, or, with ``retry``, taken back: what was
        recorded of the URL before was a captive portal's. A ``def``, called in the thread that iterates; an exception
        is told.
        """

    def free(self) -> int | None:
        """Return how many more requests it takes now, or `None` for any number. A ``def``, called often.

        The crawl takes no more from the frontier: what would have to wait here waits in the queues of its hosts.
        """
        return None


class ItemMiddleware(Middleware):
    """Sees requests and outcomes one by one: easier to write, slower to run. Its methods cannot be ``async``."""

    def request(self, request: Request) -> Request | Response | float | None:
        """Return the request, changed or not; a response to it; seconds to delay it for; or `None` to drop it."""
        return request

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the outcome, changed or not."""
        return outcome

    def requests(self, requests: Requests, way: Way) -> Requests:
        """Call ``request`` for each."""
        if type(self).request is ItemMiddleware.request:
            return requests
        going: list[Request] = []
        for request in requests:
            try:
                given = self.request(request)
                if isinstance(given, int | float) and not isinstance(given, bool):
                    way.delay(request, given)
                    continue
            except Exception as error:
                way.answer(request.fail("middleware-failed", describe(self, error)))
                continue
            if isinstance(given, Request):
                going.append(given)
            elif isinstance(given, Response):
                way.answer(given)
            elif given is None:
                way.drop(request, f"by {type(self).__name__}")
            else:
                expected = "a Request, a Response, seconds or None"
                raise StageError(type(self).__name__, "request", f"returned {type(given).__name__}", expected)
        return Requests(going)


class DefaultHeaders(Middleware):
    """Adds header fields to each request that does not have them: a language, or a site's password.

    >>> DefaultHeaders([("Authorization", "Bearer t0ken")], hosts=["api.example.com"])  # doctest: +SKIP
    """

    def __init__(
        self, headers: Iterable[tuple[str, str]], hosts: Iterable[str] | None = None, *, http: bool = False
    ) -> None:
        """headers: names and values. hosts: only requests to these hosts, and to hosts below them; `None`: to all.

        http: with hosts, also requests that are not encrypted.
        """
        self._headers, self._http = list(headers), http or hosts is None
        self._hosts = None if hosts is None else tuple(host.lower().strip(".") for host in hosts)

    def requests(self, requests: Requests, way: Way) -> Requests:
        """Add the fields."""
        return requests.map(self._with_headers)

    def _with_headers(self, request: Request) -> Request:
        """The request with the fields that it lacks."""
        host = request.host
        if not self._http and not request.url.startswith("https:"):
            return request
        if self._hosts is not None and not any(host == one or host.endswith(f".{one}") for one in self._hosts):
            return request
        known = {name.lower() for name, _ in request.headers}
        missing = [(name, value) for name, value in self._headers if name.lower() not in known]
        return request.replace(headers=[*request.headers, *missing]) if missing else request


def describe(middleware: Middleware, error: BaseException) -> str:
    """Describe an exception of a hook: the middleware's class, and the end of the traceback."""
    text = "".join(traceback.format_exception(error))
    return f"{type(middleware).__name__}: {text[-TRACEBACK:]}"
