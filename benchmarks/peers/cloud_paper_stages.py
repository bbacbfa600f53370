"""Stages of a crawl with one published factor taken back: other dedup, no DNS optimiser.

Each goes into the crawl by its public extension point, ``stages=`` (docs/extending.md); blocking downloads
are in ``cloud_paper_blocking.py``.
"""

from __future__ import annotations

import queue
import random
import socket
import struct
import threading
import time
from typing import Protocol

from lycosa import Outcomes, Request, Requests, Response, Responses
from lycosa.stages import Fetch, Parse

#: Rules of the system's resolver, resolv.conf(5): seconds of a try, tries of a name.
TRY, TRIES = 5.0, 2

#: RFC 1035 section 4.1.1: the name does not exist.
NXDOMAIN = 3


class Known(Protocol):
    """A structure of known URLs."""

    def __contains__(self, url: str, /) -> bool:
        """Return whether the URL is known."""

    def add(self, url: str, /) -> None:
        """Add the URL."""


class Dedup:
    """The embedded parse, then a structure that decides which links are new: the frontier gets no others.

    ``seconds``: CPU that the structure itself has taken; ``links``: the links that it has decided about.
    """

    def __init__(self, parse: Parse, known: Known | None) -> None:
        """known: `None`: all links pass, so that only the way through Python costs."""
        self._parse, self._known = parse, known
        self.links, self.seconds = 0, 0.0

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch, and drop the links that are known."""
        outcomes = self._parse.parse(responses)
        if not len(outcomes):
            return outcomes
        pages = [outcome.links for outcome in outcomes]
        self.links += sum(map(len, pages))
        if self._known is not None:
            begin = time.thread_time()
            pages = [new(links, self._known) for links in pages]
            self.seconds += time.thread_time() - begin
        return outcomes.replace("links", pages)


def new(links: list[str], known: Known) -> list[str]:
    """Return the links that were unknown, and add them."""
    fresh = []
    for link in links:
        if link not in known:
            known.add(link)
            fresh.append(link)
    return fresh


def resolve(name: str, server: tuple[str, int]) -> str | None:
    """Ask a DNS server for a name's address and wait, as getaddrinfo does: no cache, a socket for each question.

    Returns a kind of failure (docs/errors.md), or `None`: it has an address. Which one is not read: requests go to
    the address that the frontier has vetted.
    """
    number = random.getrandbits(16)
    labels = b"".join(bytes([len(label)]) + label for label in name.encode("ascii").split(b"."))
    question = struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", 1, 1)
    for _ in range(TRIES):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.settimeout(TRY)
            own.connect(server)
            own.send(question)
            try:
                reply = own.recv(4096)
                while reply[:2] != question[:2]:
                    reply = own.recv(4096)
            except TimeoutError:
                continue
        code, answers = reply[3] & 15, int.from_bytes(reply[6:8])
        if code:
            return "name-not-found" if code == NXDOMAIN else "name-server-failure"
        return None if answers else "name-no-data"
    return "name-timeout"


class ResolvingFetch:
    """The embedded fetch, in whose slots each request first resolves its host's name, on a thread for each slot."""

    #: Responses of the embedded fetch that parse had no memory for come again.
    takes_back = True

    def __init__(self, fetch: Fetch, slots: int, server: tuple[str, int]) -> None:
        """slots: those of the embedded fetch. server: the DNS server that is asked."""
        self._fetch, self._slots, self._server = fetch, slots, server
        self._lock = threading.Lock()  # of the number: the loop and the threads count
        self._resolving = 0
        self._waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._failed: list[Response] = []  # filled by the threads, emptied by the loop
        for _ in range(slots):
            threading.Thread(target=self._work, daemon=True).start()

    def free(self) -> int:
        """Return the number of slots in which no name is resolved and nothing is fetched."""
        return max(self._slots - self.in_flight(), 0)

    def in_flight(self) -> int:
        """Return the number of requests that have no response."""
        with self._lock:
            return self._resolving + self._fetch.in_flight()

    def submit(self, requests: Requests) -> None:
        """Start requests by resolving their names."""
        with self._lock:
            self._resolving += len(requests)
        for request in requests:
            self._waiting.put(request)

    def _work(self) -> None:
        """Resolve names, and hand their requests on; those whose names fail count until they are taken."""
        while True:
            request = self._waiting.get()
            failure = resolve(request.host, self._server)
            if failure is not None:
                self._failed.append(request.fail(failure))
                continue
            with self._lock:
                self._fetch.submit(Requests([request]))
                self._resolving -= 1

    def completed(self, max: int, within: float) -> Responses:
        """Return requests whose names have failed, if there are some, otherwise complete responses."""
        failed = self._failed[:max]
        if not failed:
            return self._fetch.completed(max, within)
        del self._failed[: len(failed)]
        with self._lock:
            self._resolving -= len(failed)
        return Responses(failed)

    def cancel(self) -> None:
        """End the embedded fetch; threads end with the process."""
        self._fetch.cancel()
