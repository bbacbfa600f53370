"""What sends a worker's requests: its own fetch, also through proxies, or the download servers of a master."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from lycosa import _core
from lycosa.assemble import make_fetch, make_proxies
from lycosa.job import Job
from lycosa.memory import Shares
from lycosa.records import Request, Requests, Response, Responses
from lycosa.stages import Fetch

if TYPE_CHECKING:
    from lycosa.proxies.keeper import Keeper


@dataclass(frozen=True, slots=True)
class Sending:
    """A fetch whose requests end as cancelled when it is cancelled, and that goes on afterwards."""

    fetch: Fetch
    #: Tells the fetch the time from which on it sends nothing.
    set_fence: Callable[[float], None]
    #: Ends it.
    close: Callable[[], None]
    #: Of the proxies, not started; `None`: there are none.
    keeper: Keeper | None = None


def make_sending(job: Job, clock: _core.Clock, memory: Shares, split: Split) -> Sending:
    """Return what sends the requests of a worker. split: requests by partition. Raises SettingError."""
    pool, keeper = make_proxies(job)
    inner = make_fetch(job, clock, memory, None if pool is None else pool.table)
    if job.fetch.master is not None:
        # Download servers keep to the pauses of sites, whoever asks: past the fence, what they have is a repeat.
        leased = LeasedFetch(cast(Forgetful, inner), split)
        return Sending(leased, lambda until: None, leased.close)
    fetcher = cast(_core.Fetcher, inner)
    if pool is None:
        return Sending(inner, fetcher.set_fence, inner.cancel)
    from lycosa.proxies.fetch import ProxyFetch  # only where there are some

    proxied = ProxyFetch(inner, pool, job.proxies.tries)
    return Sending(proxied, fetcher.set_fence, proxied.cancel, keeper)


Split = Callable[[Requests], dict[int, Requests]]


class Forgetful(Fetch, Protocol):
    """A fetch that may be used again after it has forgotten what is in flight."""

    def forget(self) -> None:
        """Forget all requests in flight. From any thread; waits for nothing."""


class LeasedFetch:
    """A fetch around one that forgets what is cancelled. May be cancelled by any thread.

    Guarantee: one response for each request, also for those that are cancelled.
    """

    def __init__(self, inner: Forgetful, split: Split) -> None:
        """split: divides requests by partition."""
        self._inner, self._split = inner, split
        self._lock = threading.Lock()
        self._sent: dict[int, Request] = {}  # by lease, which no two partitions have
        self._ended: list[Response] = []

    def free(self) -> int:
        """Return the number of free slots."""
        return max(self._inner.free() - len(self._ended), 0)

    def in_flight(self) -> int:
        """Return the number of requests that have no response yet."""
        return len(self._sent) + len(self._ended)

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        with self._lock:
            self._sent.update((request.lease, request) for request in requests)
            self._inner.submit(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses: first of requests that were cancelled."""
        if not self._ended:
            responses = self._inner.completed(max, within)
            with self._lock:
                return responses.select([self._is_first(response) for response in responses])
        with self._lock:
            ended, self._ended = self._ended[:max], self._ended[max:]
        return Responses(ended)

    def _is_first(self, response: Response) -> bool:
        """Take note of a response; whether its request has no other one."""
        request = self._sent.get(response.request.lease)
        if request is None or request.url != response.request.url:
            return False
        del self._sent[request.lease]
        return True

    def cancel(self) -> None:
        """Cancel all requests in flight."""
        with self._lock:
            if self._sent:
                self._inner.forget()
                self._end(self._sent.values())

    def close(self) -> None:
        """Cancel all requests in flight, and wait until nothing of them is under way."""
        self.cancel()
        self._inner.cancel()

    def cancel_of(self, partitions: Collection[int]) -> None:
        """Cancel the requests of some partitions. Download servers go on with them: their responses are dropped."""
        with self._lock:
            by_partition = self._split(Requests(list(self._sent.values())))
            self._end([request for partition in partitions for request in by_partition.get(partition, ())])

    def _end(self, requests: Collection[Request]) -> None:
        """End requests as cancelled."""
        ended = [request.fail("cancelled", "its worker gives it up") for request in requests]
        self._ended += ended
        for response in ended:
            del self._sent[response.request.lease]
