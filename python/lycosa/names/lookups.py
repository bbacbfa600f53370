"""Resolves one name at a time, from threads and event loops, for the adapters of other libraries."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import chain, zip_longest
from types import TracebackType
from typing import Self, Unpack

from lycosa import _core
from lycosa._core import Resolution
from lycosa.errors import BadName, SettingError
from lycosa.names.resolver import TAKE_ANSWERS, Options, Resolver

#: Seconds that the thread waits for answers before it checks whether it should end.
WAIT = 1.0

#: Maximum of ``ndots`` (resolv.conf(5)).
MAX_NDOTS = 15

#: The error codes of the system's resolver for each status.
ERRORS = {
    "nxdomain": socket.EAI_NONAME,
    "nodata": socket.EAI_NONAME,
    "bad-name": socket.EAI_NONAME,
    "servfail": socket.EAI_AGAIN,
    "timeout": socket.EAI_AGAIN,
}


class Lookups:
    """A resolver with one future per question. May be used from any thread and any event loop.

    Guarantees: each future is completed once, with an answer or, when the lookups are closed, cancelled; a cancelled
    one costs nothing more; no method blocks but `wait`, and `close` for a moment.
    """

    def __init__(
        self,
        *,
        filter_private: bool = False,
        allow_addresses: Sequence[str] = (),
        search: Sequence[str] = (),
        ndots: int = 1,
        no_tld_query: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """Start; the options are those of `lycosa.names.Resolver`, with IPv4 and IPv6 looked up by default.

        ``search``: domains that are appended to names which do not exist as given, one after the other, at most 32
        (resolv.conf(5)). ``ndots``: names with fewer dots are tried with the domains first, 0 to 15. A name that
        ends with a dot is only tried as given. Names in these domains are asked for even below ``.local``.
        ``no_tld_query``: a name without dots is never tried as given.
        `system_lookups` takes these from the system.

        ``filter_private``: leave out addresses that are not public (loopback, private, link-local etc.), so that
        untrusted names cannot lead to hosts of the own network; off by default.
        ``allow_addresses``: addresses and networks that are exempt. Both apply to the result of `addresses`.

        Raises what `Resolver` raises, SettingError for an invalid address or network.
        """
        if isinstance(allow_addresses, str):
            raise SettingError("allow_addresses", allow_addresses, "a list of addresses and networks")
        for network in allow_addresses:
            _core.check_network(network)
        if isinstance(search, str):
            raise SettingError("search", search, "a list of domains")
        if isinstance(ndots, bool) or not isinstance(ndots, int) or not 0 <= ndots <= MAX_NDOTS:
            raise SettingError("ndots", ndots, f"a number from 0 to {MAX_NDOTS}")
        self._search = _core.Search(list(search), ndots, no_tld_query) if search else None
        self._filters, self._allowed = filter_private, list(allow_addresses)
        options.setdefault("families", "both")
        options["own_domains"] = [*options.get("own_domains", ()), *search]
        self._process = os.getpid()
        self._resolver = Resolver(**options)
        #: Guards the following. Filled by `ask`, emptied by the thread.
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Resolution]] = {}
        #: Names to try next, if the one before does not exist.
        self._further: dict[int, list[str]] = {}
        self._queue: deque[tuple[int, str]] = deque()
        self._count = 0
        self._closed = False
        self._thread = threading.Thread(target=self._deliver, name="lycosa-lookups", daemon=True)
        self._thread.start()

    def ask(self, name: str) -> Future[Resolution]:
        """Ask; never blocks. Raises ValueError once closed, and in a process that was forked afterwards."""
        self._check_process()
        future: Future[Resolution] = Future()
        name, *further = self._names(name)
        with self._lock:
            if self._closed:
                raise ValueError("the lookups are closed")
            place, self._count = self._count, self._count + 1
            self._waiting[place] = future
            if further:
                self._further[place] = further
            # Queued names are submitted first.
            if self._queue or not self._resolver.submit([name], place):
                self._queue.append((place, name))
        return future

    def wait(self, name: str, within: float | None = None) -> Resolution:
        """Ask and block until the answer. Raises TimeoutError if none arrives ``within`` so many seconds."""
        future = self.ask(name)
        try:
            return future.result(within)
        finally:
            future.cancel()

    async def lookup(self, name: str) -> Resolution:
        """Ask and wait in an event loop. Raises socket.gaierror if closed while it waits, ValueError afterwards."""
        future = self.ask(name)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The task was not cancelled, so it must not look cancelled.
            raise socket.gaierror(socket.EAI_AGAIN, f"{name}: the lookups are closed") from None

    def addresses(self, answer: Resolution, family: int = socket.AF_UNSPEC) -> list[str]:
        """Return the permitted addresses of a family in the order to try them: families in turn, IPv4 first.

        Raises socket.gaierror if there are none, like the system's resolver.
        """
        if answer.status != "ok" and not answer.addresses:
            raise socket.gaierror(ERRORS[answer.status], f"{answer.name}: {answer.status}: {answer.detail}")
        kept = [text for text in answer.addresses if family in (socket.AF_UNSPEC, family_of(text))]
        if not kept:
            raise socket.gaierror(socket.EAI_NONAME, f"{answer.name}: no address of this family")
        permitted = [text for text in kept if self.permits(text)]
        if not permitted:
            raise refusal(answer.name, kept)
        return interleaved(permitted)

    def permits(self, address: str) -> bool:
        """Return whether ``filter_private`` and ``allow_addresses`` permit an address."""
        return not self._filters or _core.is_permitted_address(address.partition("%")[0], self._allowed)

    def check_host(self, host: str) -> None:
        """Raise socket.gaierror for an address that is not permitted: for libraries that resolve names only."""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return
        if not self.permits(host):
            raise refusal(host, [host])

    def statistics(self) -> dict[str, int]:
        """Return counters since the start, as of `lycosa.names.Resolver`."""
        return self._resolver.statistics()

    def close(self) -> None:
        """End the client and the thread; lookups in flight are cancelled. Does nothing in a forked process."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            # An empty name is answered at once, which wakes the thread; without capacity it wakes after `WAIT`.
            self._resolver.submit([""], self._count)
        self._thread.join()
        self._resolver.close()
        for future in self._waiting.values():
            future.cancel()

    def __enter__(self) -> Self:
        """Return the lookups."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        self.close()

    def _check_process(self) -> None:
        """Raise ValueError in a forked process: it has neither thread nor client, and the lock may be held."""
        if os.getpid() != self._process:
            why = f"the lookups were made in process {self._process}, before a fork: make some in each process"
            raise ValueError(why)

    def _names(self, name: str) -> list[str]:
        """Return the names to try, one after the other."""
        if self._search is None or is_address(name):
            return [name]
        try:
            return self._search.names(name) or [name]
        except (BadName, UnicodeEncodeError):
            return [name]  # the answer has the error

    def _is_last(self, answer: Resolution) -> bool:
        """Return whether an answer is final; else queue the next name. The caller has the lock."""
        further = self._further.get(answer.place)
        if further and answer.status in ("nxdomain", "nodata") and self._is_awaited(answer.place):
            self._queue.append((answer.place, further.pop(0)))
            return False
        self._further.pop(answer.place, None)
        return True

    def _is_awaited(self, place: int) -> bool:
        """Return whether the answer is still awaited. The caller has the lock."""
        future = self._waiting.get(place)
        return future is not None and not future.cancelled()

    def _submit_queue(self) -> None:
        """Submit queued names; drop those that are not awaited any more. The caller has the lock."""
        while self._queue:
            place, name = self._queue[0]
            if not self._is_awaited(place):
                self._waiting.pop(place, None)
                self._further.pop(place, None)
            elif not self._resolver.submit([name], place):
                return
            self._queue.popleft()

    def _deliver(self) -> None:
        """Complete the futures with answers until closed; the thread's body."""
        while not self._closed:
            taken = self._resolver.take(TAKE_ANSWERS, WAIT)
            with self._lock:
                answers = [answer for answer in taken if self._is_last(answer)]
                self._submit_queue()
                futures = [(self._waiting.pop(answer.place, None), answer) for answer in answers]
            for future, answer in futures:
                if future is not None and future.set_running_or_notify_cancel():
                    future.set_result(answer)


