"""A fetch that forgets what is cancelled, and what its lane sees of it."""

from __future__ import annotations

from lycosa import _core
from lycosa.cluster.sending import LeasedFetch
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
        self.forget()

    def forget(self) -> None:
        """Forget what is in flight."""
        self.sent.clear()


def leased(number: int) -> Request:
    """A request on lease: of partition 1 if its number is odd, or else 0."""
    return _core.Proxies.request(f"http://a.com/{number}", number + 1, ["192.0.2.1"])


def split(requests: Requests) -> dict[int, Requests]:
    """Requests by partition."""
    odd = [request.lease % 2 == 0 for request in requests]
    return {0: requests.select([not one for one in odd]), 1: requests.select(odd)}


def urls_of(responses: Responses) -> list[tuple[str, str | None]]:
    """URL and error of each response."""
    return [(response.request.url, response.error) for response in responses]


def test_each_request_has_one_response_whatever_is_cancelled() -> None:
    inner = ForgetfulFetch()
    fetch = LeasedFetch(inner, split)
    fetch.submit(Requests([leased(number) for number in range(3)]))
    inner.answer()
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/0", None)]
    inner.answer()  # and nobody has taken it when all is cancelled
    fetch.cancel()
    assert (fetch.in_flight(), fetch.free()) == (2, 2)
    assert urls_of(fetch.completed(1, 0.0)) == [("http://a.com/1", "cancelled")]
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/2", "cancelled")]
    assert len(fetch.completed(10, 0.0)) == 0, "the late response is of a request that has one"
    assert (fetch.in_flight(), fetch.free()) == (0, 4)
    fetch.cancel()
    assert len(fetch.completed(10, 0.0)) == 0
    fetch.submit(Requests([leased(3)]))
    inner.answer()
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/3", None)]


def test_at_its_end_each_request_has_ended() -> None:
    inner = ForgetfulFetch()
    fetch = LeasedFetch(inner, split)
    fetch.submit(Requests([leased(number) for number in range(2)]))
    fetch.close()
    assert (inner.in_flight(), fetch.in_flight()) == (0, 2)
    assert [error for _, error in urls_of(fetch.completed(10, 0.0))] == ["cancelled", "cancelled"]
    assert fetch.in_flight() == 0


def test_requests_of_one_partition_are_cancelled_and_the_others_go_on() -> None:
    inner = ForgetfulFetch()
    fetch = LeasedFetch(inner, split)
    fetch.submit(Requests([leased(number) for number in range(4)]))
    fetch.cancel_of([1])
    ended = urls_of(fetch.completed(10, 0.0))
    assert ended == [("http://a.com/1", "cancelled"), ("http://a.com/3", "cancelled")]
    assert (fetch.in_flight(), inner.in_flight()) == (2, 4)
    for _ in range(4):
        inner.answer()
    assert urls_of(fetch.completed(10, 0.0)) == [("http://a.com/0", None), ("http://a.com/2", None)]
