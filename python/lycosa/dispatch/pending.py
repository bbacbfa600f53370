"""The rules of a client: which of its requests wait, are granted, or are settled. No I/O; times are given.

Guarantee: each request is settled once, whatever is lost, doubled or reordered: a result counts only if it is one of
the grant by which its request is being downloaded now. One that is not wanted any more is never asked for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

#: A download server, and its process.
Place = tuple[str, str]


@dataclass(slots=True)
class Granted(Generic[T]):
    """Requests of a grant; `None` for each that is settled or forgotten."""

    place: Place
    requests: list[T | None]
    left: int
    mailbox: int | None = None  # in which the results will be; None: its submission is under way; 0: one not known


@dataclass(slots=True)
class Downloading:
    """What of one place is told at each batch of results, without a walk over the client's grants."""

    left: int = 0  # requests without a result
    mailbox: int | None = None  # in which the results of all accepted grants are; None: it is to be looked at


class Pending(Generic[T]):
    """The requests of a client until their results are there."""

    def __init__(self, is_wanted: Callable[[T], bool] = lambda request: True) -> None:
        """is_wanted: whether a request is; one that is not leaves by ``forget``, or as soon as it comes back."""
        self._is_wanted = is_wanted
        self._waiting: deque[T] = deque()
        self._parked: list[tuple[float, list[T]]] = []
        self._grants: dict[int, Granted[T]] = {}  # by serial number
        self._downloading: dict[Place, Downloading] = {}
        self.settled = 0
        self.again = 0  # requests that were granted more than once
        self.unwanted = 0  # results that came twice, or too late

    def __len__(self) -> int:
        """Return the number of requests without a result; those that the caller has taken are not among them."""
        parked = sum(len(requests) for _, requests in self._parked)
        return len(self._waiting) + parked + self.under_way()

    def under_way(self) -> int:
        """Return the number of requests that are granted and have no result."""
        return sum(one.left for one in self._downloading.values())

    def add(self, requests: Iterable[T]) -> None:
        """Add requests."""
        self._waiting.extend(requests)

    def waiting(self) -> int:
        """Return the number of requests that wait for a grant."""
        return len(self._waiting)

    def park(self, requests: Iterable[T], until: float) -> None:
        """Put requests back that are not to be asked for before a time."""
        parked = self._wanted(requests)
        if parked:
            self._parked.append((until, parked))

    def due(self, now: float) -> float | None:
        """Have parked requests wait again whose time has come; returns the next such time, `None` without one."""
        ready = [requests for until, requests in self._parked if until <= now]
        self._parked = [parked for parked in self._parked if parked[0] > now]
        for requests in ready:
            self.put_back(requests)
        return min((until for until, _ in self._parked), default=None)

    def take(self, most: int) -> list[T]:
        """Return requests to ask for; each comes back by ``granted``, ``put_back`` or ``park``."""
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def put_back(self, requests: Iterable[T]) -> None:
        """Put requests back that got no grant: they are the next."""
        self._waiting.extendleft(reversed(self._wanted(requests)))

    def forget(self) -> None:
        """Drop requests that are not wanted any more, wherever they are; nothing is settled by a result of theirs.

        Those that the caller has taken are dropped as they come back. Download servers are not told: what they have
        accepted they download.
        """
        self._waiting = deque(self._wanted(self._waiting))
        self._parked = [(until, kept) for until, requests in self._parked if (kept := self._wanted(requests))]
        for serial, granted in list(self._grants.items()):
            self._note(serial, granted.place, granted.requests, granted.mailbox)

    def _wanted(self, requests: Iterable[T]) -> list[T]:
        """Return those of requests that are wanted."""
        return [request for request in requests if self._is_wanted(request)]

    def _note(self, serial: int, place: Place, requests: Iterable[T | None], mailbox: int | None = None) -> None:
        """Note what of a grant has no result and is wanted; a grant of which nothing is left leaves."""
        kept = [request if request is not None and self._is_wanted(request) else None for request in requests]
        left = len(kept) - kept.count(None)
        self._remove(serial)
        if left:
            self._grants[serial] = Granted(place, kept, left, mailbox)
            self._downloading.setdefault(place, Downloading()).left += left

    def _remove(self, serial: int) -> Granted[T] | None:
        """Remove a grant, if it is there, and return it."""
        granted = self._grants.pop(serial, None)
        if granted is not None:
            downloading = self._downloading[granted.place]
            downloading.left -= granted.left
            if not downloading.left:
                del self._downloading[granted.place]
        return granted

    def granted(self, serial: int, place: Place, requests: list[T]) -> None:
        """Note requests that are submitted with a grant."""
        self._note(serial, place, requests)

    def accepted(self, serial: int, mailbox: int) -> None:
        """Note that a download server has accepted a grant, and in which mailbox it puts results; 0: not known."""
        granted = self._grants.get(serial)
        if granted is not None:
            granted.mailbox = mailbox
            downloading = self._downloading[granted.place]
            if downloading.mailbox != mailbox:
                downloading.mailbox = None

    def only(self, place: Place, mailbox: int) -> int:
        """Have requests wait again whose results were in an earlier mailbox of a server; returns how many."""
        downloading = self._downloading.get(place)
        if downloading is None or downloading.mailbox == mailbox:
            return 0
        downloading.mailbox = mailbox
        gone = []
        for serial, granted in self._accepted(place):
            granted.mailbox = granted.mailbox or mailbox
            if granted.mailbox != mailbox:
                gone.append(serial)
        return sum(self.failed(serial) for serial in gone)

    def _accepted(self, place: Place) -> list[tuple[int, Granted[T]]]:
        """Return the grants that a download server has accepted: what becomes of others their submissions tell."""
        of_place = [(serial, one) for serial, one in self._grants.items() if one.place == place]
        return [(serial, one) for serial, one in of_place if one.mailbox is not None]

    def failed(self, serial: int) -> int:
        """Have requests wait again whose grant has come to nothing; returns how many."""
        granted = self._remove(serial)
        if granted is None:
            return 0
        left = self._wanted(request for request in granted.requests if request is not None)
        self.put_back(left)
        self.again += len(left)
        return len(left)

    def live(self, processes: Mapping[str, str]) -> int:
        """Have requests wait again whose download server is gone; returns how many. processes: of live servers."""
        gone = [serial for serial, one in self._grants.items() if processes.get(one.place[0]) != one.place[1]]
        return sum(self.failed(serial) for serial in gone)

    def lost(self, place: Place) -> int:
        """Have requests wait again that a download server had accepted and has forgotten; returns how many."""
        return sum(self.failed(serial) for serial, _ in self._accepted(place))

    def settle(self, serial: int, index: int) -> T | None:
        """Return the request of a result, which is settled now; `None` if the result is unwanted."""
        granted = self._grants.get(serial)
        request = granted.requests[index] if granted is not None and 0 <= index < len(granted.requests) else None
        if granted is None or request is None:
            self.unwanted += 1
            return None
        granted.requests[index] = None
        granted.left -= 1
        self._downloading[granted.place].left -= 1
        if granted.left == 0:
            self._remove(serial)
        self.settled += 1
        return request

    def reopen(self, requests: Iterable[T]) -> None:
        """Have requests wait again that were settled without a result."""
        reopened = list(requests)
        self.settled -= len(reopened)
        self.again += len(reopened)
        self.put_back(reopened)

    def places(self) -> dict[Place, int]:
        """Return where requests are being downloaded, and how many."""
        return {place: one.left for place, one in self._downloading.items()}