def system_lookups(
    *, filter_private: bool = False, allow_addresses: Sequence[str] = (), **options: Unpack[Options]
) -> Lookups:
    """Return lookups like the system's resolver: by ``/etc/resolv.conf``, its search domains, and ``/etc/hosts``.

    Raises what `Lookups` raises, OSError if a file cannot be read.
    """
    system = _core.resolv_conf()
    options.setdefault("hosts_file", "/etc/hosts")
    return Lookups(
        filter_private=filter_private,
        allow_addresses=allow_addresses,
        search=system["search"],
        ndots=system["ndots"],
        no_tld_query=system["no_tld_query"],
        **options,
    )


def is_address(name: str) -> bool:
    """Return whether a text is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def refusal(name: str, found: Sequence[str]) -> socket.gaierror:
    """Return the error for a name without a permitted address."""
    text = f"{name}: {', '.join(found)}: not public, and refused by filter_private; allow_addresses makes exceptions"
    return socket.gaierror(socket.EAI_FAIL, text)


def family_of(address: str) -> socket.AddressFamily:
    """Return the family of an address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def interleaved(addresses: Sequence[str]) -> list[str]:
    """Return the addresses with their families in turn, starting with the first one's (RFC 8305 section 4)."""
    first = [address for address in addresses if family_of(address) == family_of(addresses[0])]
    other = [address for address in addresses if family_of(address) != family_of(addresses[0])]
    return [address for address in chain.from_iterable(zip_longest(first, other)) if address is not None]
