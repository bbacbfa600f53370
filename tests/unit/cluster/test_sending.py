"""A fetch that forgets what is cancelled, and what its lane sees of it."""

from __future__ import annotations

from lycosa.cluster.sending import CancellableFetch
from lycosa.records import Request, Requests, Response, Responses


class ForgetfulFetch:
    """Answers what it is told to; forgets all when it is cancelled, and answers late at times."""

    def __init__(self) -> None:
        """Nothing is in flight."""
        self.sent: list[Request] = []
        self.ready: list[Response] = []

    def free(self) -> int:
        """Return the number of free slots."""
        return 4 - len(self.sent)

    def in_flight(self) -> int:
        """Return the number of requests in flight."""
        return len(self.sent)

    def submit(self, requests: Requests) -> None:
        """Take requests."""
        self.sent += list(requests)

    def answer(self) -> None:
        """Answer the first."""
        self.ready.append(self.sent.pop(0).respond(200))

    def completed(self, max: int, within: float) -> Responses:
        """Return what was answered."""
        ready, self.ready = self.ready[:max], self.ready[max:]
        return Responses(ready)

    def cancel(self) -> None:
        """Forget what is in flight."""
        self.sent.clear()


def urls_of(responses: Responses) -> list[tuple[str, str | None]]:
    """URL and error of each response."""
    return [(response.request.url, response.error) for response in responses]


def test_each_request_has_one_response_whatever_is_cancelled() -> None:
    inner = ForgetfulFetch()
    fetch = CancellableFetch(inner)
    fetch.submit(Requests([Request(f"http://a.com/{number}") for number in range(3)]))
    inner.answer()
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/0", None)]
    inner.answer()  # and nobody has taken it when all is cancelled
    fetch.cancel()
    assert (fetch.in_flight(), fetch.free()) == (2, 2)
    assert urls_of(fetch.completed(1, 0.0)) == [("http://a.com/1", "cancelled")]
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/2", "cancelled")]
    assert len(fetch.completed(10, 0.0)) == 0, "the late response is of a request that has one"
    assert (fetch.in_flight(), fetch.free()) == (0, 4)
    fetch.submit(Requests([Request("http://a.com/1")]))
    inner.answer()
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/1", None)]
