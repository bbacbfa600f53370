"""Calls the hooks of middleware, one at a time, and tells what goes wrong with them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, cast

from lycosa.errors import StageError
from lycosa.middleware import Middleware, describe
from lycosa.records import Outcomes, Requests, Responses

logger = logging.getLogger("lycosa")

#: Seconds that a hook may take for a batch before it is told: all of the crawl waits for it.
SLOW = 1.0


class Hooks:
    """All middleware of a crawl, for all lanes: calls hooks one at a time, and tells what goes wrong with them."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        """middleware: in the order in which requests pass it."""
        self.all = [(each, threading.Lock()) for each in middleware]
        #: The places of middleware that looks at responses, and of one that limits requests.
        self.of_responses = [place for place, each in enumerate(middleware) if _has(each, "responses")]
        self._limiting = [place for place, each in enumerate(middleware) if _has(each, "free")]
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
            given = cast(Coroutine[Any, Any, Any], hook(*arguments))
            return asyncio.run_coroutine_threadsafe(_surviving(given, middleware, method), self._running())
        with lock:
            began = time.monotonic()
            given = hook(*arguments)
            took = time.monotonic() - began
        if took > SLOW:
            name = type(middleware).__name__
            count = len(arguments[0]) if isinstance(arguments[0], Requests | Responses | Outcomes) else 1
            advice = "the crawl waits for it; make it `async def`, or faster"
            self.tell(f"{name} slow", f"middleware {name} took {took:.1f} s for {count} {method}: {advice}")
        return given

    def free(self, slots: int) -> int:
        """Return how many of so many requests the middleware takes now."""
        for place in self._limiting:
            middleware, lock = self.all[place]
            name = type(middleware).__name__
            try:
                with lock:
                    given = middleware.free()
            except Exception as error:
                raise StageError(name, "free", f"raised {type(error).__name__}: {error}") from error
            if given is None:
                continue
            if not isinstance(given, int) or given < 0:
                raise StageError(name, "free", f"returned {given!r:.100}", "an int from 0, or None")
            slots = min(slots, given)
        return slots

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


def _has(middleware: Middleware, method: str) -> bool:
    """Return whether a middleware has a method of its own."""
    return getattr(type(middleware), method) is not getattr(Middleware, method)


async def _surviving(hook: Coroutine[Any, Any, Any], middleware: Middleware, method: str) -> Any:
    """Await a hook; `sys.exit` in it ends the crawl, not the event loop, which the crawl would wait for."""
    try:
        return await hook
    except (SystemExit, KeyboardInterrupt) as error:
        raise StageError(type(middleware).__name__, method, f"raised {error!r:.200}") from error


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


def ended(pending: list[Any]) -> tuple[list[Any], list[Any]]:
    """Divide what is under way, with its future first, into what still is and what has ended.

    Each future is asked once: it may end between two questions.
    """
    going: list[Any] = []
    done: list[Any] = []
    for each in pending:
        (done if each[0].done() else going).append(each)
    return going, done


def error_of(future: Future[Any]) -> BaseException | None:
    """Return the exception of a future that has ended."""
    return asyncio.CancelledError("cancelled") if future.cancelled() else future.exception()
