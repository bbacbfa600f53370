"""Scrapy: ``TWISTED_DNS_RESOLVER = "lycosa.names.adapters.scrapy.ScrapyResolver"``, formerly ``DNS_RESOLVER``.

``LYCOSA_RESOLVER`` in the settings has the options of `lycosa.names.lookups.Lookups` as a dictionary.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, Self

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IHostResolution
from zope.interface import implementer

from lycosa._core import Resolution
from lycosa.names.lookups import Lookups

logger = logging.getLogger("lycosa")

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@implementer(IHostnameResolver)
class ScrapyResolver:
    """The reactor's name resolver, for Scrapy and everything else that runs on the reactor."""

    def __init__(self, reactor: Any, lookups: Lookups) -> None:
        """Use the reactor and the lookups, which are closed with it."""
        self._reactor, self._lookups = reactor, lookups

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        """Create the resolver; called by Scrapy."""
        return cls(reactor, Lookups(**crawler.settings.getdict("LYCOSA_RESOLVER")))

    def install_on_reactor(self) -> None:
        """Install it on the reactor; called by Scrapy."""
        self._reactor.installNameResolver(self)
        self._reactor.addSystemEventTrigger("after", "shutdown", self._lookups.close)

    def resolveHostName(
        self,
        resolutionReceiver: Any,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type] | None = None,
        transportSemantics: Literal["TCP", "UDP"] = "TCP",
    ) -> _Resolution:
        """Resolve for Twisted: the receiver gets addresses on the reactor's thread; none if the lookup fails."""
        future = self._lookups.ask(hostName)
        resolution = _Resolution(hostName, future)
        resolutionReceiver.resolutionBegan(resolution)

        def tell(answer: Resolution) -> None:
            if resolution.cancelled:
                return
            for text in self._permitted(answer):
                make = IPv6Address if ":" in text else IPv4Address
                if addressTypes is None or make in addressTypes:
                    resolutionReceiver.addressResolved(make(transportSemantics, text, portNumber))
            resolutionReceiver.resolutionComplete()

        def hand_over(done: Future[Resolution]) -> None:
            if not done.cancelled():
                self._reactor.callFromThread(tell, done.result())

        future.add_done_callback(hand_over)
        return resolution

    def _permitted(self, answer: Resolution) -> list[str]:
        """Return the permitted addresses; logs why there are none, since Twisted cannot pass that on."""
        if answer.status != "ok":
            return []
        try:
            return self._lookups.addresses(answer)
        except socket.gaierror as error:
            logger.warning("%s", error.strerror)
            return []


@implementer(IHostResolution)
class _Resolution:
    """A pending lookup, for Twisted."""

    def __init__(self, name: str, future: Future[Resolution]) -> None:
        """Store the name and its future."""
        self.name, self._future = name, future
        self.cancelled = False

    def cancel(self) -> None:
        """Cancel the lookup."""
        self.cancelled = True
        self._future.cancel()
