"""The audit log: what was granted, submitted and refused to whom; one JSON object a line.

Without a file, refusals are among the messages of the program.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from logging.handlers import WatchedFileHandler
from pathlib import Path

logger = logging.getLogger("lycosa.audit")


def note(what: str, **facts: object) -> None:
    """Note what was done. facts: JSON."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(what, extra={"facts": facts})


def note_refused(by: str, request: str, peer: str, reason: str) -> None:
    """Note a refused request. by: master or downloader. request: method and path. peer: the address that asked."""
    facts = {"by": by, "request": request, "peer": peer, "reason": reason}
    logger.info("%s: %s from %s: %s", by, request, peer, reason, extra={"what": "refused", "facts": facts})


class _Lines(logging.Formatter):
    """Writes JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        what = getattr(record, "what", record.msg)
        return json.dumps({"at": record.created, "what": what, **getattr(record, "facts", {})})


@contextlib.contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """Append to a file, which is opened again once it was renamed. `None`: to none. Raises OSError."""
    if path is None:
        yield
        return
    handler = WatchedFileHandler(path, encoding="utf-8")
    handler.setFormatter(_Lines())
    before = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.level, logger.propagate = before
