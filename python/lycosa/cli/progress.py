"""What a person sees of a running crawl: live on a terminal, plain lines elsewhere; a table at the end."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

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
                    live.update(self._table(self._crawl.report()))
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
        """One line for logs."""
        frontier = report["frontier"]
        failures = sum(report["failures"].values())
        return (
            f"{report['seconds']:.0f} s: {report['pages']} pages, {self._rate(report):.0f}/s, "
            f"{frontier['waiting']} waiting, {report['in_flight']} in flight, {frontier['hosts']} hosts, "
            f"{frontier['unresolved']} names open, {failures} failed, {frontier['refused']} refused"
        )

    def _table(self, report: dict[str, Any]) -> Table:
        """The live view."""
        table = Table.grid(padding=(0, 2))
        if not report:
            return table
        frontier = report["frontier"]
        table.add_row(
            f"[bold]{report['pages']:,}[/] pages",
            f"[bold]{self._rate(report):,.0f}[/]/s",
            f"{frontier['waiting']:,} waiting",
            f"{report['in_flight']:,} in flight",
            f"{frontier['hosts']:,} hosts",
            f"{frontier['unresolved']:,} names open",
            f"{report['bytes'] / 1e6:,.0f} MB",
        )
        worst = sorted(report["failures"].items(), key=lambda item: -item[1])[:4]
        if worst:
            table.add_row(*(f"[yellow]{count:,} {kind}[/]" for kind, count in worst))
        return table


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
        ("log", f"{report['log']} ({report['log_bytes'] / 1e6:,.1f} MB)"),
        *(("output", output) for output in report["outputs"]),
    ]
    for name, value in rows:
        table.add_row(name, value)
    Console().print(table)
