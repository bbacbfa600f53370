"""Why a crawl ended, and how to resume it: one rule for reports, the command line and the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from lycosa import _core
from lycosa.errors import StorageFull
from lycosa.kinds import FORBIDDEN
from lycosa.words import by_count, counted

Reason = Literal["finished", "patience", "limit", "stopped", "suspended", "storage-full", "error"]

#: Exit statuses of `lycosa crawl`; `lycosa.cli.status` documents them, and has those of signals.
FINISHED, FAILED, BAD, PARTIAL, NOTHING, SUSPENDED = 0, 1, 2, 3, 4, 5

#: Groups of failures that leave a URL without an answer of its site.
UNANSWERED = ("names", "connections", "tls")

#: Why a suspended crawl ended, by the cause of the suspension.
CAUSES = {
    "names": "no DNS resolver gave answers",
    "connections": "no site answered",
    "captive": "every site gave the same answer, as behind a captive portal,",
}

#: Maximum number of failure kinds that are shown by name.
SHOWN = 4


class End(NamedTuple):
    """How a run of a crawl ended."""

    reason: Reason
    text: str  # one line for users
    status: int | None  # exit status of `lycosa crawl`; None if a signal stopped it, which decides
    status_text: str  # what the status means for this crawl, one line for users; empty if there is none
    resume: str | None  # the command that resumes it; None if nothing is left, or the directory is temporary


def end_of(
    frontier: Mapping[str, int],
    failures: Mapping[str, int],
    *,
    answers: int,
    max_pages: int | None,
    stopped: bool,
    suspended: Sequence[str],
    error: BaseException | None,
    directory: Path | None,
) -> End:
    """Return how a run ended.

    frontier: its counts. failures: URLs that failed, by kind. answers: pages and redirects. max_pages: the job's.
    stopped: whether the user stopped it. suspended: why the crawl is suspended. error: the exception that ended the
    run. directory: the job's; `None` for a temporary one.
    """
    reason, text, option = _reason(frontier, failures, max_pages, stopped, suspended, error)
    command = None if directory is None or option is None else f"lycosa crawl --dir {_quoted(directory)}"
    status, meaning = _status(reason, answers, failures)
    status_text = "" if status is None else f"exit status {status}: {meaning}"
    return End(reason, text, status, status_text, command and command + (option or ""))


def _quoted(path: Path) -> str:
    """Quote a path for a shell."""
    import shlex  # only where something is left to resume

    return shlex.quote(str(path))


def _reason(
    frontier: Mapping[str, int],
    failures: Mapping[str, int],
    max_pages: int | None,
    stopped: bool,
    suspended: Sequence[str],
    error: BaseException | None,
) -> tuple[Reason, str, str | None]:
    """Return the reason, its line, and the option that resumes the crawl (`None` if nothing is left)."""
    left = frontier["waiting"] + frontier["leased"]
    waiting = f"{counted(left, 'URL')} {'waits' if left == 1 else 'wait'}"
    if isinstance(error, StorageFull):
        return "storage-full", f"no space is left on the disk; {waiting}", ""
    if isinstance(error, Exception):
        return "error", f"ended by an error ({error}); {waiting}", ""
    if left and (stopped or error is not None):
        return "stopped", f"stopped; {waiting}", ""
    if left and suspended:
        what = " and ".join(CAUSES[cause] for cause in suspended)
        return "suspended", f"ended because {what} for longer than frontier.longest_suspension; {waiting}", ""
    if left:
        return "limit", f"max_pages = {max_pages} is reached; {waiting}", " --max-pages none"
    passing = {kind: count for kind, count in failures.items() if count and is_transient(kind)}
    if passing and frontier["failed"]:
        kinds, passed = by_count(passing, SHOWN), counted(sum(passing.values()), "URL")
        text = f"finished, but {passed} failed for reasons that may pass ({kinds})"
        return "patience", text, " --retry-failed"
    return "finished", "finished: nothing is left to fetch", None


def _status(reason: Reason, answers: int, failures: Mapping[str, int]) -> tuple[int | None, str]:
    """Return the exit status and its meaning; `None` if the user stopped the crawl."""
    if reason == "stopped":
        return None, ""
    if reason in ("storage-full", "error"):
        return FAILED, "an error ended the crawl; its records are kept"
    if reason == "suspended":
        return SUSPENDED, "the crawl's own network or DNS failed; nothing was given up"
    if not answers:
        why = f" ({by_count(failures, SHOWN)})" if any(failures.values()) else ""
        opens = any(count and kind not in FORBIDDEN for kind, count in failures.items())
        first = "with the addresses in allow_addresses, " if failures.get("address-refused") else ""
        return NOTHING, f"nothing at all was fetched{why}" + (f"; {first}--retry-failed tries again" if opens else "")
    kinds = _core.FAILURE_KINDS
    left = {kind: n for kind, n in failures.items() if n and kind in kinds and kinds[kind]["group"] in UNANSWERED}
    if left:
        many = sum(left.values())
        failed = f"{counted(many, 'URL')} failed without an answer ({by_count(left, SHOWN)})"
        return PARTIAL, f"{failed}; --retry-failed opens {'it' if many == 1 else 'them'} again"
    until = " until then" if reason == "limit" else ""
    others = {kind: count for kind, count in failures.items() if count and kind not in FORBIDDEN}
    if others:
        failed = f"{counted(sum(others.values()), 'URL')} failed otherwise ({by_count(others, SHOWN)})"
        return FINISHED, f"no name, connection or TLS failed{until}; {failed}"
    return FINISHED, f"all that was asked for{until} has an answer"


def is_transient(kind: str) -> bool:
    """Return whether failures of this kind are transient."""
    return kind in _core.FAILURE_KINDS and _core.FAILURE_KINDS[kind]["transient"]
