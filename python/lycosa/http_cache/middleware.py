"""`HttpCache`: a middleware that answers requests from stored responses, and stores those of sites."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.http_cache import rules
from lycosa.http_cache.rules import Stored
from lycosa.http_cache.store import Entry, Store, Written
from lycosa.middleware import Middleware, Way
from lycosa.records import Outcomes, Request, Requests, Response, Responses

logger = logging.getLogger("lycosa")

#: The value of a field that a request may be sent with, which is not known yet.
UNKNOWN = "\0"

#: Fields that belong to one request, not to all that a crawl sends.
OF_ONE = frozenset({"cookie", "host", "content-length", "if-none-match", "if-modified-since", "authorization"})

#: Fields by which a request asks for a part, or for nothing unless something has changed: it passes by.
CONDITIONS = frozenset({"if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"})

#: The smallest size of a cache, in bytes.
SMALLEST = 1 << 20

#: Seconds after which the crawl accepts no outcome of a response any more: a lease, which begins before the response.
LEASE = 600.0


class HttpCache(Middleware):
    """A private HTTP cache in a directory, by RFC 9111: for the time in which a crawl's program is written.

    A fresh response is used without asking the site: its ``source`` is "cache". A stale one is validated by ETag or
    Last-Modified; after a 304 the outcome has the stored status and body, the fields of both, and the ``source`` of
    the exchange, since the site was asked. The field Cache-Status (RFC 9211) says which of the two it was. Responses
    to GET and HEAD are stored; what other methods change is removed. robots.txt passes by, as it does all middleware.

    Put it behind middleware that changes header fields, and before limits. Lanes may share it, and processes its
    directory. An entry that cannot be read is one that is not there.

    >>> HttpCache("cache", always=True)  # doctest: +SKIP
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        *,
        always: bool = False,
        max_bytes: int = 1 << 30,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """directory: created if missing. always: use what is stored, however old, and store what comes.

        Never stored are statuses that may pass (408, 421, 425, 429, 5xx) and parts (206).

        max_bytes: on disk, 1 MiB at least, by default 1 GiB; what was used least recently makes room. clock: seconds
        since the epoch. Raises SettingError if the directory cannot be created or max_bytes is too small.
        """
        if not isinstance(max_bytes, int) or max_bytes < SMALLEST:
            raise SettingError("HttpCache max_bytes", max_bytes, f"a whole number from {SMALLEST}")
        try:
            self._store = Store(Path(directory), max_bytes)
        except OSError as error:
            raise SettingError(
                "HttpCache directory", directory, f"a directory that can be written ({error})"
            ) from None
        self._directory, self._always, self._clock = directory, always, clock
        self._lock = threading.Lock()  # of what follows
        #: The fields that the crawl sends with all requests; `None`: no response has shown them yet.
        self._own: dict[str, str] | None = None
        #: Leases of requests that this cache has made conditional.
        self._conditional: set[int] = set()
        #: Responses that were written and are not accepted yet, oldest first, each with the time: by lease and URL,
        #: since the leases of another crawl begin anew.
        self._written: dict[tuple[int, str], tuple[float, Written]] = {}
        #: Keys whose stored responses a site confirmed, and which could not be read then.
        self._unreadable: set[str] = set()
        self._is_told = False

    def requests(self, requests: Requests, way: Way) -> Requests:
        """Answer requests from the cache; make conditional what has to be validated."""
        going = []
        for request in requests:
            given = self._look_up(request)
            if isinstance(given, Response):
                way.answer(given)
            else:
                going.append(given)
        return Requests(going)

    def responses(self, responses: Responses) -> Responses:
        """Store responses, and replace those that confirm a stored one by it."""
        return responses.map(self._look_at)

    def settled(self, outcomes: Outcomes) -> None:
        """Keep responses that the crawl has accepted; what was a captive portal's is removed."""
        for outcome in outcomes:
            lease, written = outcome.request.lease, self._take(outcome.request)
            if outcome.retry and lease == 0:  # it was taken back
                self._forget(outcome.url)
            elif written is not None and (outcome.retry or outcome.error is not None):
                self._store.drop(written)
            elif written is not None:
                self._attempt(partial(self._store.keep, written))
        self._drop_late()

    def _take(self, request: Request) -> Written | None:
        """Return what was written of a request and is not accepted yet; it is no longer known then."""
        with self._lock:
            _, written = self._written.pop((request.lease, request.url), (0.0, None))
        return written

    def _drop_late(self) -> None:
        """Remove responses whose outcome the crawl will not accept: it came late, or was never taken."""
        now, late = time.monotonic(), []
        with self._lock:
            while self._written:
                which, (since, written) = next(iter(self._written.items()))
                if now - since < LEASE:
                    break
                late.append(written)
                del self._written[which]
        for written in late:
            self._store.drop(written)

    def _look_up(self, request: Request) -> Request | Response:
        """Return the answer to a request, or the request that is sent."""
        fields = _fields(request)
        if not _is_cacheable(request) or any(name in CONDITIONS for name, _ in fields):
            return request
        found = self._store.find(_key(request))
        asked = self._asked(request)
        suiting = [entry for entry in found if rules.suits(entry.stored, asked)]
        now = self._clock()
        others = [entry for entry in found * self._always if rules.is_of_visitor(entry.stored, asked)]
        for entry in sorted(suiting or others, key=lambda entry: entry.stored.recency, reverse=True):
            if self._always or rules.may_use(entry.stored, fields, now):
                answer = self._answer(request, entry, now)
                if answer is not None:
                    return answer
                found = [other for other in found if other is not entry]
        if "only-if-cached" in rules.directives(fields):
            return request.respond(504, reason="Gateway Timeout", source="cache")
        return self._conditional_request(request, found, [entry for entry in suiting if entry in found])

    def _answer(self, request: Request, entry: Entry, now: float) -> Response | None:
        """Return a stored response to a request; `None` if it cannot be read."""
        body = self._store.body(entry)
        if body is None:
            return None
        stored, fields = entry.stored, rules.used_fields(entry.stored, now)
        try:
            return request.respond(stored.status, headers=fields, body=body, reason=stored.reason, source="cache")
        except SettingError:  # fields that no response can have
            self._store.remove(entry)
            return None

    def _conditional_request(self, request: Request, found: Sequence[Entry], suiting: Sequence[Entry]) -> Request:
        """Return the request that asks whether a stored response is still the site's (RFC 9111 section 4.3.1)."""
        newest = rules.newest(entry.stored for entry in suiting)
        if newest is not None:
            added = newest.validators
        else:
            # By its entity tag a 304 says which of them it confirms; a date would not.
            tags = [tag for entry in found if (tag := rules.value_of(entry.stored.fields, "etag"))]
            added = [("if-none-match", ", ".join(dict.fromkeys(tags)))] if tags else []
        # A condition that was met by nothing once would be so again, without end.
        if not added or _key(request) in self._unreadable:
            return request
        try:
            conditional = request.replace(headers=[*request.headers, *added])
        except SettingError:  # a validator that cannot be sent
            return request
        with self._lock:
            self._conditional.add(request.lease)
        return conditional

    def _look_at(self, response: Response) -> Response:
        """Store a response, or use the stored one that it confirms."""
        request = response.request
        with self._lock:
            is_ours = request.lease in self._conditional
            self._conditional.discard(request.lease)
        if response.status is None or response.source == "cache":
            return response
        self._learn(response)
        fields = response.headers
        for url in rules.outdated_by(request.method, request.url, response.status, fields):
            self._forget(url)
        if not _is_cacheable(request):
            return response
        if response.status == 304 and is_ours:
            return self._confirm(response)
        if rules.is_complete(response.status) and not any(name == "range" for name, _ in _fields(request)):
            self._keep(response)
        return response

    def _keep(self, response: Response) -> None:
        """Store a response in place of those that suited its request."""
        request, fields = response.request, response.headers
        stored = self._stored(response)
        is_useful = bool(stored.validators) or rules.lifetime(stored) > 0
        may_store = self._always or (rules.may_store(_fields(request), stored.status, fields) and is_useful)
        if may_store and not rules.leads_back(request.url, stored.status, fields):
            self._attempt(lambda: self._write(request, stored, response.body))
        else:
            asked = self._asked(request)
            for entry in self._store.find(_key(request)):
                if rules.suits(entry.stored, asked):
                    self._store.remove(entry)
        if request.method == "HEAD":
            self._compare(request, fields)

    def _compare(self, request: Request, fields: rules.Fields) -> None:
        """Remove the response to a GET from which that to a HEAD differs (RFC 9111 section 4.3.5)."""
        for entry in self._store.find(_key(request, "GET")):
            for name in ("etag", "last-modified", "content-length"):
                new, old = rules.value_of(fields, name), rules.value_of(entry.stored.fields, name)
                if new is not None and old is not None and new != old:
                    self._store.remove(entry)

    def _confirm(self, response: Response) -> Response:
        """Return the stored response that a 304 confirms; without one the URL is fetched again."""
        request, fields = response.request, response.headers
        key, sent = _key(request), dict(_fields(request))
        found = [entry for entry in self._store.find(key) if _was_asked_about(entry.stored, sent)]
        chosen = rules.confirmed([entry.stored for entry in found], fields)
        entry = next((entry for entry in found if entry.stored is chosen), None)
        body = None if entry is None else self._store.body(entry)
        if entry is None or body is None:
            for each in found:
                self._store.remove(each)
            with self._lock:
                self._unreadable.add(key)
            return request.fail("cancelled", "not modified, but what the cache had is gone: it is fetched again")
        exchange = self._stored(response)
        is_varied = rules.value_of(fields, "vary") is not None
        varied = exchange.varied if is_varied else rules.varied(entry.stored.fields, self._asked(request))
        stored = rules.freshened(entry.stored, fields, varied, exchange.asked_at, exchange.received_at)
        if varied != entry.stored.varied:
            self._store.remove(entry)
        self._attempt(lambda: self._store.put(key, stored, body))
        finished = response.fetched_at
        return request.respond(
            stored.status,
            headers=[*stored.fields, *_of_exchange(fields), ("cache-status", "lycosa; fwd=stale; fwd-status=304")],
            body=body,
            reason=stored.reason,
            address=response.address,
            started=finished - sum(_phases(response).values()),
            finished=finished,
            times=_phases(response),
            source=response.source or "http/1.1",
            sent=response.sent,
        )

    def _stored(self, response: Response) -> Stored:
        """Return what is stored of a response."""
        times, fields = response.times, rules.stored_fields(response.headers)
        received_at = min(response.fetched_at, self._clock())
        asked_at = received_at - times["first_byte"] - times["body"]
        varied = rules.varied(fields, self._asked(response.request))
        return Stored(response.status or 0, response.reason, fields, varied, asked_at, received_at)

    def _write(self, request: Request, stored: Stored, body: bytes) -> None:
        """Write a response, which is kept once the crawl has accepted it."""
        self._drop_late()
        written = self._store.write(_key(request), stored, body)
        if written is None:
            return
        before = self._take(request)
        with self._lock:
            self._unreadable.discard(written.key)
            self._written[request.lease, request.url] = time.monotonic(), written
        if before is not None:
            self._store.drop(before)

    def _attempt(self, store: Callable[[], object]) -> None:
        """Store something; tells the first error."""
        try:
            store()
        except OSError as error:
            if not self._is_told:
                self._is_told = True
                logger.warning(
                    "HttpCache %s: %s; the crawl goes on, and not every page is stored", self._directory, error
                )

    def _forget(self, url: str) -> None:
        """Remove what is stored of a URL, under every deduplication key."""
        try:
            canonical = _core.canonical_url(url)
        except SettingError:
            return
        for method in ("GET", "HEAD"):
            self._store.remove_all(f"{method} {canonical}")

    def _learn(self, response: Response) -> None:
        """Learn which fields the crawl sends with all requests: Vary may name them."""
        own = {name.lower() for name, _ in response.request.headers} | OF_ONE
        sent = [line.partition(":") for line in response.sent.decode("latin-1").split("\r\n")[1:]]
        learnt = {name.lower(): value.strip() for name, _, value in sent if name.lower() not in own}
        with self._lock:
            self._own = {**(self._own or {}), **learnt}

    def _asked(self, request: Request) -> Callable[[str], str | None]:
        """Return the values of a request's fields by name, as it is sent."""
        fields, own = _fields(request), self._own
        if request.cookies is not None and not any(name == "cookie" for name, _ in fields):
            fields.append(("cookie", request.cookies))

        def value(name: str) -> str | None:
            given = rules.value_of(fields, name)
            if given is not None or name in OF_ONE:
                return given
            return UNKNOWN if own is None else own.get(name)

        return value


