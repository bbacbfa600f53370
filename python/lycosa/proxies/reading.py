"""Reads one source of proxies on a thread of its own: what a stranger or a function returns may never come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address

from lycosa.proxies.proxy import MOST, Proxy, parse_lines
from lycosa.proxies.sources import Source
from lycosa.proxies.told import TOLD, first_of

#: Seconds after which a source that is still being read, or whose names are still being resolved, is told. From then
#: on nobody waits for it.
LATE = 35.0

#: Resolves names: the addresses of each; none of those that have none, or not in time.
Resolve = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]


class Reading:
    """One reading of a source, which begins at once, and of the addresses of what it names."""

    def __init__(self, source: Source, resolve: Resolve, permits_port: Callable[[int], bool]) -> None:
        """source: what is read. resolve: of proxies with names. permits_port: whether a proxy may have a port."""
        #: All that it names, those of them that may be used, and the addresses of their names.
        self.named: Sequence[Proxy] = []
        self.proxies: Sequence[Proxy] = []
        self.addresses: Mapping[str, Sequence[str]] = {}
        #: What is to be told, and why it could not be read.
        self.messages: list[str] = []
        self.error = ""
        self._source, self._resolve, self._permits_port = source, resolve, permits_port
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="lycosa-proxy-source", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Read, and resolve."""
        try:
            self._read()
        except Exception as error:  # a function of the user's may raise anything
            self.error = str(error) or type(error).__name__

    def _read(self) -> None:
        """Read the lines, and resolve the names of no more proxies than there may be."""
        parsed = parse_lines(self._source())
        self.messages += first_of([str(line) for line in parsed.bad], parsed.bad_count, "lines name no proxy")
        if parsed.is_cut:
            self.messages.append(f"it names more than {MOST:,} proxies; the others are left out")
        if not parsed.proxies:
            # Rather a page that says so than a list that is meant to be empty.
            raise ValueError("it names no proxy; those that it named before stay")
        self.named = parsed.proxies
        self.proxies = [proxy for proxy in self.named if self._permits_port(proxy.port)]
        blocked = [proxy.name for proxy in self.named if not self._permits_port(proxy.port)]
        told = [f"{name}: its port is blocked, unless allow_ports names it" for name in blocked[:TOLD]]
        self.messages += first_of(told, len(blocked), "proxies have blocked ports")
        names = sorted({proxy.host for proxy in self.proxies if not is_address(proxy.host)})
        if names:
            self._began = time.monotonic()
            self.addresses = self._resolve(names)

    def is_done(self) -> bool:
        """Return whether it is complete."""
        return not self._thread.is_alive()

    def is_late(self) -> bool:
        """Return whether it takes longer than it may."""
        return time.monotonic() >= self._began + LATE


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
