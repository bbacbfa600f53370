"""The bodies of the protocol: requests on their way to a download server, and results on their way to a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lycosa.dispatch.desk import Result
from lycosa.dispatch.jsons import read_json, write_json
from lycosa.dispatch.protocol import JSON, LINES, REQUESTS, RESPONSES, RESULTS
from lycosa.dispatch.refusal import Refusal
from lycosa.errors import JobVersionError, SettingError
from lycosa.records import Request, Requests, Response, Responses

#: Members of a request in JSON.
MEMBERS = {"url", "method", "headers", "body", "priority", "etag", "last_modified"}


def read_requests(body: bytes, kind: str, ports: Sequence[int] = (), count: int | None = None) -> Requests:
    """Return the requests of a body; raises Refusal for the whole if one is wrong.

    ports: allowed, though blocked. count: of the grant; `None`: any.
    """
    kind = kind.partition(";")[0].strip().lower()
    read = READERS.get(kind)
    if read is None:
        raise Refusal("malformed", f"content-type: {kind!r:.100}; allowed: {', '.join(READERS)}")
    try:
        # Whatever else a record says is not for others to decide.
        return read(body, count).declared(ports)
    except JobVersionError as error:
        raise Refusal("other-version", str(error)) from None
    except (ValueError, TypeError, SettingError, RecursionError) as error:
        # It may repeat a token in a header field, or a password in a URL.
        raise Refusal("malformed", f"the requests cannot be read: {error}", is_private=True) from None


def _check_count(found: int, granted: int | None) -> None:
    """Raise Refusal for another number of URLs than was granted."""
    if granted is not None and found != granted:
        raise Refusal("wrong-count", f"{found} URLs; granted: {granted}")


def _of_records(body: bytes, count: int | None) -> Requests:
    """Read records of this project."""
    requests = Requests.decode(body)
    _check_count(len(requests), count)
    return requests


def _of_json(body: bytes, count: int | None) -> Requests:
    """Read a list of objects, or of URLs."""
    given = read_json(body)
    if not isinstance(given, list):
        raise ValueError("a list of URLs, or of objects with a url")
    _check_count(len(given), count)
    return Requests(_of_object(one) for one in given)


def _of_object(given: object) -> Request:
    """Return the request of a URL or an object."""
    if isinstance(given, str):
        return Request(given)
    if not isinstance(given, dict) or not given.keys() <= MEMBERS or "url" not in given:
        raise ValueError(f"a request has the members {', '.join(sorted(MEMBERS))}, of which url is needed")
    named: dict[str, Any] = {name: value for name, value in given.items() if name != "url"}
    if "body" in named:
        named["body"] = _text(named["body"], "body").encode()
    if "headers" in named:
        if not isinstance(named["headers"], dict):
            raise ValueError("headers: an object of names and values")
        named["headers"] = [(name, _text(value, "a header field")) for name, value in named["headers"].items()]
    return Request(given["url"], **named)


def _text(given: object, what: str) -> str:
    """Return text; raises ValueError for anything else, whose value is not repeated: it may be a secret."""
    if not isinstance(given, str):
        raise ValueError(f"{what}: {type(given).__name__}; allowed: text")
    return given


def _of_lines(body: bytes, count: int | None) -> Requests:
    """Read a URL a line."""
    lines = [line.strip() for line in body.decode().splitlines() if line.strip()]
    _check_count(len(lines), count)
    return Requests(Request(line) for line in lines)


READERS: dict[str, Callable[[bytes, int | None], Requests]] = {
    REQUESTS: _of_records,
    JSON: _of_json,
    LINES: _of_lines,
}


def write_results(results: Sequence[Result], accept: str) -> tuple[bytes, str]:
    """Return the body of results and its media type: records, or lines of JSON with bodies (``_described``)."""
    if RESPONSES in accept:
        return b"".join(result.content for result in results), RESPONSES
    return b"".join(map(_described, results)), RESULTS


def facts_of(response: Response) -> dict[str, Any]:
    """Return what JSON says of a response, beside its body."""
    return {
        "url": response.url,
        "status": response.status,
        "error": response.error,
        "error_detail": response.error_detail,
        "headers": response.headers,
        "fetched_at": response.fetched_at,
        "body_bytes": len(response.body),
    }


def _described(result: Result) -> bytes:
    """Return a line of JSON about a result, its body as received (as many bytes as the line says), a line feed."""
    response: Response = Responses.decode(result.content)[0]
    facts = {"serial": result.serial, "index": result.place, **facts_of(response)}
    return write_json(facts) + b"\n" + response.body + b"\n"
