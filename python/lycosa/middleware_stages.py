"""The stages of a crawl with middleware: around fetch and parse, which do not know it.

Requests pass the middleware in order, responses and outcomes in reverse order. Without middleware this is not
imported.
"""

from __future__ import annotations

import heapq
import inspect
import itertools
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from lycosa.checked import CheckedFetch
from lycosa.errors import StageError
from lycosa.middleware import ItemMiddleware, Middleware, Way
from lycosa.middleware_hooks import Hooks, ended, error_of
from lycosa.records import Outcome, Outcomes, Requests, Response, Responses
from lycosa.stages import Fetch, Parse, Stages

#: Longest wait for responses while an asynchronous hook is under way, in seconds.
PENDING = 0.005

#: Statuses that say something of the site, not of the page: the frontier has to see them, whatever a hook does.
TROUBLE = frozenset({408, 421, 429, *range(500, 600)})

#: Seconds that are left for a delayed request to be sent, besides the longest exchange.
MARGIN = 1.0


def with_middleware(
    lanes: Sequence[Stages], middleware: Sequence[Middleware], parsers: Sequence[Parse], longest: float
) -> list[Stages]:
    """Return the stages of a crawl's lanes with middleware around fetch and parse.

    parsers: an embedded parser for each lane, which nothing else uses. longest: of an exchange, in seconds.
    """
    for each in middleware:
        if not isinstance(each, Middleware):
            raise StageError("lycosa.crawl", "middleware", f"got {type(each).__name__}", "subclasses of Middleware")
        for method in ("request", "outcome", "free"):
            if inspect.iscoroutinefunction(getattr(each, method, None)):
                expected = "def; of Middleware requests(), responses() and outcomes() may be async"
                raise StageError(type(each).__name__, method, "is async", expected)
    hooks = Hooks(middleware)
    made = []
    for stages, parser in zip(lanes, parsers, strict=True):
        lane = _Lane()
        fetch = MiddlewareFetch(stages.fetch, hooks, lane, longest)
        made.append(replace(stages, fetch=fetch, parse=MiddlewareParse(stages.parse, parser, hooks, lane)))
    return made


@dataclass(slots=True)
class _Lane:
    """What fetch and parse of a lane, which run on one thread, know of each other."""

    #: Outcomes that asynchronous hooks have.
    late: int = 0
    #: Leases of responses that have passed the hooks: parse gives responses back that it has no memory for.
    passed: set[int] = field(default_factory=set)


