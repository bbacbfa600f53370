"""The ledger's report as a table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_report(report: dict[str, Any], console: Console | None = None) -> None:
    """Print what the ledger says: counts, then the four judgements with examples of what went wrong."""
    console = console or Console()
    totals, coverage = report["totals"], report["coverage"]
    repeats, robots, rates = report["repeats"], report["robots"], report["rates"]
    table = Table(title="Ledger of the simulated Internet", show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column()

    def row(name: str, text: str, bad: bool = False) -> None:
        # Text, not markup: URLs are foreign data.
        table.add_row(name, Text(text, style="red" if bad else ""))

    row("world", f"{totals['hosts']:,} hosts, {totals['urls']:,} URLs")
    row(
        "requests",
        f"{totals['requests']:,} on {totals['connections']:,} connections to {totals['hosts_asked']:,} hosts "
        f"in {totals['span_s']:.1f} s ({totals['requests_per_s']:,.0f}/s), {totals['body_bytes'] / 1e6:,.1f} MB",
    )
    row("by status", _counts(totals["by_status"]))
    row("by kind", _counts(totals["by_kind"]))
    row(
        "DNS",
        f"{totals['dns_questions']:,} questions, {totals['dns_names']:,} names; {_counts(totals['dns_by_answer'])}",
    )
    row(
        "coverage",
        f"{coverage['ratio']:.2%}: {coverage['served']:,} of {coverage['reachable']:,} pages reachable and allowed",
    )
    row(
        "repeats",
        f"{repeats['requests']:,}, of {repeats['urls']:,} URLs; {repeats['after_answer']:,} after a complete answer",
    )
    row(
        "robots violations",
        f"{robots['count']:,} ({robots['disallowed']:,} disallowed, {robots['before_robots']:,} before robots.txt)",
        bad=robots["count"] > 0,
    )
    for name in ("host", "address"):
        rate = rates[name]
        text = f"{rate['count']:,}"
        if rate["worst"]:
            worst = rate["worst"]
            text += (
                f" by {rate['keys']:,}; worst {worst['key']}: "
                f"{worst['gap_s'] * 1e3:.2f} ms, allowed {worst['allowed_s'] * 1e3:.2f} ms"
            )
        row(f"rate violations by {name}", text, bad=rate["count"] > 0)
    certificates = report["certificates"]
    if certificates["handshakes"] or certificates["failed_handshakes"] or certificates["bad_hosts"]:
        row(
            "bad certificates accepted",
            f"{certificates['count']:,} requests; {_counts(certificates['accepted'])}; "
            f"{certificates['bad_hosts']:,} hosts have one; {certificates['handshakes']:,} handshakes succeeded, "
            f"{certificates['failed_handshakes']:,} failed, {certificates['silent_handshakes']:,} without a request",
            bad=certificates["count"] > 0,
        )
    console.print(table)
    examples = [f"missed: {url}" for url in coverage["missed"][:5]]
    examples += [f"misdirected: {target}" for target in totals["misdirected"][:5]]
    examples += robots["first"][:5] + certificates["first"][:5]
    for example in examples:
        console.print(Text(f"  {example}"), soft_wrap=True)


def _counts(counts: dict[str, int]) -> str:
    """``200: 5, 404: 1``, or a dash."""
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) or "-"
