"""The watchdog: tells what is stuck, again each time that it has lasted twice as long, and that it moves again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from lycosa.observe.stuck import Stuck

logger = logging.getLogger("lycosa")

#: Seconds between two looks.
PERIOD = 1.0


class Watchdog:
    """Looks again and again, on a thread of its own, from ``start`` to ``stop``."""

    def __init__(self, look: Callable[[], list[Stuck]]) -> None:
        """look: returns what is stuck now."""
        self._look, self._ended = look, threading.Event()
        self._told: dict[tuple[str, str | None], float] = {}  # how long it had lasted when it was told last
        self._thread = threading.Thread(target=self._watch, name="lycosa-watchdog", daemon=True)
        #: What is stuck now, for other threads.
        self.stuck: list[Stuck] = []

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        """Look once, and tell what has changed."""
        found = {(one.what, one.url): one for one in self._look()}
        for key, one in found.items():
            if one.seconds >= 2 * self._told.get(key, 0.0):
                self._told[key] = one.seconds
                logger.warning("%s", one, extra={"host": one.host, "url": one.url, "what": "stuck"})
        for key in [key for key in self._told if key not in found]:
            del self._told[key]
            logger.info("%s moves again", key[0] if key[1] is None else f"{key[0]} {key[1]}")
        self.stuck = list(found.values())

    def _watch(self) -> None:
        """The thread's body."""
        while not self._ended.wait(PERIOD):
            try:
                self.look()
            except Exception:
                logger.exception("the watchdog could not look; it looks again")