class MiddlewareFetch:
    """A fetch whose requests of pages pass middleware before, and whose responses of pages do so afterwards."""

    def __init__(self, fetch: Fetch, hooks: Hooks, lane: _Lane, longest: float) -> None:
        """fetch: the fetch that sends what the middleware lets go on. longest: of its exchanges, in seconds."""
        self._fetch, self._hooks, self._lane, self._reserve = fetch, hooks, lane, longest + MARGIN
        self._numbers = itertools.count()
        #: Delayed requests, by time: when they go on, the middleware that is next; `None`: they go back.
        self._delayed: list[tuple[float, int, int | None, Requests]] = []
        self._pending: list[tuple[Future[Any], int, Requests, Way]] = []
        self._answered: list[Response] = []
        #: Responses that asynchronous hooks have.
        self._late: list[tuple[Future[Any], int, Responses]] = []
        hooks.enter(self)

    def free(self) -> int:
        """Return the number of free slots, of which the middleware may want fewer."""
        return self._hooks.free(max(self._fetch.free() - self._held(), 0))

    def in_flight(self) -> int:
        """Return the number of requests that have no outcome yet."""
        return self._fetch.in_flight() + self._held()

    def _held(self) -> int:
        """The number of requests and outcomes that middleware has."""
        delayed = sum(len(requests) for *_, requests in self._delayed)
        pending = sum(len(requests) for _, _, requests, _ in self._pending)
        late = sum(len(responses) for _, _, responses in self._late)
        return delayed + pending + late + len(self._answered) + self._lane.late

    def submit(self, requests: Requests) -> None:
        """Let requests pass the middleware."""
        is_page = [request.purpose != "robots" for request in requests]
        if not all(is_page):
            self._fetch.submit(requests.select([not page for page in is_page]))
            requests = requests.select(is_page)
        self._pass(requests, 0)

    def _pass(self, requests: Requests, place: int) -> None:
        """Let requests pass the middleware from a place on."""
        while len(requests) and place < len(self._hooks.all):
            way = Way()
            try:
                given = self._hooks.call(place, "requests", requests, way)
            except StageError:
                raise
            except Exception as error:
                self._fail(requests, place, error)
                return
            if isinstance(given, Future):
                self._pending.append((given, place, requests, way))
                return
            requests = self._settle(requests, given, way, place)
            place += 1
        if len(requests):
            self._fetch.submit(requests)

    def _settle(self, before: Requests, going: Any, way: Way, place: int) -> Requests:
        """Check what a hook made of requests, and store what does not go on; returns the others."""
        name = type(self._hooks.all[place][0]).__name__
        if not isinstance(going, Requests):
            raise StageError(name, "requests", f"returned {type(going).__name__}", "Requests")
        after = [request.lease for request in going] + [answer.request.lease for answer in way.answered]
        after += [request.lease for _, requests in way.delayed + way.returned for request in requests]
        if sorted(after) != sorted(request.lease for request in before):
            wrong = f"got {len(before)} requests, and returned, answered, dropped or delayed {len(after)}, or others"
            raise StageError(name, "requests", wrong, "each request once")
        self._answered += way.answered
        for due, requests in way.delayed:
            self._delay(due, place + 1, requests)
        for due, requests in way.returned:
            self._delay(due, None, requests)
        return going

    def _delay(self, due: float, place: int | None, requests: Requests) -> None:
        """Keep requests until then; what would be sent too late for its lease goes back before that."""
        left = min(request.deadline for request in requests) - time.time() - self._reserve if len(requests) else 0.0
        latest = time.monotonic() + max(left, 0.0)
        if due > latest:
            due, place = latest, None
        heapq.heappush(self._delayed, (due, next(self._numbers), place, requests))

    def _fail(self, requests: Requests, place: int, error: BaseException) -> None:
        """Settle requests whose hook has raised."""
        detail = self._hooks.failed(place, "requests", error)
        self._answered += [request.fail("middleware-failed", detail) for request in requests]

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses, and answers of middleware."""
        self._go_on()
        arrived = self._arrived(max, within)
        return self._look_at(arrived) if self._hooks.of_responses else arrived

    def _arrived(self, max: int, within: float) -> Responses:
        """Return what fetch has completed, and answers of middleware."""
        answered, self._answered = self._answered[:max], self._answered[max:]
        if not answered:
            if self._delayed:
                wait = self._delayed[0][0] - time.monotonic()
                within = min(within, wait) if wait > 0 else 0.0
            late = self._pending or self._late or self._lane.late
            return self._fetch.completed(max, min(within, PENDING) if late else within)
        self._give(answered)
        if len(answered) < max:
            answered += self._fetch.completed(max - len(answered), 0.0)
        return Responses(answered)

    def _give(self, responses: Iterable[Response]) -> None:
        """Let the check of a custom parse expect outcomes for responses that are not fetch's, or come late."""
        if isinstance(self._fetch, CheckedFetch):
            self._fetch.given.update((response.request.lease, response.request.url) for response in responses)

    def _look_at(self, arrived: Responses) -> Responses:
        """Let responses of pages pass the middleware, each once; returns those that have."""
        leases = [(response.request.purpose != "robots", response.request.lease) for response in arrived]
        is_new = [is_page and lease not in self._lane.passed for is_page, lease in leases]
        self._lane.passed.update(lease for new, (_, lease) in zip(is_new, leases, strict=True) if new)
        last = len(self._hooks.of_responses) - 1
        if all(is_new):
            passed = [self._pass_back(arrived, last)]
        else:
            passed = [arrived.select([not new for new in is_new]), self._pass_back(arrived.select(is_new), last)]
        self._late, done = ended(self._late)
        for future, turn, before in done:
            error = error_of(future)
            if isinstance(error, StageError):
                raise error
            place = self._hooks.of_responses[turn]
            self._give(before)
            given = future.result() if error is None else self._replaced(before, place, error)
            passed.append(self._pass_back(self._checked(before, given, place), turn - 1))
        filled = [batch for batch in passed if len(batch)]
        return filled[0] if len(filled) == 1 else Responses(itertools.chain.from_iterable(filled))

    def _pass_back(self, responses: Responses, turn: int) -> Responses:
        """Let responses pass the middleware from a turn on; returns none where one is asynchronous."""
        for at in range(turn, -1, -1):
            if not len(responses):
                break
            place = self._hooks.of_responses[at]
            try:
                given = self._hooks.call(place, "responses", responses)
            except StageError:
                raise
            except Exception as error:
                given = self._replaced(responses, place, error)
            if isinstance(given, Future):
                self._late.append((given, at, responses))
                if isinstance(self._fetch, CheckedFetch):
                    for response in responses:
                        self._fetch.given.pop(response.request.lease, None)
                return Responses()
            responses = self._checked(responses, given, place)
        return responses

    def _checked(self, before: Responses, given: Any, place: int) -> Responses:
        """Return what a hook made of responses, if it is one for each."""
        name = type(self._hooks.all[place][0]).__name__
        if not isinstance(given, Responses):
            raise StageError(name, "responses", f"returned {type(given).__name__}", "Responses")
        if given is before:
            return given
        leases = [sorted(response.request.lease for response in batch) for batch in (before, given)]
        if leases[0] != leases[1]:
            wrong = f"got {len(before)} responses, and returned {len(given)}, or others"
            raise StageError(name, "responses", wrong, "one for each")
        return given

    def _replaced(self, responses: Responses, place: int, error: BaseException) -> Responses:
        """Replace responses whose hook has raised; what says something of the site stays as it is."""
        detail = self._hooks.failed(place, "responses", error)
        return responses.map(
            lambda response: response if _is_of_site(response) else response.request.fail("middleware-failed", detail)
        )

    def _go_on(self) -> None:
        """Let delayed requests go on, and those whose asynchronous hook has ended."""
        now = time.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            _, _, place, requests = heapq.heappop(self._delayed)
            if place is None:
                self._answered += [request.fail("cancelled", "held back by middleware") for request in requests]
            else:
                self._pass(requests, place)
        self._pending, done = ended(self._pending)
        for future, place, requests, way in done:
            error = error_of(future)
            if error is None:
                self._pass(self._settle(requests, future.result(), way, place), place + 1)
            elif isinstance(error, StageError):
                raise error
            else:
                self._fail(requests, place, error)

    def cancel(self) -> None:
        """Cancel all requests in flight."""
        for future in [*(each[0] for each in self._pending), *(each[0] for each in self._late)]:
            future.cancel()
        self._pending.clear()
        self._late.clear()
        self._delayed.clear()
        self._answered.clear()
        self._fetch.cancel()
        self._hooks.leave(self)


