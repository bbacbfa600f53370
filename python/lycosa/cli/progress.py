"""Progress of a crawl: live on a terminal, plain lines elsewhere; a table at the end.

rich is imported only for the live display: a crawl of one page would spend an eighth of its time with it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lycosa.cli import columns
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.session import Crawl

#: Seconds between two updates: on a terminal, and elsewhere.
LIVE, PLAIN = 0.25, 5.0

#: Seconds over which the rate is averaged.
WINDOW = 5.0


#: Columns of a table's frame, and of its values at least.
FRAME, NARROWEST = 7, 20

#: The states of admitted URLs, and their names in the summary.
STATES = {"done": "done", "failed": "failed", "refused": "refused", "leased": "in flight", "waiting": "waiting"}

#: Why slots were free though URLs waited, by the frontier's counts.
IDLE = {
    "idle_for_names_us": "waiting for DNS",
    "idle_for_politeness_us": "waiting for politeness",
    "idle_slots_us": "nothing to fetch",
}


class Progress:
    """Shows a running crawl from a thread of its own."""

    def __init__(self, crawl: Crawl) -> None:
        """Show nothing before the context is entered."""
        self._crawl = crawl
        #: Seconds and pages of this session.
        self._recent: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._show, name="lycosa-progress", daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and restore the terminal."""
        self._end.set()
        self._thread.join()

    def _show(self) -> None:
        """Update the display until the end; the thread's body."""
        if sys.stderr.isatty():
            if not self._end.wait(LIVE):
                self._show_live()
        else:
            while not self._end.wait(PLAIN):
                report = self._crawl.report()
                if report:
                    print(self._line(report), file=sys.stderr, flush=True)

    def _show_live(self) -> None:
        """Update one line on a terminal until the end."""
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
            while not self._end.wait(LIVE):
                report = self._crawl.report()
                if report:
                    live.update(Text(self._line(report)))

    def _rate(self, report: dict[str, Any]) -> float:
        """Return the recent rate in pages per second."""
        recent, session = self._recent, report["session"]
        seconds = session["seconds"]
        recent.append((seconds, session["pages"]))
        while len(recent) > 2 and recent[0][0] < seconds - WINDOW:
            recent.popleft()
        (start, before), (now, pages) = recent[0], recent[-1]
        # Negative when a captive portal's pages are taken back.
        return max(pages - before, 0) / max(now - start, 1e-3)

    def _line(self, report: dict[str, Any]) -> str:
        """Describe the crawl in one line."""
        frontier = report["frontier"]
        return (
            f"{report['session']['seconds']:.0f} s: {counted(report['pages'], 'page')}, {self._rate(report):,.0f}/s, "
            f"{frontier['waiting']:,} waiting{_why_idle(report)}, {report['in_flight']} in flight, "
            f"{counted(frontier['hosts'], 'host')}, {counted(frontier['unresolved'], 'name')} resolving, "
            f"{report['bytes'] / 1e6:,.0f} MB{_failures(report)}"
            f"{'; waits for disk space' if report['full_disks'] else ''}"
            f"{'; waits for outputs' if report['held'] else ''}"
        )


def _why_idle(report: dict[str, Any]) -> str:
    """Return, in brackets, why no request is in flight though URLs wait; empty if one is."""
    frontier = report["frontier"]
    if report["in_flight"] or not frontier["waiting"] or report["full_disks"]:
        return ""
    if report["suspensions"]:
        since = time.time() - min(each["since"] for each in report["suspensions"])
        return f" (suspended for {since:,.0f} s: {', '.join(each['cause'] for each in report['suspensions'])})"
    if frontier["unresolved"]:
        return " (resolving names)"
    if sum(host["waiting"] for host in report["failing"]) == frontier["waiting"]:
        last = report["failing"][0]
        until = time.strftime("%H:%M:%S", time.localtime(last["until"]))
        return f" ({counted(len(report['failing']), 'host')} failing, the last tried until {until}: {last['host']})"
    return f" (next turn in {frontier['next_turn_us'] / 1e6:.1f} s: politeness)"


def _failures(report: dict[str, Any]) -> str:
    """Return the most frequent failures by kind, as the end of a line."""
    worst = sorted(report["failures"].items(), key=lambda item: -item[1])[:4]
    return "".join(f", {count:,} {kind}" for kind, count in worst)


