"""A fetch whose requests go through the proxies of a pool."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lycosa import _core
from lycosa.proxies.check import seconds_of
from lycosa.proxies.faults import fault_of, is_of_page, is_of_passwords
from lycosa.proxies.pool import Pool
from lycosa.records import Request, Requests, Response, Responses
from lycosa.stages import Fetch

#: Longest wait while requests wait for a proxy, in seconds.
PENDING = 0.05

#: Seconds before a lease ends at which a request that still waits is given back, without counting as a try.
MARGIN = 1.0


@dataclass(slots=True)
class _Try:
    """The tries of one request."""

    request: Request
    domain: str
    #: The registered domain and the port: a proxy may lead to some ports alone.
    target: str
    proxies: list[str] = field(default_factory=list)


class ProxyFetch:
    """Gives each request a proxy. A proxy that fails without the site's doing is replaced at once by another.

    A request that a site may have received is not sent again here: the frontier decides, by the site's rules. A 407
    to a request that went without a tunnel may be the site's: it becomes ``proxy-failed``, also of a POST.
    """

    def __init__(self, fetch: Fetch, pool: Pool, tries: int = 3) -> None:
        """fetch: sends the requests, with the pool's table. tries: proxies that one request is given, at most."""
        self._fetch, self._pool, self._tries = fetch, pool, tries
        self._under_way: dict[int, _Try] = {}
        #: Requests for which no proxy was free, when the first of their leases ends, and the changes of the pool that
        #: they have seen.
        self._waiting: list[_Try] = []
        self._late_at, self._seen = math.inf, -1
        self._is_cancelled = False  # what is in flight; until more is submitted
        self._ended: list[_Try] = []  # that waited when they were cancelled

    def free(self) -> int:
        """Return the number of free slots; 0 while no proxy works."""
        return max(self._fetch.free() - len(self._waiting), 0) if self._pool.working() else 0

    def in_flight(self) -> int:
        """Return the number of requests that have no response yet."""
        return self._fetch.in_flight() + len(self._waiting) + len(self._ended)

    def submit(self, requests: Requests) -> None:
        """Send requests, each through a proxy; those for which a middleware has chosen one go through that."""
        if len(requests):
            self._end_waiting()
            self._is_cancelled = False
        self._send([_try(request) for request in requests])

    def _send(self, tries: list[_Try]) -> None:
        """Send what finds a proxy; the others wait."""
        sent = []
        for each in tries:
            name = each.request.proxy
            if name is not None:
                self._pool.use(name)
            elif (name := self._pool.take(each.domain, each.proxies, each.target)) is None:
                self._wait(each)
                continue
            each.proxies.append(name)
            self._under_way[each.request.lease] = each
            sent.append(each.request.replace(proxy=name))
        if sent:
            self._fetch.submit(Requests(sent))

    def _wait(self, each: _Try) -> None:
        """Have a request wait for a proxy."""
        self._waiting.append(each)
        self._late_at = min(self._late_at, each.request.deadline - MARGIN)

    def _end_waiting(self) -> None:
        """Take out those that wait, if they are cancelled."""
        if self._is_cancelled:
            self._ended += self._waiting
            self._waiting, self._late_at = [], math.inf

    def _send_waiting(self) -> list[_Try]:
        """Send those that wait, if something has changed; returns those that are late."""
        now, late = time.time(), list[_Try]()
        if now >= self._late_at:
            waiting, self._waiting, self._late_at = self._waiting, [], math.inf
            for each in waiting:
                late.append(each) if now >= each.request.deadline - MARGIN else self._wait(each)
        if self._waiting and (changes := self._pool.changes()) != self._seen:
            self._seen = changes
            waiting, self._waiting = self._waiting, []
            self._send(waiting)
        return late

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses."""
        self._end_waiting()
        cancelled, self._ended = self._ended, []
        late = self._send_waiting()
        responses = self._fetch.completed(max, min(within, PENDING) if self._waiting else within)
        again: list[_Try] = []
        given = list(responses)
        noted = [self._note(response, again) for response in given]
        self._send(again)
        if not late and not cancelled and all(new is old for new, old in zip(noted, given, strict=True)):
            return responses
        ended = [each.request.fail("cancelled", "the crawl ends it") for each in cancelled]
        ended += [each.request.fail("cancelled", "no proxy was free") for each in late]
        return Responses([*ended, *(response for response in noted if response is not None)])

    def _note(self, response: Response, again: list[_Try]) -> Response | None:
        """Store what a response says about its proxy; returns what the crawl gets, `None`: it is sent once more."""
        each = self._under_way.pop(response.request.lease, None)
        if each is None:
            return response  # parse had no memory for it: it comes again
        name, fault = each.proxies[-1], fault_of(response)
        self._pool.release(name)
        if response.error is None and fault is None:
            self._pool.succeeded(name, seconds_of(response), each.domain)
            if is_of_page(response):
                self._pool.answered(name, each.domain, response.status or 0)
            return response
        if is_of_passwords(response):
            detail = f"{name}: status 407, of the proxy or of the site"
            response = response.request.fail("proxy-failed", detail, address=response.address)
        if fault is not None:
            why = f"{response.error}: {response.error_detail}"
            self._pool.failed(name, why, fault, each.domain, each.target)
        if fault in ("own", "refused") and self._may_try_another(each):
            again.append(each)
            return None
        return response

    def _may_try_another(self, each: _Try) -> bool:
        """Whether a request that no site has received is given another proxy. If none works, it waits for one."""
        if each.request.proxy is not None or len(each.proxies) >= self._tries or self._is_cancelled:
            return False
        is_in_time = time.time() < each.request.deadline - MARGIN
        return is_in_time and (not self._pool.working() or self._pool.has_another(each.proxies))

    def cancel(self) -> None:
        """Cancel all requests in flight. From any thread."""
        self._is_cancelled = True
        self._fetch.cancel()


def _try(request: Request) -> _Try:
    """A request that no proxy has had."""
    parts, domain = urlsplit(request.url), _core.domain_of(request.url)
    return _Try(request, domain, f"{domain}:{parts.port or (443 if parts.scheme == 'https' else 80)}")
