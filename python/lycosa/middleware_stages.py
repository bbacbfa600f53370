"""The stages of a crawl with middleware: around fetch and parse, which do not know it.

Requests pass the middleware in order, outcomes in reverse order. Without middleware this is not imported.
"""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
import logging
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, cast

from lycosa.checked import CheckedFetch
from lycosa.errors import StageError
from lycosa.middleware import ItemMiddleware, Middleware, Way, describe
from lycosa.records import Outcome, Outcomes, Requests, Response, Responses
from lycosa.stages import Fetch, Parse, Stages

logger = logging.getLogger("lycosa")

#: Seconds that a hook may take for a batch before it is told: all of the crawl waits for it.
SLOW = 1.0

#: Longest wait for responses while an asynchronous hook is under way, in seconds.
PENDING = 0.005

#: Statuses that say something of the site, not of the page: the frontier has to see them, whatever a hook does.
TROUBLE = frozenset({408, 421, 429, *range(500, 600)})


def with_middleware(
    lanes: Sequence[Stages], middleware: Sequence[Middleware], parsers: Sequence[Parse]
) -> list[Stages]:
    """Return the stages of a crawl's lanes with middleware around fetch and parse.

    parsers: an embedded parser for each lane, which nothing else uses.
    """
    for each in middleware:
        if not isinstance(each, Middleware):
            raise StageError("lycosa.crawl", "middleware", f"got {type(each).__name__}", "subclasses of Middleware")
        for method in ("request", "outcome"):
            if inspect.iscoroutinefunction(getattr(each, method, None)):
                expected = "def; of Middleware requests() and outcomes() may be async"
                raise StageError(type(each).__name__, method, "is async", expected)
    hooks = _Hooks(middleware)
    made = []
    for stages, parser in zip(lanes, parsers, strict=True):
        lane = _Lane()
        fetch = MiddlewareFetch(stages.fetch, hooks, lane)
        made.append(replace(stages, fetch=fetch, parse=MiddlewareParse(stages.parse, parser, hooks, lane)))
    return made


class _Hooks:
    """All middleware of a crawl, for all lanes: calls hooks one at a time, and tells what goes wrong with them."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        """middleware: in the order in which requests pass it."""
        self.all = [(each, threading.Lock()) for each in middleware]
        self._told: set[str] = set()
        self._lock = threading.Lock()  # of what follows
        self._loop: asyncio.AbstractEventLoop | None = None
        self._users: set[int] = set()

    def enter(self, user: object) -> None:
        """Count a fetch that uses the hooks, until it leaves."""
        with self._lock:
            self._users.add(id(user))

    def leave(self, user: object) -> None:
        """End the event loop with the last one."""
        with self._lock:
            self._users.discard(id(user))
            if self._loop is not None and not self._users:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def call(self, place: int, method: str, *arguments: Any) -> Any:
        """Call a hook; returns its value, or a future if it is asynchronous."""
        middleware, lock = self.all[place]
        hook = getattr(middleware, method)
        if inspect.iscoroutinefunction(hook):
            return asyncio.run_coroutine_threadsafe(cast(Coroutine[Any, Any, Any], hook(*arguments)), self._running())
        with lock:
            began = time.monotonic()
            given = hook(*arguments)
            took = time.monotonic() - began
        if took > SLOW:
            name = type(middleware).__name__
            count = len(arguments[0]) if isinstance(arguments[0], Requests | Outcomes) else 1
            advice = "the crawl waits for it; make it `async def`, or faster"
            self.tell(f"{name} slow", f"middleware {name} took {took:.1f} s for {count} {method}: {advice}")
        return given

    def failed(self, place: int, method: str, error: BaseException) -> str:
        """Describe an exception of a hook; tell the first one of each."""
        middleware = self.all[place][0]
        text = describe(middleware, error)
        name = type(middleware).__name__
        self.tell(f"{name} {method}", f"middleware {name}.{method} raised an exception: {text}")
        return text

    def tell(self, what: str, text: str) -> None:
        """Log something once."""
        if what not in self._told:
            self._told.add(what)
            logger.warning("%s", text)

    def _running(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of asynchronous hooks, on a thread of its own."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._loop,), name="lycosa-middleware", daemon=True).start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped, and end what is under way in it."""
    try:
        loop.run_forever()
        loop.run_until_complete(_end(asyncio.all_tasks(loop)))
    finally:
        loop.close()


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have cleaned up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Lane:
    """What fetch and parse of a lane, which run on one thread, know of each other."""

    #: Outcomes that asynchronous hooks have.
    late: int = 0


