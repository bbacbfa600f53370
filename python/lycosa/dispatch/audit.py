"""The audit log: what was granted, submitted and refused to whom; one JSON object a line.

Without a file, refusals are among the messages of the program.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from logging.handlers import WatchedFileHandler
from pathlib import Path

from lycosa.logs import handled

logger = logging.getLogger("lycosa.audit")


def note(what: str, **facts: object) -> None:
    """Note what was done. facts: JSON."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(what, extra={"facts": facts})


def note_refused(by: str, request: str, peer: str, reason: str) -> None:
    """Note a refused request. by: master or downloader. request: method and path. peer: the address that asked."""
    facts = {"by": by, "request": request, "peer": peer, "reason": reason}
    logger.info("%s: %s from %s: %s", by, request, peer, reason, extra={"what": "refused", "facts": facts})


class _File(WatchedFileHandler):
    """Writes to the file; one that cannot be written is told once, and disturbs nobody."""

    _is_told = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; the file is opened again where it was moved away."""
        try:
            super().emit(record)
        except OSError as error:
            self._tell(error)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's
        """Tell of a line that was not written."""
        self._tell(sys.exception())

    def _tell(self, error: BaseException | None) -> None:
        """Tell once."""
        if not self._is_told:
            self._is_told = True
            logging.getLogger("lycosa").error("--audit: lines are lost: %s", error)


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
    with contextlib.closing(_File(path, encoding="utf-8")) as handler:
        handler.setFormatter(_Lines())
        with handled(logger, handler, logging.DEBUG):
            yield
