"""The exit status of ``lycosa crawl``: one rule, for the command, its help and docs/outputs.md."""

from __future__ import annotations

import signal
from typing import Any

from lycosa import _core

#: Groups of failures that leave a URL without an answer, where the site has decided nothing.
UNANSWERED = ("names", "connections", "tls")

FINISHED, FAILED, BAD, PARTIAL, NOTHING, SUSPENDED = 0, 1, 2, 3, 4, 5

#: What each means.
STATUSES = {
    FINISHED: "finished, or max_pages is reached: all that was asked for has an answer",
    FAILED: "the disk, the log or an output cannot be used, or another error; what is recorded is kept",
    BAD: "a setting is not allowed; nothing was done",
    PARTIAL: "finished, or max_pages is reached, but URLs stayed without an answer: their name, their connection or "
    "TLS failed",
    NOTHING: "finished, but nothing at all was fetched",
    SUSPENDED: "the crawl's own network or DNS failed for longer than frontier.longest_suspension; nothing was given "
    "up, and lycosa crawl --dir DIR goes on",
    128 + signal.SIGINT: "stopped by Ctrl-C; lycosa crawl --dir DIR goes on",
    128 + signal.SIGPIPE: "nobody reads standard output any more (-o -); lycosa crawl --dir DIR goes on",
    128 + signal.SIGTERM: "stopped by SIGTERM; lycosa crawl --dir DIR goes on",
}


def status_of(report: dict[str, Any], ended_by: int | None) -> int:
    """The exit status of a crawl that ended with a report; ``ended_by``: the signal that asked for it."""
    if ended_by is not None:
        return 128 + ended_by
    if report["end"] and report["end"]["reason"] == "suspended":
        return SUSPENDED
    if report["pages"] + report["redirects"] == 0:
        return NOTHING
    if not report["frontier"]["failed"]:
        return FINISHED
    kinds = _core.FAILURE_KINDS
    left = [kind for kind in report["failures"] if kind in kinds and kinds[kind]["group"] in UNANSWERED]
    return PARTIAL if left else FINISHED
