"""The rules of a private HTTP cache (RFC 9111): what is stored, how long it is fresh, how it is validated.

Decisions only: no I/O, and the time is an argument, in seconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

from lycosa.http_cache.dates import http_date

#: Header fields: names in lower case, and values.
Fields = Sequence[tuple[str, str]]

#: Statuses whose freshness may be estimated (RFC 9110 section 15.1).
HEURISTIC = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})

#: Statuses that say something of the site's state, not of the page: not stored, so that they are tried again.
PASSING = frozenset({408, 421, 425, 429})

#: Fields of a connection, which are not stored (RFC 9111 section 3.1).
OF_CONNECTION = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)

#: Fields that say something once, to the client that asked: a later use must not say it again.
OF_EXCHANGE = frozenset({"set-cookie", "set-cookie2", "retry-after", "ratelimit", "ratelimit-policy"})

#: Fields that tell visitors apart: whatever a cache ignores, what one of them got is not another one's.
OF_VISITOR = frozenset({"cookie", "authorization"})

#: Fields that describe the stored body, which a 304 does not change (RFC 9111 section 3.2).
OF_BODY = frozenset({"content-encoding", "content-length", "content-range", "content-type"})

#: Share of the time since Last-Modified for which a response is fresh that does not say so (RFC 9111 section 4.2.2),
#: and the longest such time in seconds.
SHARE, LONGEST_ESTIMATE = 0.1, 86_400.0

#: The largest number of seconds in a directive (RFC 9111 section 1.2.2).
MOST_SECONDS = 1 << 31

#: Members of a list that is separated by commas outside of quotes.
MEMBERS = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored response without its body."""

    status: int
    reason: str
    fields: tuple[tuple[str, str], ...]
    varied: tuple[tuple[str, str | None], ...] | None  # the request's fields that Vary names; None: "*"
    asked_at: float  # when the request was sent
    received_at: float  # when the response was complete

    @property
    def date(self) -> float:
        """When the response was made."""
        given = http_date(value_of(self.fields, "date") or "", self.received_at)
        return self.received_at if given is None else given

    @property
    def recency(self) -> tuple[float, float]:
        """What is greater the later the response was made: dates are whole seconds, of two the one received later."""
        return self.date, self.received_at

    @property
    def validators(self) -> list[tuple[str, str]]:
        """The fields of a request by which the site says whether it has changed (RFC 9111 section 4.3.1)."""
        named = (("if-none-match", "etag"), ("if-modified-since", "last-modified"))
        return [(name, value) for name, source in named if (value := value_of(self.fields, source))]


def value_of(fields: Fields, name: str) -> str | None:
    """Return a field's value, its lines combined (RFC 9110 section 5.3), or `None`."""
    values = [value.strip() for known, value in fields if known == name]
    return ", ".join(values) if values else None


def directives(fields: Fields) -> dict[str, str | None]:
    """Return the directives of Cache-Control; of two of one name the first (RFC 9111 section 4.2.1)."""
    found: dict[str, str | None] = {}
    for member in MEMBERS.findall(value_of(fields, "cache-control") or ""):
        name, equals, value = member.partition("=")
        value = value.strip()
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:].removesuffix('"'))
        found.setdefault(name.strip().lower(), value if equals else None)
    return found


def seconds_of(value: str | None) -> int:
    """Return a number of seconds; 0 for what is none, so that the response is stale (RFC 9111 section 4.2.1)."""
    text = value or ""
    return min(int(text[:20]), MOST_SECONDS) if text.isascii() and text.isdigit() else 0


def may_store(request: Fields, status: int, fields: Fields) -> bool:
    """Return whether the response to a GET or HEAD may be stored, and is of any use (RFC 9111 section 3)."""
    control = directives(fields)
    if "no-store" in directives(request) or not is_complete(status):
        return False
    # A cache that understands the status ignores no-store beside must-understand (section 5.2.2.3).
    if "no-store" in control and not ("must-understand" in control and status in HEURISTIC):
        return False
    if "must-understand" in control and status not in HEURISTIC:
        return False
    is_explicit = bool(control.keys() & {"public", "private", "max-age"}) or value_of(fields, "expires") is not None
    return is_explicit or status in HEURISTIC


def is_complete(status: int) -> bool:
    """Return whether a response of this status is one of the page, and whole."""
    return 200 <= status < 500 and status not in (206, 304) and status not in PASSING


