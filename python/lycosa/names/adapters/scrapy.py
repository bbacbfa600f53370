"""Scrapy: ``TWISTED_DNS_RESOLVER = "lycosa.names.adapters.scrapy.ScrapyResolver"``, once called ``DNS_RESOLVER``.

``LYCOSA_RESOLVER`` in the settings holds the options of `lycosa.names.lookups.Lookups` as a dictionary.
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
    """The reactor's resolver of names, for Scrapy and everything else that runs on the reactor."""

    def __init__(self, reactor: Any, lookups: Lookups) -> None:
        """Take the reactor and the lookups, which end with it."""
        self._reactor, self._lookups = reactor, lookups

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        """What Scrapy calls."""
        return cls(reactor, Lookups(**crawler.settings.getdict("LYCOSA_RESOLVER")))

    def install_on_reactor(self) -> None:
        """What Scrapy calls next."""
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
        """Resolve for Twisted: the receiver is told of addresses on the reactor's thread; none: not resolved."""
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
        """The addresses that may be spoken to; why there are none is logged, since Twisted has no place for it."""
        if answer.status != "ok":
            return []
        try:
            return self._lookups.addresses(answer)
        except socket.gaierror as error:
            logger.warning("%s", error.strerror)
            return []


@implementer(IHostResolution)
class _Resolution:
    """A name under way, as Twisted sees it."""

    def __init__(self, name: str, future: Future[Resolution]) -> None:
        """Take the name and its question."""
        self.name, self._future = name, future
        self.cancelled = False

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        self.cancelled = True
        self._future.cancel()
