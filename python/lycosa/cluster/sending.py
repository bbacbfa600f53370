"""What sends a worker's requests: its own fetch, also through proxies, or the download servers of a master."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

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
    #: Of the proxies, not started; `None`: there are none.
    keeper: Keeper | None


def make_sending(job: Job, clock: _core.Clock, memory: Shares) -> Sending:
    """Return what sends the requests of a worker. Raises SettingError."""
    pool, keeper = make_proxies(job)
    inner = make_fetch(job, clock, memory, None if pool is None else pool.table)
    if job.fetch.master is not None:
        # Download servers keep to the pauses of sites, whoever asks: past the fence, what they have is a repeat at worst.
        return Sending(CancellableFetch(inner), lambda until: None, None)
    fetcher = cast(_core.Fetcher, inner)
    if pool is None:
        return Sending(inner, fetcher.set_fence, None)
    from lycosa.proxies.fetch import ProxyFetch  # only where there are some

    return Sending(ProxyFetch(inner, pool, job.proxies.tries), fetcher.set_fence, keeper)


class CancellableFetch:
    """A fetch around one that forgets what is cancelled. May be cancelled by any thread.

    Guarantee: one response for each request, also for those that are cancelled.
    """

    def __init__(self, inner: Fetch) -> None:
        """inner: may be used again after it was cancelled."""
        self._inner = inner
        self._lock = threading.Lock()
        self._sent: dict[tuple[int, str], Request] = {}  # by lease and URL: partitions have the same leases
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
            self._sent.update(((request.lease, request.url), request) for request in requests)
            self._inner.submit(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses: first of requests that were cancelled."""
        if not self._ended:
            responses = self._inner.completed(max, within)
            with self._lock:
                keys = [(response.request.lease, response.request.url) for response in responses]
                return responses.select([self._sent.pop(key, None) is not None for key in keys])
        with self._lock:
            ended, self._ended = self._ended[:max], self._ended[max:]
        return Responses(ended)

    def cancel(self) -> None:
        """Cancel all requests in flight."""
        with self._lock:
            self._inner.cancel()
            self._ended += [request.fail("cancelled", "its worker has stopped it") for request in self._sent.values()]
            self._sent.clear()
