"""Handlers and forms of log messages."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

#: What messages may be about, beside their text: keys of ``extra=``, and of lines in JSON.
ABOUT = ("job", "host", "url", "what", "facts")


class JsonLines(logging.Formatter):
    """A message as an object of JSON: time (RFC 3339), level, logger, message, and what it is about."""

    def __init__(self, job: str | None = None) -> None:
        """job: the name of the job that all messages are about, if there is one."""
        super().__init__()
        self._job = job

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._job is not None:
            line["job"] = self._job
        for key in ABOUT:
            if (value := getattr(record, key, None)) is not None:
                line[key] = value
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


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
