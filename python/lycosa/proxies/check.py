"""Checks proxies: whether they answer, how fast, and what a site learns of who is behind them."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lycosa import _core
from lycosa.proxies.known import Anonymity
from lycosa.proxies.proxy import Proxy
from lycosa.records import Request, Requests, Response
from lycosa.stages import Fetch

#: Names of header fields by which proxies tell that they are some.
TELLING = ("via", "forwarded", "x-forwarded-for", "x-real-ip", "x-proxy-id", "proxy-connection", "client-ip")

#: Longest wait for results at once, and for one check, in seconds.
WAIT, WITHIN = 0.05, 30.0

_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}\b", re.IGNORECASE)


@dataclass(slots=True)
class _Check:
    """The check of one proxy."""

    name: str
    #: When it ends at the latest.
    end: float
    #: The responses, by the place of their page.
    found: list[Response | None]


class Checker:
    """Fetches one page through each proxy, many at a time.

    The page is best one that shows the request that it got, with its address and header fields: then the anonymity of
    a proxy is told, too.
    """

    def __init__(
        self,
        fetcher: Fetch,
        urls: Sequence[str],
        addresses: Sequence[Sequence[str]],
        stopped: threading.Event | None = None,
        within: float = WITHIN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """fetcher: with the table of the proxies. urls: pages, of which each has to answer with a status below 400.

        addresses: of their hosts, for proxies that do not resolve names. stopped: ends waiting once it is set.
        within: seconds for one check: a proxy that dribbles must not hold up the others.
        """
        self._fetcher, self._urls, self._addresses = fetcher, list(urls), list(addresses)
        self._stopped, self._within, self._clock = stopped or threading.Event(), within, clock
        self._own: set[str] = set()
        self._knows_own = False
        self._numbers = 0
        #: Checks that have not ended, in the order of their beginnings, by their number; and of each request, by its
        #: lease, the number of the check and the place of the page.
        self._checks: dict[int, _Check] = {}
        self._under_way: dict[int, tuple[int, int]] = {}
        #: Responses that came while others were waited for.
        self._passed_by: list[Response] = []

    def begin(self, proxies: Iterable[Proxy]) -> None:
        """Begin to check proxies. The first time, the pages are fetched without a proxy before."""
        if not self._knows_own:
            self._knows_own = True
            for response in self._fetch_directly():
                self._own |= addresses_in(response.body or b"")
        requests = []
        for proxy in proxies:
            number = self._numbers + 1  # no other check has this one
            self._checks[number] = _Check(proxy.name, self._clock() + self._within, [None] * len(self._urls))
            for place, url in enumerate(self._urls):
                self._numbers += 1
                self._under_way[self._numbers] = (number, place)
                requests.append(self._request(url, place, proxy.name))
        self._fetcher.submit(Requests(requests))

    def _request(self, url: str, place: int, proxy: str | None) -> Request:
        """A request for one page."""
        return _core.Proxies.request(url, self._numbers, list(self._addresses[place]), proxy)

    def results(self, tell: Callable[[str, float | None, Anonymity, str], None]) -> None:
        """Tell of proxies whose check has ended: name, seconds or `None`, anonymity, why it failed."""
        responses, self._passed_by = [*self._passed_by, *self._fetcher.completed(1_000, WAIT)], []
        for response in responses:
            number, place = self._under_way.pop(response.request.lease, (0, 0))
            check = self._checks.get(number)
            if check is None:
                continue  # nobody waits for it any more
            check.found[place] = response
            if all(check.found):
                del self._checks[number]
                self._judge(check.name, [response for response in check.found if response is not None], tell)
        now = self._clock()
        for number, check in list(self._checks.items()):
            if check.end > now:
                break
            del self._checks[number]
            tell(check.name, None, "", f"its check was not complete after {self._within:g} s")

    def _judge(
        self, name: str, found: list[Response], tell: Callable[[str, float | None, Anonymity, str], None]
    ) -> None:
        """Tell of one proxy."""
        for response in found:
            if why := _why_failed(response):
                tell(name, None, "", why)
                return
        seconds = max(seconds_of(response) for response in found)
        tell(name, seconds, anonymity_of([response.body or b"" for response in found], self._own), "")

    def under_way(self) -> int:
        """Return the number of proxies that are being checked."""
        return len(self._checks)

    def answers_directly(self) -> bool:
        """Return whether the pages can be fetched without a proxy now. Waits for that."""
        found = self._fetch_directly()
        return len(found) == len(self._urls) and not any(_why_failed(response) for response in found)

    def _fetch_directly(self) -> list[Response]:
        """Fetch the pages without a proxy; fewer if the crawl ends meanwhile, or not all come in time."""
        requests = []
        for place, url in enumerate(self._urls):
            self._numbers += 1
            requests.append(self._request(url, place, None))
        numbers = {request.lease for request in requests}
        self._fetcher.submit(Requests(requests))
        found: list[Response] = []
        end = self._clock() + self._within
        while len(found) < len(numbers) and self._clock() < end and not self._stopped.is_set():
            for response in self._fetcher.completed(1_000, WAIT):
                (found if response.request.lease in numbers else self._passed_by).append(response)
        return found


def _why_failed(response: Response) -> str:
    """Why a page of a check counts as not fetched; empty if it does."""
    if response.error is not None:
        return f"{response.error}: {response.error_detail}"
    is_good = response.status is not None and response.status < 400
    return "" if is_good else f"status {response.status} for {response.url}"


def seconds_of(response: Response) -> float:
    """Return how long an exchange took, without the time for its name."""
    return sum(seconds for phase, seconds in response.times.items() if phase != "name")


def addresses_in(body: bytes) -> set[str]:
    """Return all IP addresses in a text."""
    return {found.lower() for found in _ADDRESS.findall(body[:100_000].decode("utf-8", "replace"))}


def anonymity_of(bodies: Iterable[bytes], own: set[str]) -> Anonymity:
    """Return what pages that show their request tell of the client; nothing if they show none."""
    text = b"\n".join(body[:100_000] for body in bodies)
    shown = addresses_in(text)
    if not shown:
        return ""
    if shown & own:
        return "transparent"
    lower = text.decode("utf-8", "replace").lower().replace("_", "-")
    return "anonymous" if any(re.search(rf"(?<![a-z-]){name}(?![a-z-])", lower) for name in TELLING) else "elite"
