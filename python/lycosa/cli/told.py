"""What Lycosa tells while it works, as lines on stderr: ``lycosa: …``."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

#: Seconds between two lines about something that takes long.
TELL = 2.0


class _Lines(logging.Handler):
    """One line a message, on whatever stderr is now: a live display may have taken it over."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print."""
        print(f"lycosa: {record.getMessage()}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def told(*, quiet: bool = False) -> Iterator[None]:
    """Show what the logger ``lycosa`` is told; when quiet, only what needs somebody's attention."""
    logger, handler = logging.getLogger("lycosa"), _Lines()
    before = logger.level, logger.propagate
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def watched(what: str, call: Callable[[], T], look: Callable[[], str]) -> T:
    """Make a call that may take long; every two seconds tell how far it is, as ``look`` says it."""
    results: list[T] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.append(call())
        except Exception as error:
            errors.append(error)

    # A daemon, so that Ctrl-C does not have to wait for it.
    thread = threading.Thread(target=work, name="lycosa-watched", daemon=True)
    thread.start()
    while _runs(thread):
        print(f"lycosa: {what}: {look()}", file=sys.stderr, flush=True)
    if errors:
        raise errors[0]
    return results[0]


def _runs(thread: threading.Thread) -> bool:
    """Whether a thread still runs after a while."""
    thread.join(TELL)
    return thread.is_alive()
