"""Decides whether an output can be written again from the log, and which records it lacks."""

from __future__ import annotations

import logging
from pathlib import Path

from lycosa._core import SEGMENT_HEADER_BYTES
from lycosa.errors import SettingError

logger = logging.getLogger("lycosa")


def is_whole(first: int) -> bool:
    """Return whether a log with its oldest record at ``first`` is complete from the crawl's beginning."""
    return first <= SEGMENT_HEADER_BYTES


def check_restart(output: Path | str, first: int | None, why: str) -> None:
    """Log that an output is written again; raises SettingError if that would lose records.

    first: position of the log's oldest record; `None` if the output is lost already.
    """
    if first is not None and not is_whole(first):
        raise SettingError("output", output, f"another output: {why}, and the log has only its newest records")
    logger.warning("%s: %s: written again from the log", output, why)


def gap(output: str, position: int, first: int) -> tuple[int, int] | None:
    """Return, and log, from and to which position an output lacks records that the log does not have any more."""
    if position >= first or is_whole(first):
        return None
    text = (
        "%s: lacks the records from position %d to %d: the log has them no longer. Outputs that were there from the "
        "beginning have them; store.retain = all, set at the beginning, keeps the whole log for later outputs"
    )
    logger.warning(text, output, position, first)
    return position, first


def with_gap(known: list[list[int]], found: tuple[int, int]) -> list[list[int]]:
    """Return the gaps of an output with a new one, found at its opening, that starts where the output now ends."""
    return [*(before for before in known if before[0] < found[0]), list(found)]