def stored_fields(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Return the fields that are stored: not those of the connection (RFC 9111 section 3.1) or of the exchange."""
    named = {name.strip().lower() for name in (value_of(fields, "connection") or "").split(",")}
    omitted = OF_CONNECTION | OF_EXCHANGE | named
    return tuple((name, value) for name, value in fields if name not in omitted)


def lifetime(stored: Stored) -> float:
    """Return for how many seconds a response is fresh (RFC 9111 section 4.2.1)."""
    control = directives(stored.fields)
    if "max-age" in control:
        return seconds_of(control["max-age"])
    expires = value_of(stored.fields, "expires")
    if expires is not None:
        until = http_date(expires, stored.received_at)
        return 0.0 if until is None else until - stored.date
    if stored.status not in HEURISTIC and "public" not in control:
        return 0.0
    modified = http_date(value_of(stored.fields, "last-modified") or "", stored.received_at)
    return 0.0 if modified is None else min(max(stored.date - modified, 0.0) * SHARE, LONGEST_ESTIMATE)


def age(stored: Stored, now: float) -> float:
    """Return the seconds since the site made a response, or confirmed it (RFC 9111 section 4.2.3)."""
    apparent = max(stored.received_at - stored.date, 0.0)
    told = seconds_of((value_of(stored.fields, "age") or "").partition(",")[0].strip())
    corrected = told + max(stored.received_at - stored.asked_at, 0.0)
    return max(apparent, corrected) + max(now - stored.received_at, 0.0)


def may_use(stored: Stored, request: Fields, now: float) -> bool:
    """Return whether a response that suits a request may be used without asking the site (RFC 9111 section 4)."""
    asked, control = directives(request), directives(stored.fields)
    if "no-cache" in asked or control.get("no-cache", "") is None:
        return False
    old, left = age(stored, now), lifetime(stored) - age(stored, now)
    if "max-age" in asked and old > seconds_of(asked["max-age"]):
        return False
    if "min-fresh" in asked and left < seconds_of(asked["min-fresh"]):
        return False
    if left > 0:
        return True
    if "max-stale" not in asked or "must-revalidate" in control:
        return False
    return asked["max-stale"] is None or -left <= seconds_of(asked["max-stale"])


def varied(fields: Fields, asked: Callable[[str], str | None]) -> tuple[tuple[str, str | None], ...] | None:
    """Return the request's fields that the response's Vary names, with their values; `None` for "*"."""
    names = {name.strip().lower() for name in (value_of(fields, "vary") or "").split(",")} - {""}
    return None if "*" in names else tuple((name, asked(name)) for name in sorted(names))


def suits(stored: Stored, asked: Callable[[str], str | None]) -> bool:
    """Return whether a response was chosen by the fields that a request has (RFC 9111 section 4.1)."""
    return stored.varied is not None and all(_same(value, asked(name)) for name, value in stored.varied)


def is_of_visitor(stored: Stored, asked: Callable[[str], str | None]) -> bool:
    """Return whether a response is the same visitor's, as far as its Vary tells visitors apart."""
    return all(_same(value, asked(name)) for name, value in stored.varied or () if name in OF_VISITOR)


def leads_back(url: str, status: int, fields: Fields) -> bool:
    """Return whether a redirect sets cookies, or leads to its own URL: another answer is to follow."""
    if not 300 <= status < 400:
        return False
    location = value_of(fields, "location")
    try:
        is_own = location is not None and urljoin(url, location) == url
    except ValueError:
        is_own = False
    return is_own or value_of(fields, "set-cookie") is not None


def _same(one: str | None, other: str | None) -> bool:
    """Return whether two field values are the same, whatever the white space around their members."""
    if one is None or other is None:
        return one is other
    return [member.strip() for member in one.split(",")] == [member.strip() for member in other.split(",")]


def used_fields(stored: Stored, now: float) -> list[tuple[str, str]]:
    """Return the fields of a response that is used unasked: with its age, without those that no-cache names."""
    named = directives(stored.fields).get("no-cache") or ""
    omitted = {"age", *(name.strip().lower() for name in named.split(","))}
    kept = [(name, value) for name, value in stored.fields if name not in omitted]
    return [*kept, ("age", str(int(age(stored, now)))), ("cache-status", "lycosa; hit")]


def confirmed(candidates: Sequence[Stored], fields: Fields) -> Stored | None:
    """Return the stored response that a 304 confirms (RFC 9111 section 4.3.4).

    candidates: those whose validators were sent. Entity tags are compared weakly, as If-None-Match does.
    """
    tag = value_of(fields, "etag")
    if tag is not None:
        same = [one for one in candidates if opaque(value_of(one.fields, "etag")) == opaque(tag)]
    else:
        modified = value_of(fields, "last-modified")
        same = [one for one in candidates if modified in (None, value_of(one.fields, "last-modified"))]
        if modified is None and len(candidates) > 1:
            return None
    return max(same, key=lambda one: one.recency, default=None)


def opaque(tag: str | None) -> str | None:
    """Return an entity tag without its mark of weakness."""
    return None if tag is None else tag.strip().removeprefix("W/")


def freshened(
    stored: Stored, fields: Fields, varied: tuple[tuple[str, str | None], ...] | None, asked_at: float, now: float
) -> Stored:
    """Return a stored response with the fields of a 304 that confirms it (RFC 9111 section 3.2)."""
    new = [(name, value) for name, value in stored_fields(fields) if name not in OF_BODY]
    names = {name for name, _ in new} | {"age"}
    kept = [(name, value) for name, value in stored.fields if name not in names]
    return replace(stored, fields=(*kept, *new), varied=varied, asked_at=asked_at, received_at=now)


def outdated_by(method: str, url: str, status: int, fields: Fields) -> list[str]:
    """Return the URLs whose stored responses an unsafe request has outdated (RFC 9111 section 4.4)."""
    if method in ("GET", "HEAD", "OPTIONS", "TRACE") or not 200 <= status < 400:
        return []
    named = (value_of(fields, name) for name in ("location", "content-location"))
    return [url, *(other for value in named if value and (other := _of_same_origin(url, value)))]


def _of_same_origin(url: str, reference: str) -> str | None:
    """The URL that a reference names, if it has the origin of another one."""
    try:
        other = urljoin(url, reference)
        parts, base = urlsplit(other), urlsplit(url)
    except ValueError:
        return None
    return other if (parts.scheme, parts.netloc) == (base.scheme, base.netloc) else None


def newest(stored: Iterable[Stored]) -> Stored | None:
    """Return the response that was made last."""
    return max(stored, key=lambda one: one.recency, default=None)