def _key(request: Request, method: str | None = None) -> str:
    """What a response is stored under: what a deduplication key tells apart is stored apart."""
    return f"{method or request.method} {request.url}{f' {request.key}' if request.key else ''}"


def _of_exchange(fields: rules.Fields) -> list[tuple[str, str]]:
    """The fields of a response that say something once."""
    return [(name, value) for name, value in fields if name in rules.OF_EXCHANGE]


def _fields(request: Request) -> list[tuple[str, str]]:
    """A request's own fields, names in lower case."""
    return [(name.lower(), value) for name, value in request.headers]


def _is_cacheable(request: Request) -> bool:
    """Whether the response to a request may be stored: of GET and HEAD, whose bodies have no meaning."""
    return request.method in ("GET", "HEAD") and not request.body


def _was_asked_about(stored: Stored, sent: Mapping[str, str]) -> bool:
    """Whether a conditional request had the validator of a stored response."""
    tag = rules.value_of(stored.fields, "etag")
    if tag:
        return tag in sent.get("if-none-match", "")
    return rules.value_of(stored.fields, "last-modified") == sent.get("if-modified-since", "")


def _phases(response: Response) -> dict[str, float]:
    """The durations of an exchange, by phase."""
    return {name: seconds for name, seconds in response.times.items() if name != "name"}
