"""When an output is written again from the log, and whether the log still has what belongs in it."""

from __future__ import annotations

import logging
from pathlib import Path

from lycosa.errors import SettingError
from lycosa.store.directory import SEGMENT_HEADER_BYTES

logger = logging.getLogger("lycosa")


def is_whole(first: int) -> bool:
    """Whether a log whose oldest record stands at ``first`` has everything from the crawl's beginning."""
    return first <= SEGMENT_HEADER_BYTES


def check_restart(output: Path, first: int | None, why: str) -> None:
    """Tell that an output is written again; refuse it where that would lose records.

    first: position of the log's oldest record; None where the output is lost already, so that nothing is lost by it.
    """
    if first is not None and not is_whole(first):
        raise SettingError("output", output, f"another output: {why}, and the log has only its newest records")
    logger.warning("%s: %s: written again from the log", output, why)


def tell_gap(output: Path, position: int, first: int) -> None:
    """Tell that records after an output's position are no longer in the log, if that is so."""
    if position < first and not is_whole(first):
        logger.warning(
            "%s: the log begins at %d: records before it, from %d on, are missing", output, first, position
        )
