"""Prints log messages as lines on stderr: ``lycosa: …``."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from lycosa.logs import handled

T = TypeVar("T")

#: Seconds between two progress lines of a long operation.
TELL = 2.0


class _Lines(logging.Handler):
    """Prints one line per message, to the current stderr: a live display may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print."""
        print(f"lycosa: {record.getMessage()}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def told(*, quiet: bool = False) -> Iterator[None]:
    """Show the messages of the logger ``lycosa``; when quiet, only warnings and errors."""
    with handled(logging.getLogger("lycosa"), _Lines(), logging.WARNING if quiet else logging.INFO):
        yield


def watched(what: str, call: Callable[[], T], look: Callable[[], str]) -> T:
    """Make a call that may take long; print its progress, as ``look`` returns it, every two seconds."""
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
    """Return whether a thread still runs after `TELL` seconds."""
    thread.join(TELL)
    return thread.is_alive()
