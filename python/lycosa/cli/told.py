"""Prints log messages as lines on stderr: ``lycosa: …``."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from lycosa.logs import JsonLines, handled

T = TypeVar("T")

#: Seconds between two progress lines of a long operation.
TELL = 2.0


class _Lines(logging.Handler):
    """Prints one line per message, to the current stderr: a live display may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print."""
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


#: Forms of messages, for people and for programs.
CONSOLE, JSON = "console", "json"


def add_log_argument(add: Callable[..., object]) -> None:
    """Add the argument that chooses the form of messages."""
    add(
        "--log",
        choices=(CONSOLE, JSON),
        default=CONSOLE,
        help="form of messages on standard error: console, lines for people; json, an object a line with time, "
        "level, message, and job, host and URL where it is about them (default: console)",
    )


@contextlib.contextmanager
def told(*, quiet: bool = False, form: str = CONSOLE, job: str | None = None) -> Iterator[None]:
    """Show the messages of the logger ``lycosa``; when quiet, only warnings and errors.

    form: of the messages. job: the name of the job that all of them are about.
    """
    handler = _Lines()
    handler.setFormatter(JsonLines(job) if form == JSON else logging.Formatter("lycosa: %(message)s"))
    with handled(logging.getLogger("lycosa"), handler, logging.WARNING if quiet else logging.INFO):
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
