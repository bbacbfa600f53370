"""Handlers of log messages that are there for a while."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def handled(logger: logging.Logger, handler: logging.Handler, level: int) -> Iterator[None]:
    """Have messages of a logger, from a level on, go to a handler alone while the block runs."""
    before, propagated = logger.level, logger.propagate
    logger.setLevel(level)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagated
