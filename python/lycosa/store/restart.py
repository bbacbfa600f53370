"""When an output is written again from the log, and whether the log still has what belongs in it."""

from __future__ import annotations

import logging
from pathlib import Path

from lycosa._core import SEGMENT_HEADER_BYTES
from lycosa.errors import SettingError

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


def gap(output: str, position: int, first: int) -> tuple[int, int] | None:
    """The positions from and to which an output lacks records, since the log lost them; that is told as well."""
    if position >= first or is_whole(first):
        return None
    text = (
        "%s: lacks the records from position %d to %d: the log has them no longer. Outputs that were there from the "
        "beginning have them; store.retain = all, set at the beginning, keeps the whole log for later outputs"
    )
    logger.warning(text, output, position, first)
    return position, first


def with_gap(known: list[list[int]], found: tuple[int, int]) -> list[list[int]]:
    """The gaps of an output, with one that was found when it was opened: it begins where the output now ends."""
    return [*(before for before in known if before[0] < found[0]), list(found)]
