"""Why a crawl ended, and how to go on: one rule for reports, the command line and the record."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lycosa import _core
from lycosa.errors import StorageFull
from lycosa.words import counted

Reason = Literal["finished", "patience", "limit", "stopped", "suspended", "storage-full", "error"]

#: What a suspended crawl waits for in vain, by the cause.
SUSPENDED = {
    "names": "no DNS resolver gave answers",
    "connections": "no site answered",
    "captive": "every site gave the same answer, as behind a captive portal,",
}

#: Kinds of failures shown by name, at most.
SHOWN = 4


@dataclass(frozen=True, slots=True)
class End:
    """How a run of a crawl ended."""

    reason: Reason
    text: str  # one line for people
    resume: str | None  # the command that goes on; None where nothing is left, or the directory is temporary


def end_of(
    frontier: Mapping[str, int],
    failures: Mapping[str, int],
    *,
    max_pages: int | None,
    stopped: bool,
    suspended: Sequence[str],
    error: BaseException | None,
    directory: Path | None,
) -> End:
    """How a run ended.

    frontier: its counts. failures: URLs that failed, by kind. max_pages: the job's. stopped: whether somebody asked
    for the end. suspended: why the crawl is suspended. error: what ended the run from outside. directory: the job's;
    None for a temporary one.
    """
    reason, text, option = _reason(frontier, failures, max_pages, stopped, suspended, error)
    command = None if directory is None or option is None else f"lycosa crawl --dir {shlex.quote(str(directory))}"
    return End(reason, text, command and command + (option or ""))


def _reason(
    frontier: Mapping[str, int],
    failures: Mapping[str, int],
    max_pages: int | None,
    stopped: bool,
    suspended: Sequence[str],
    error: BaseException | None,
) -> tuple[Reason, str, str | None]:
    """The reason, its line, and the option that goes on; None where nothing is left."""
    left = frontier["waiting"] + frontier["leased"]
    waiting = f"{counted(left, 'URL')} {'waits' if left == 1 else 'wait'}"
    if isinstance(error, StorageFull):
        return "storage-full", f"no space is left on the disk; {waiting}", ""
    if isinstance(error, Exception):
        return "error", f"ended by an error ({error}); {waiting}", ""
    if left and (stopped or error is not None):
        return "stopped", f"stopped; {waiting}", ""
    if left and suspended:
        what = " and ".join(SUSPENDED[cause] for cause in suspended)
        return "suspended", f"ended since {what} for longer than frontier.longest_suspension; {waiting}", ""
    if left:
        return "limit", f"max_pages = {max_pages} is reached; {waiting}", " --max-pages none"
    passing = {kind: count for kind, count in failures.items() if count and is_transient(kind)}
    if passing and frontier["failed"]:
        worst = sorted(passing.items(), key=lambda item: -item[1])
        kinds = ", ".join(f"{kind}: {count:,}" for kind, count in worst[:SHOWN])
        text = f"finished, but {counted(sum(passing.values()), 'URL')} failed for reasons that may pass ({kinds})"
        return "patience", text, " --retry-failed"
    return "finished", "finished: nothing is left to fetch", None


def is_transient(kind: str) -> bool:
    """Whether a failure of this kind may pass."""
    return kind in _core.FAILURE_KINDS and _core.FAILURE_KINDS[kind]["transient"]