class MiddlewareFetch:
    """A fetch whose requests of pages pass middleware before."""

    def __init__(self, fetch: Fetch, hooks: _Hooks, lane: _Lane) -> None:
        """fetch: the fetch that sends what the middleware lets go on."""
        self._fetch, self._hooks, self._lane = fetch, hooks, lane
        self._numbers = itertools.count()
        #: Delayed requests, by time: when they go on, the middleware that is next.
        self._delayed: list[tuple[float, int, int, Requests]] = []
        self._pending: list[tuple[Future[Any], int, Requests, Way]] = []
        self._answered: list[Response] = []
        hooks.enter(self)

    def free(self) -> int:
        """Return the number of free slots."""
        return max(self._fetch.free() - self._held(), 0)

    def in_flight(self) -> int:
        """Return the number of requests that have no outcome yet."""
        return self._fetch.in_flight() + self._held()

    def _held(self) -> int:
        """The number of requests and outcomes that middleware has."""
        delayed = sum(len(requests) for *_, requests in self._delayed)
        pending = sum(len(requests) for _, _, requests, _ in self._pending)
        return delayed + pending + len(self._answered) + self._lane.late

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
        after += [request.lease for _, requests in way.delayed for request in requests]
        if sorted(after) != sorted(request.lease for request in before):
            wrong = f"got {len(before)} requests, and returned, answered, dropped or delayed {len(after)}, or others"
            raise StageError(name, "requests", wrong, "each request once")
        self._answered += way.answered
        for due, requests in way.delayed:
            heapq.heappush(self._delayed, (due, next(self._numbers), place + 1, requests))
        return going

    def _fail(self, requests: Requests, place: int, error: BaseException) -> None:
        """Settle requests whose hook has raised."""
        detail = self._hooks.failed(place, "requests", error)
        self._answered += [request.fail("middleware-failed", detail) for request in requests]

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses, and answers of middleware."""
        self._go_on()
        answered, self._answered = self._answered[:max], self._answered[max:]
        if not answered:
            if self._delayed:
                wait = self._delayed[0][0] - time.monotonic()
                within = min(within, wait) if wait > 0 else 0.0
            late = self._pending or self._lane.late
            return self._fetch.completed(max, min(within, PENDING) if late else within)
        if isinstance(self._fetch, CheckedFetch):
            # The check of a custom parse expects outcomes for them as well.
            self._fetch.given.update((response.request.lease, response.request.url) for response in answered)
        if len(answered) < max:
            answered += self._fetch.completed(max - len(answered), 0.0)
        return Responses(answered)

    def _go_on(self) -> None:
        """Let delayed requests go on, and those whose asynchronous hook has ended."""
        now = time.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            _, _, place, requests = heapq.heappop(self._delayed)
            self._pass(requests, place)
        self._pending, ended = _ended(self._pending)
        for future, place, requests, way in ended:
            error = _error_of(future)
            if error is None:
                self._pass(self._settle(requests, future.result(), way, place), place + 1)
            elif isinstance(error, StageError):
                raise error
            else:
                self._fail(requests, place, error)

    def cancel(self) -> None:
        """Cancel all requests in flight."""
        for future, *_ in self._pending:
            future.cancel()
        self._pending.clear()
        self._delayed.clear()
        self._answered.clear()
        self._fetch.cancel()
        self._hooks.leave(self)


class MiddlewareParse:
    """A parse whose outcomes of pages pass middleware afterwards, in reverse order."""

    def __init__(self, parse: Parse, failures: Parse, hooks: _Hooks, lane: _Lane) -> None:
        """parse: makes the outcomes. failures: an embedded parser that nothing else uses: those of failures."""
        self._parse, self._failures, self._hooks, self._lane = parse, failures, hooks, lane
        self._pending: list[tuple[Future[Any], int, Outcomes]] = []

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch, and return what has passed the middleware."""
        parsed = self._parse.parse(responses)
        is_page = [outcome.request.purpose != "robots" for outcome in parsed]
        passed = []
        if not all(is_page):
            passed.append(parsed.select([not page for page in is_page]))
            parsed = parsed.select(is_page)
        passed.append(self._pass(parsed, len(self._hooks.all) - 1))
        self._pending, ended = _ended(self._pending)
        for future, place, before in ended:
            self._lane.late -= len(before)
            error = _error_of(future)
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


def _is_of_site(outcome: Outcome) -> bool:
    """Return whether an outcome says something of its site that the frontier has to see."""
    if outcome.status is None or outcome.status in TROUBLE:
        return True
    return any(name in ("retry-after", "ratelimit") for name, _ in outcome.headers)


def _ended(pending: list[Any]) -> tuple[list[Any], list[Any]]:
    """Divide what is under way, with its future first, into what still is and what has ended.

    Each future is asked once: it may end between two questions.
    """
    going: list[Any] = []
    ended: list[Any] = []
    for each in pending:
        (ended if each[0].done() else going).append(each)
    return going, ended


def _error_of(future: Future[Any]) -> BaseException | None:
    """Return the exception of a future that has ended."""
    return asyncio.CancelledError("cancelled") if future.cancelled() else future.exception()
