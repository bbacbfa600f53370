"""Progress and report of `lycosa resolve`: a bar or lines while it runs, a table or JSON at the end.

rich is imported only when needed: a run that is quiet or ends within two seconds starts in half the time.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from lycosa.words import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from lycosa.cli.resolve import Work

#: Seconds until progress is shown; between two updates on a terminal, and elsewhere.
QUIET, LIVE, PLAIN = 2.0, 0.25, 5.0


class Shown:
    """Progress: a bar on a terminal, lines elsewhere; nothing in the first two seconds."""

    def __init__(self, work: Work, *, quiet: bool) -> None:
        """Show nothing yet."""
        self._work = work
        self._console: Console | None = None
        self._next = float("inf") if quiet else time.monotonic() + QUIET
        self._last = (time.monotonic(), 0)
        self._bar: Progress | None = None

    def __enter__(self) -> Shown:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def look(self) -> None:
        """Update the progress if it is due."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._console is None:
            from rich.console import Console

            self._console = Console(stderr=True)
        work, (before, answered) = self._work, self._last
        rate = (work.answered - answered) / max(now - before, 1e-3)
        self._last = (now, work.answered)
        text = f"{counted(work.before + work.answered, 'name')}, {rate:,.0f}/s"
        if not self._console.is_terminal:
            share = f", {work.position / work.size:.0%} of the input" if work.size else ""
            self._console.print(f"lycosa: {text}{share}", highlight=False, soft_wrap=True)
            self._next = now + PLAIN
            return
        if self._bar is None:
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=self._console, transient=True)
            self._bar.add_task(text, total=work.size)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=work.position, description=text)
        self._next = now + LIVE


def print_report(report: dict[str, Any], *, as_json: bool, to_standard: bool) -> None:
    """Print the report, to standard output or to standard error."""
    if as_json:
        print(json.dumps(report, indent=2), file=sys.stdout if to_standard else sys.stderr)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Resolved", title_justify="left", show_header=False)
    statuses = ", ".join(f"{status}: {count:,}" for status, count in report["statuses"].items() if count)
    there = f"; {report['before']:,} before" if report["before"] else ""
    rows = [
        (
            "names",
            f"{report['answered']:,} in {report['seconds']:,.1f} s ({report['names_per_second']:,.0f}/s){there}",
        ),
        ("by status", statuses or "none"),
        (
            "questions",
            f"{report['questions']:,}, {report['retries']:,} retries; {report['timeouts']:,} timed out",
        ),
        ("from the cache", f"{report['cache_hits']:,}"),
        *((known["server"], _upstream(known)) for known in report["upstreams"]),
    ]
    if failed := report["statuses"]["servfail"] + report["statuses"]["timeout"]:
        rows.append(("transient", f"{counted(failed, 'failure')}; --retry-failed retries those in an output"))
    if not report["complete"]:
        rows.append(("not complete", "the same command resumes it"))
    for name, value in rows:
        table.add_row(name, value)
    console = Console(stderr=not to_standard)
    console.print(table)
    for bad in report["bad_lines"]:
        text = bad["text"] if len(bad["text"]) <= 60 else f"{bad['text'][:60]}…"
        console.print(f"line {bad['line']}: {text!r}: {bad['reason']}", highlight=False, markup=False, soft_wrap=True)
    more = report["statuses"]["bad-name"] - len(report["bad_lines"])
    if more > 0:
        console.print(f"and {counted(more, 'more line')}: no names, status bad-name in the output", highlight=False)


def _upstream(known: dict[str, Any]) -> str:
    """Describe a DNS server in one line."""
    round_trip = "" if known["round_trip"] is None else f", {known['round_trip'] * 1e3:.1f} ms"
    why = known["trouble"] or "it was silent or of no use"
    resting = f"; resting: {why}" if known["is_resting"] else ""
    return f"{counted(known['questions'], 'question')}, {known['timeouts']:,} timed out{round_trip}{resting}"
