"""Keeps a pool of proxies: reads its sources on a timer, has proxies checked, and tells when none works."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.proxies.check import Checker
from lycosa.proxies.pool import Pool
from lycosa.proxies.proxy import MOST
from lycosa.proxies.reading import Reading, Resolve, is_address
from lycosa.proxies.rounds import Rounds
from lycosa.proxies.sources import Source
from lycosa.proxies.told import TOLD, Teller, first_of

logger = logging.getLogger("lycosa")

#: Seconds between two looks at what is due, and for which the end waits for a look.
TICK, END = 0.1, 5.0

#: Checks at once, and readings of one source: late ones go on beside the next, but not without end.
AT_ONCE, READINGS = 200, 3


class Keeper:
    """Fills a pool, and checks its proxies, on a thread of its own until `stop`."""

    def __init__(
        self,
        pool: Pool,
        sources: Mapping[str, Source],
        resolve: Resolve,
        checker: Checker | None = None,
        refresh: float = 600.0,
        *,
        allow_ports: Sequence[int] = (),
        stopped: threading.Event | None = None,
    ) -> None:
        """sources: by what they are called in messages. checker: `None`: proxies are used unchecked.

        refresh: seconds after which the sources are read again. allow_ports: ports of proxies that are blocked
        otherwise. stopped: is set at the end, so that sources and checks end, too.
        """
        self.pool = pool
        self._sources, self._resolve, self._refresh = sources, resolve, refresh
        self._allow_ports, self._stopped = list(allow_ports), stopped or threading.Event()
        self._tell = Teller()
        self._rounds = None if checker is None else Rounds(pool, checker, self._tell)
        self._refresh_at = 0.0
        #: Of each source, those under way, the newest last.
        self._readings: dict[str, list[Reading]] = {}
        #: The proxies that each source named the last time.
        self._named: dict[str, Collection[str]] = {}
        self._thread = threading.Thread(target=self._run, name="lycosa-proxies", daemon=True)
        #: Since when no proxy works, by the wall clock.
        self.dry_since: float | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. One that waits for something foreign is not waited for."""
        self._stopped.set()
        self._thread.join(END)

    def report(self) -> dict[str, Any]:
        """Return the proxies with what is known of each, and since when none works."""
        return {"working": self.pool.working(), "dry_since": self.dry_since, "all": self.pool.report()}

    def _run(self) -> None:
        """Do what is due until the end."""
        while not self._stopped.is_set():
            try:
                self.turn()
            except Exception:
                logger.exception("proxies: this should not happen; it goes on")
            self._stopped.wait(TICK)

    def turn(self) -> None:
        """Do what is due now."""
        if time.monotonic() >= self._refresh_at:
            self._refresh_at = time.monotonic() + self._refresh
            self._read()
        self._take()
        self.check()
        self._tell_dry()

    def check(self) -> None:
        """Begin the checks that are due, and store the results of others."""
        if self._rounds is not None:
            self._rounds.turn(AT_ONCE)
            return
        for proxy in self.pool.due(AT_ONCE):
            self.pool.give_another_chance(proxy.name)

    def collect(self) -> None:
        """Read all sources and wait for them, as long as that may take."""
        self._read()
        while self._is_reading() and not self._stopped.is_set():
            self._take()
            self._stopped.wait(TICK / 10)
        self._take()

    def _read(self) -> None:
        """Begin to read the sources, all at once; those that are being read are left alone, unless they are late."""
        for name, source in self._sources.items():
            readings = self._readings.setdefault(name, [])
            if len(readings) < READINGS and all(reading.is_late() for reading in readings):
                readings.append(Reading(source, self._resolve, self._permits_port))

    def _is_reading(self) -> bool:
        """Whether a source is being read and not late."""
        return any(not reading.is_late() for readings in self._readings.values() for reading in readings)

    def _take(self) -> None:
        """Take the proxies of sources that have been read."""
        for name, readings in self._readings.items():
            done = [place for place, reading in enumerate(readings) if reading.is_done()]
            if done:
                reading = readings[done[-1]]
                del readings[: done[-1] + 1]  # older ones are out of date
                self._take_one(name, reading)
            elif readings and readings[-1].is_late():
                self._tell(f"proxies: {name}: it is still being read; its proxies come when that ends")

    def _take_one(self, name: str, reading: Reading) -> None:
        """Take the proxies of a source; if it cannot be read, that is told, and the others go on."""
        for message in reading.messages:
            self._tell(f"proxies: {name}: {message}")
        if reading.error:
            self._tell(f"proxies: {name}: {reading.error}")
            return
        self._named[name] = {proxy.name for proxy in reading.named}
        self.pool.keep(set[str]().union(*self._named.values()))  # first, so that there is room for others
        self._add(name, reading)

    def _add(self, name: str, reading: Reading) -> None:
        """Add proxies whose addresses are found."""
        lost: list[str] = []
        for proxy in reading.proxies:
            is_ready = is_address(proxy.host)
            known = reading.addresses.get(proxy.host) or self.pool.addresses(proxy.name)
            addresses = [proxy.host] if is_ready else known
            if not addresses:
                lost.append(proxy.name)
            elif not self.pool.add(proxy, addresses):
                self._tell(f"proxies: there are more than {MOST:,}; the others are left out")
                break
        told = [f"{each}: its name has no address" for each in lost[:TOLD]]
        for message in first_of(told, len(lost), "names have no address"):
            self._tell(f"proxies: {name}: {message}")

    def _permits_port(self, port: int) -> bool:
        """Whether a proxy may have a port: servers of other protocols, such as mail, listen at some."""
        try:
            _core.check_port(f"http://proxy.example:{port}/", self._allow_ports)
        except SettingError:
            return False
        return True

    def _tell_dry(self) -> None:
        """Log when no proxy works any more, and when one does again."""
        if self.pool.working():
            if self.dry_since is not None:
                logger.warning("proxies: the crawl goes on after %d s", time.time() - self.dry_since)
                self.dry_since = None
            return
        is_first = not len(self.pool) and self._is_reading()
        if self.dry_since is None and not is_first and not self.pool.is_unchecked():
            self.dry_since = time.time()
            logger.warning("proxies: none of %s works; the crawl pauses until one does", self.pool.last_failures())