def print_summary(report: dict[str, Any], status: str, *, to_standard: bool = True) -> None:
    """Print the report as a table, then why it ended, how to resume it and the exit status.

    status: the last line. To standard output or standard error.
    """
    frontier, session, names = report["frontier"], report["session"], report["names"]
    rows = [
        ("pages", _over_time("page", report["pages"], report["seconds"])),
        ("CPU", _cost(report)),
        ("bodies received", f"{report['bytes'] / 1e6:,.1f} MB"),
        ("status codes", ", ".join(f"{status}: {n:,}" for status, n in report["statuses"].items()) or "none"),
        ("failed", ", ".join(f"{kind}: {n:,}" for kind, n in report["failures"].items()) or "none"),
        (
            "URLs",
            f"{sum(frontier[state] for state in STATES):,} admitted on {counted(frontier['hosts'], 'host')}: "
            + ", ".join(f"{frontier[state]:,} {called}" for state, called in STATES.items()),
        ),
        ("robots.txt read", f"{report['robots']:,}"),
        ("DNS questions", f"{names['questions']:,}"),
        ("names answered", ", ".join(f"{kind}: {names[kind]:,}" for kind in ("fast", "slow", "failed"))),
        *(
            (f"idle: {why}", f"{frontier[key] / 1e6:,.1f} s of free slots, in this session")
            for key, why in IDLE.items()
            if key in frontier
        ),
        ("log", f"{report['log']} ({report['log_bytes'] / 1e6:,.1f} MB)"),
        *(
            (f"bound reached: {bound}", f"{counted(reached['count'], 'page')}, the first: {reached['first'][0]}")
            for bound, reached in report["bounds"].items()
            if reached["first"]
        ),
        *(
            (f"no content: {kind}", f"{counted(refused['count'], 'page')}, the first: {refused['first'][0]}")
            for kind, refused in report["refusals"].items()
            if refused["count"]
        ),
        *(
            ("asked for by sites, not paid", f"{currency} {asked:,.6f}".rstrip("0").rstrip("."))
            for currency, asked in report["prices"].items()
        ),
        *([("not served without a licence", counted(report["licenses"], "page"))] if report["licenses"] else []),
        *(("output", output) for output in report["outputs"]),
    ]
    if report["sessions"] > 1:
        told = f"{_over_time('page', session['pages'], session['seconds'])}, {session['bytes'] / 1e6:,.1f} MB, "
        rows.insert(1, ("of these in this session", told + counted(session["names"]["questions"], "DNS question")))
        rows.insert(1, ("sessions", f"{report['sessions']:,}; all figures are of all of them"))
    stream = sys.stdout if to_standard else sys.stderr
    lines = ["Crawl", *_table(rows, columns(stream), is_ascii=not (stream.encoding or "").lower().startswith("utf"))]
    if end := report["end"]:
        lines.append(end["text"])
        if end["resume"]:
            lines.append(f"to resume: {end['resume']}")
    if status:
        lines.append(status)
    print(*lines, sep="\n", file=stream, flush=True)


def _table(rows: list[tuple[str, str]], width: int, *, is_ascii: bool) -> list[str]:
    """Return the lines of a table of two columns, whose texts are wrapped at the width."""
    names = max(len(name) for name, _ in rows)
    values = max(width - names - FRAME, NARROWEST)
    cells = [(name, _wrapped(value, values)) for name, value in rows]
    values = max(len(line) for _, lines in cells for line in lines)
    bar, dash = ("|", "-") if is_ascii else ("│", "─")
    corners = [("+", "+", "+")] * 2 if is_ascii else [("┌", "┬", "┐"), ("└", "┴", "┘")]
    frame = [f"{left}{dash * (names + 2)}{mid}{dash * (values + 2)}{right}" for left, mid, right in corners]
    body = [
        f"{bar} {name if number == 0 else '':{names}} {bar} {line:{values}} {bar}"
        for name, lines in cells
        for number, line in enumerate(lines)
    ]
    return [frame[0], *body, frame[1]]


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines of at most so many characters."""
    if len(text) <= width:
        return [text]
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _over_time(thing: str, count: int, seconds: float) -> str:
    """Format a count with its duration and rate."""
    return f"{counted(count, thing)} in {seconds:,.1f} s ({count / max(seconds, 1e-3):,.0f}/s)"


def _cost(report: dict[str, Any]) -> str:
    """Format the CPU time, in total and per page."""
    each = f" ({report['cpu_seconds'] / report['pages'] * 1e6:,.0f} µs a page)" if report["pages"] else ""
    return f"{report['cpu_seconds']:,.1f} s{each}"