class MiddlewareParse:
    """A parse whose outcomes of pages pass middleware afterwards, in reverse order."""

    def __init__(self, parse: Parse, failures: Parse, hooks: Hooks, lane: _Lane) -> None:
        """parse: makes the outcomes. failures: an embedded parser that nothing else uses: those of failures."""
        self._parse, self._failures, self._hooks, self._lane = parse, failures, hooks, lane
        self._pending: list[tuple[Future[Any], int, Outcomes]] = []

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch, and return what has passed the middleware."""
        parsed = self._parse.parse(responses)
        if self._hooks.of_responses:
            self._lane.passed.difference_update(outcome.request.lease for outcome in parsed)
        is_page = [outcome.request.purpose != "robots" for outcome in parsed]
        passed = []
        if not all(is_page):
            passed.append(parsed.select([not page for page in is_page]))
            parsed = parsed.select(is_page)
        passed.append(self._pass(parsed, len(self._hooks.all) - 1))
        self._pending, done = ended(self._pending)
        for future, place, before in done:
            self._lane.late -= len(before)
            error = error_of(future)
            if isinstance(error, StageError):
                raise error
            if error is None:
                given = self._checked(before, future.result(), place)
            else:
                given = self._failed(before, place, error)
            passed.append(self._pass(given, place - 1))
        filled = [batch for batch in passed if len(batch)]
        return filled[0] if len(filled) == 1 else Outcomes(itertools.chain.from_iterable(filled))

    def _pass(self, outcomes: Outcomes, place: int) -> Outcomes:
        """Let outcomes pass the middleware from a place on; returns none where one is asynchronous."""
        for at in range(place, -1, -1):
            if len(outcomes):
                is_item = isinstance(self._hooks.all[at][0], ItemMiddleware)
                outcomes = self._each(outcomes, at) if is_item else self._one(outcomes, at)
        return outcomes

    def _one(self, outcomes: Outcomes, place: int) -> Outcomes:
        """Let outcomes pass one middleware; returns none if it is asynchronous."""
        try:
            given = self._hooks.call(place, "outcomes", outcomes)
        except StageError:
            raise
        except Exception as error:
            return self._failed(outcomes, place, error)
        if isinstance(given, Future):
            self._pending.append((given, place, outcomes))
            self._lane.late += len(outcomes)
            return Outcomes()
        return self._checked(outcomes, given, place)

    def _each(self, outcomes: Outcomes, place: int) -> Outcomes:
        """Let outcomes pass one middleware one by one."""
        if type(self._hooks.all[place][0]).outcome is ItemMiddleware.outcome:  # type: ignore[attr-defined]
            return outcomes
        passed: list[Outcome] = []
        for outcome in outcomes:
            one = Outcomes([outcome])
            try:
                given = Outcomes([self._hooks.call(place, "outcome", outcome)])
            except Exception as error:
                passed += self._failed(one, place, error)
            else:
                passed += self._checked(one, given, place)
        return Outcomes(passed)

    def _checked(self, before: Outcomes, given: Any, place: int) -> Outcomes:
        """Return what a hook made of outcomes, if it is one for each."""
        name = type(self._hooks.all[place][0]).__name__
        if not isinstance(given, Outcomes):
            raise StageError(name, "outcomes", f"returned {type(given).__name__}", "Outcomes")
        leases = [sorted(outcome.request.lease for outcome in batch) for batch in (before, given)]
        if leases[0] != leases[1]:
            wrong = f"got {len(before)} outcomes, and returned {len(given)}, or others"
            raise StageError(name, "outcomes", wrong, "one for each")
        return given

    def _failed(self, outcomes: Outcomes, place: int, error: BaseException) -> Outcomes:
        """Replace outcomes whose hook has raised; what says something of the site stays as it is."""
        detail = self._hooks.failed(place, "outcomes", error)
        lost = [not _is_of_site(outcome) for outcome in outcomes]
        failed = [outcome.request.fail("middleware-failed", detail) for outcome in outcomes.select(lost)]
        others = outcomes.select([not each for each in lost])
        return Outcomes(itertools.chain(others, self._failures.parse(Responses(failed))))


def _is_of_site(received: Response | Outcome) -> bool:
    """Return whether a response or an outcome says something of its site that the frontier has to see."""
    if received.status is None or received.status in TROUBLE:
        return True
    return any(name in ("retry-after", "ratelimit") for name, _ in received.headers)
