"""What Lycosa tells while it works, as lines on stderr: ``lycosa: …``."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

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
