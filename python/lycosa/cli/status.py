"""The exit statuses of ``lycosa crawl`` with their meanings, for the command, its help and docs/outputs.md."""

from __future__ import annotations

import signal
from typing import Any

from lycosa.end import BAD, FAILED, FINISHED, NOTHING, PARTIAL, SUSPENDED

#: Their meanings; `lycosa.end` chooses one if no signal ended the crawl.
STATUSES = {
    FINISHED: "finished, or max_pages is reached, and no name, connection or TLS failed; URLs may have failed "
    "otherwise, such as by a body that is too large",
    FAILED: "the disk, the log or an output cannot be used, or another error; records are kept",
    BAD: "a setting is not allowed; nothing was done",
    PARTIAL: "finished, or max_pages is reached, but URLs stayed without an answer: their name, their connection or "
    "TLS failed; --retry-failed opens them again",
    NOTHING: "finished, but nothing at all was fetched",
    SUSPENDED: "the crawl's own network or DNS failed for longer than frontier.longest_suspension; nothing was given "
    "up, and lycosa crawl --dir DIR resumes it",
    128 + signal.SIGINT: "stopped by Ctrl-C; lycosa crawl --dir DIR resumes it",
    128 + signal.SIGPIPE: "the reader of standard output closed it (-o -); lycosa crawl --dir DIR resumes it",
    128 + signal.SIGTERM: "stopped by SIGTERM; lycosa crawl --dir DIR resumes it",
}


def status_of(report: dict[str, Any], ended_by: int | None) -> int:
    """Return the exit status of a crawl that ended with a report; ``ended_by``: the signal that ended it."""
    if ended_by is not None:
        return 128 + ended_by
    status: int | None = report["end"]["status"]
    return FINISHED if status is None else status


def status_text(report: dict[str, Any], ended_by: int | None) -> str:
    """Return the exit status with its meaning, in one line."""
    if ended_by is not None:
        return f"exit status {128 + ended_by}: {STATUSES[128 + ended_by]}"
    return str(report["end"]["status_text"])
