"""A fetch without a network: a public test double."""

from __future__ import annotations

import time
from collections.abc import Callable

from lycosa.records import Request, Requests, Response, Responses

#: Status, headers and body; or the stable name of a failure.
Answer = tuple[int, list[tuple[str, str]], bytes] | str

#: Maximum wait without requests, in seconds: short, since nothing wakes it when the next one is due.
PAUSE = 0.001


class ScriptedFetch:
    """Answers each URL by a function, at once and in order."""

    def __init__(self, answer: Callable[[str], Answer], slots: int = 16) -> None:
        """``answer`` returns the answer for a URL; ``slots`` is the maximum number of requests in flight."""
        self._answer = answer
        self._slots = slots
        self._waiting: list[Requests] = []

    def free(self) -> int:
        """Return the number of free slots."""
        return self._slots - self.in_flight()

    def in_flight(self) -> int:
        """Return the number of requests submitted and not completed."""
        return sum(len(requests) for requests in self._waiting)

    def submit(self, requests: Requests) -> None:
        """Enqueue requests."""
        if len(requests) > 0:
            self._waiting.append(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Answer the oldest batch; ``max`` is not needed, since batches are never larger than ``slots``.

        Without one, wait a little, so that a crawl that waits does not use a whole core.
        """
        if not self._waiting:
            time.sleep(min(within, PAUSE))
        requests = self._waiting.pop(0) if self._waiting else Requests()
        return Responses(self._respond(request) for request in requests)

    def _respond(self, request: Request) -> Response:
        """Return the response to one request."""
        answer, address = self._answer(request.url), next(iter(request.addresses), None)
        if isinstance(answer, str):
            return request.fail(answer, address=address)
        status, headers, body = answer
        return request.respond(status, headers=headers, body=body, address=address)

    def cancel(self) -> None:
        """Drop all requests."""
        self._waiting.clear()
