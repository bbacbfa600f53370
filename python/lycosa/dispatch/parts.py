"""A client's requests, divided into what download servers take at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lycosa import _core
from lycosa.dispatch.protocol import SITE
from lycosa.dispatch.ready import Ready
from lycosa.records import Request, Requests

#: Bytes of a submission, of which download servers take twice as many.
MAX_SUBMITTED = 32 << 20


class Wanted(NamedTuple):
    """A request, and where its result is waited for."""

    request: Request
    ready: Ready


class Part(NamedTuple):
    """Requests of one grant."""

    server: str | None
    requests: list[Wanted]
    encoded: bytes


def divide(wanted: Sequence[Wanted], ring: _core.Ring | None, most: int) -> list[Part]:
    """Divide requests by a ring, if there is one, and parts of at most so many: what waits longest comes first."""
    parts = list[Part]()
    for ready in dict.fromkeys(one.ready for one in wanted):
        batch = Requests(one.request for one in wanted if one.ready is ready)
        divided: dict[str | None, Requests] = {None: batch}
        if ring is not None:
            divided = dict(batch.split(ring, SITE).items())
        for server, of_server in divided.items():
            listed = list(of_server)
            for begin in range(0, len(listed), most):
                parts += _encoded(server, listed[begin : begin + most], ready)
    if ring is not None:
        # A quota may not suffice for all parts.
        position = {one.request.url: -index for index, one in enumerate(reversed(wanted))}
        parts.sort(key=lambda part: position.get(part.requests[0].request.url, 0))
    return parts


def _encoded(server: str | None, requests: list[Request], ready: Ready) -> Iterator[Part]:
    """Yield requests as parts that a download server takes."""
    encoded = Requests(requests).declared().encode()
    if len(encoded) <= MAX_SUBMITTED or len(requests) == 1:
        yield Part(server, [Wanted(request, ready) for request in requests], encoded)
        return
    half = len(requests) // 2
    yield from _encoded(server, requests[:half], ready)
    yield from _encoded(server, requests[half:], ready)
