"""A fetch with a second one for requests that the first cannot send, such as those to sites with old TLS."""

from __future__ import annotations

import time
from collections.abc import Collection

from lycosa.checked import CheckedStage
from lycosa.errors import StageError
from lycosa.records import Request, Requests, Response, Responses
from lycosa.stages import Fetch

#: Longest wait for the first fetch while the second one has requests, in seconds.
PENDING = 0.05

#: Seconds before a lease ends at which a request that still waits is given back, without counting as a try.
MARGIN = 1.0

#: Origins that are known to need the second fetch, at most.
ORIGINS = 10_000


class SecondChance:
    """Two fetches as one: a request that fails in the first with one of some kinds gets its answer from the second.

    With the default kind nothing was sent before: the handshake had failed. Further requests to such an origin go to
    the second fetch at once, until that fails. Requests that go through a proxy have no second chance, since the
    second fetch would go past it.
    """

    #: Responses of the first that parse had no memory for come again.
    takes_back = True

    def __init__(self, first: Fetch, second: Fetch, kinds: Collection[str] = ("tls-too-old",)) -> None:
        """first: the embedded fetch. second: see ``lycosa.stages.Fetch``; its values are checked.

        kinds: failures (docs/errors.md) after which the second fetch gets the request. After those that are no
        failures of a handshake, the site may have received it, and gets it again at once, without its interval.
        """
        self._first, self._kinds = first, frozenset(kinds)
        self._second: Fetch = CheckedStage(Fetch, second)  # it has the methods of one
        self._name = type(second).__name__
        self._waiting: list[Request] = []
        #: Requests that the second fetch has, by lease.
        self._given: dict[int, Request] = {}
        self._origins: dict[tuple[str, int], None] = {}

    def free(self) -> int:
        """Return the number of free slots of the first fetch, without those that wait for an answer of the second."""
        return max(self._first.free() - len(self._waiting) - len(self._given), 0)

    def in_flight(self) -> int:
        """Return the number of requests that have no response yet."""
        return self._first.in_flight() + len(self._waiting) + len(self._given)

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        if self._origins:
            is_known = [self._is_known(request) for request in requests]
            self._waiting += requests.select(is_known)
            requests = requests.select([not known for known in is_known])
            self._give()
        if len(requests):
            self._first.submit(requests)

    def _is_known(self, request: Request) -> bool:
        """Return whether a request's origin needs the second fetch."""
        is_direct = request.proxy is None and request.url.startswith("https:")
        return is_direct and (request.host, request.port) in self._origins

    def _give(self) -> None:
        """Give the second fetch as many requests as it has slots for."""
        free = self._second.free() if self._waiting else 0
        if free > 0:
            given, self._waiting = self._waiting[:free], self._waiting[free:]
            self._given.update((request.lease, request) for request in given)
            self._second.submit(Requests(given))

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses: those of the second fetch, if there are some, otherwise those of the first."""
        self._give()
        answered = self._late(max)
        answered += self._answers(max - len(answered))
        if answered:
            return Responses(answered)
        responses = self._first.completed(max, min(within, PENDING) if self._given or self._waiting else within)
        is_final = [response.error not in self._kinds or response.request.proxy is not None for response in responses]
        if all(is_final):
            return responses
        for response in responses.select([not final for final in is_final]):
            self._waiting.append(response.request)
            if response.request.url.startswith("https:") and len(self._origins) < ORIGINS:
                self._origins[response.request.host, response.request.port] = None
        self._give()
        return responses.select(is_final)

    def _late(self, max: int) -> list[Response]:
        """Return failures of requests for which the second fetch had no slot in time."""
        if not self._waiting:
            return []
        now = time.time()
        late = [request for request in self._waiting if now >= request.deadline - MARGIN][:max]
        leases = {request.lease for request in late}
        self._waiting = [request for request in self._waiting if request.lease not in leases]
        return [request.fail("cancelled", f"{self._name} had no free slot in time") for request in late]

    def _answers(self, max: int) -> list[Response]:
        """Return complete responses of the second fetch."""
        if not self._given or max < 1:
            return []
        answers = list(self._second.completed(max, 0.0))
        for answer in answers:
            request = self._given.pop(answer.request.lease, None)
            if request is None or request.url != answer.request.url:
                wrong = (
                    f"returned a response for a request that it did not get, or had answered: {answer.request.url}"
                )
                raise StageError(self._name, "completed", wrong, "one response for each request")
            if answer.error is not None:
                self._origins.pop((request.host, request.port), None)
        return answers

    def cancel(self) -> None:
        """Cancel all requests in flight at once."""
        self._waiting.clear()
        self._given.clear()
        self._first.cancel()
        self._second.cancel()
