"""What a person sees of a running crawl: live on a terminal, plain lines elsewhere; a table at the end."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lycosa.session import Crawl

#: Seconds between two looks: on a terminal, and elsewhere.
LIVE, PLAIN = 0.25, 5.0

#: Seconds over which the rate is taken.
WINDOW = 5.0


class Progress:
    """Shows a crawl while it runs, from a thread of its own."""

    def __init__(self, crawl: Crawl) -> None:
        """Nothing is shown before the context is entered."""
        self._crawl = crawl
        self._console = Console(stderr=True)
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
        """Stop, and leave the terminal as it was."""
        self._end.set()
        self._thread.join()

    def _show(self) -> None:
        """Look and draw until the end; the thread's body."""
        if self._console.is_terminal:
            with Live(console=self._console, refresh_per_second=4, transient=True) as live:
                while not self._end.wait(LIVE):
                    report = self._crawl.report()
                    if report:
                        live.update(Text(self._line(report)))
        else:
            while not self._end.wait(PLAIN):
                report = self._crawl.report()
                if report:
                    self._console.print(self._line(report), highlight=False, soft_wrap=True)

    def _rate(self, report: dict[str, Any]) -> float:
        """Pages a second, lately."""
        recent, seconds = self._recent, report["seconds"]
        recent.append((seconds, report["pages"]))
        while len(recent) > 2 and recent[0][0] < seconds - WINDOW:
            recent.popleft()
        (start, before), (now, pages) = recent[0], recent[-1]
        return (pages - before) / max(now - start, 1e-3)

    def _line(self, report: dict[str, Any]) -> str:
        """The crawl in one line."""
        frontier = report["frontier"]
        return (
            f"{report['seconds']:.0f} s: {report['pages']:,} pages, {self._rate(report):,.0f}/s, "
            f"{frontier['waiting']:,} waiting, {report['in_flight']} in flight, {frontier['hosts']:,} hosts, "
            f"{frontier['unresolved']:,} names open, {report['bytes'] / 1e6:,.0f} MB{_failures(report)}"
            f"{'; waits for room on the disk' if report['full_disks'] else ''}"
        )


def _failures(report: dict[str, Any]) -> str:
    """The most frequent failures by kind, as the end of a line."""
    worst = sorted(report["failures"].items(), key=lambda item: -item[1])[:4]
    return "".join(f", {count:,} {kind}" for kind, count in worst)


def print_summary(report: dict[str, Any]) -> None:
    """What happened, as a table."""
    table = Table(title="Crawl", title_justify="left", show_header=False)
    frontier, seconds = report["frontier"], max(report["seconds"], 1e-3)
    pages = max(report["pages"], 1)
    rows = [
        ("pages", f"{report['pages']:,} in {seconds:,.1f} s ({report['pages'] / seconds:,.0f}/s)"),
        ("CPU", f"{report['cpu_seconds']:,.1f} s ({report['cpu_seconds'] / pages * 1e6:,.0f} µs a page)"),
        ("bodies received", f"{report['bytes'] / 1e6:,.1f} MB"),
        ("status codes", ", ".join(f"{status}: {n:,}" for status, n in report["statuses"].items()) or "none"),
        ("failed", ", ".join(f"{kind}: {n:,}" for kind, n in report["failures"].items()) or "none"),
        (
            "URLs known",
            f"{frontier['known']:,} on {frontier['hosts']:,} hosts, {frontier['waiting']:,} still waiting",
        ),
        ("robots.txt read", f"{report['robots']:,}"),
        ("DNS questions", f"{report['names']['questions']:,}"),
        ("names answered", ", ".join(f"{kind}: {report['names'][kind]:,}" for kind in ("fast", "slow", "failed"))),
        ("waited for names", f"{frontier['idle_for_names_us'] / 1e6:,.1f} s of free slots"),
        ("log", f"{report['log']} ({report['log_bytes'] / 1e6:,.1f} MB)"),
        *(("output", output) for output in report["outputs"]),
    ]
    for name, value in rows:
        table.add_row(name, value)
    Console().print(table)
