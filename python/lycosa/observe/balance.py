"""Whether a crawl's counters add up: two stages that count by themselves have to agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: States of URLs in the frontier: those that have ended, and the others.
ENDED, OPEN = ("done", "failed", "refused"), ("waiting", "leased")


def balance(frontier: Mapping[str, int], summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the sums of both stages.

    ``admitted`` = ``open`` + ``ended``, by the frontier, and ``recorded`` by the log: URLs that ended with a page, a
    redirect or a failure. ``difference``: recorded, not ended; while a crawl runs, outcomes on their way.

    >>> balance({"waiting": 2, "leased": 0, "done": 3, "failed": 1, "refused": 0},
    ...         {"pages": 2, "redirects": 1, "failures": {"timeout": 1}})
    {'admitted': 6, 'open': 2, 'ended': 4, 'recorded': 4, 'difference': 0}
    """
    ended, left = (sum(frontier[state] for state in states) for states in (ENDED, OPEN))
    recorded = summary["pages"] + summary["redirects"] + sum(summary["failures"].values())
    return {
        "admitted": ended + left,
        "open": left,
        "ended": ended,
        "recorded": recorded,
        "difference": recorded - ended,
    }
