"""Prints the ledger's report as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lycosa.words import counted


def print_report(report: dict[str, Any], console: Console | None = None) -> None:
    """Print the ledger's report: counts, then the judgements with examples of violations."""
    console = console or Console()
    totals, coverage = report["totals"], report["coverage"]
    repeats, robots, rates = report["repeats"], report["robots"], report["rates"]
    table = Table(title="Ledger of the simulated Internet", show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column()

    def row(name: str, text: str, bad: bool = False) -> None:
        # Text, not markup: URLs are foreign data.
        table.add_row(name, Text(text, style="red" if bad else ""))

    row("world", f"{counted(totals['hosts'], 'host')}, {counted(totals['urls'], 'URL')}")
    row(
        "requests",
        f"{totals['requests']:,} on {counted(totals['connections'], 'connection')} "
        f"to {counted(totals['hosts_asked'], 'host')} "
        f"in {totals['span_s']:.1f} s ({totals['requests_per_s']:,.0f}/s), {totals['body_bytes'] / 1e6:,.1f} MB",
    )
    row("by status", _counts(totals["by_status"]))
    row("by kind", _counts(totals["by_kind"]))
    row(
        "DNS",
        f"{counted(totals['dns_questions'], 'question')}, {counted(totals['dns_names'], 'name')}; "
        + _counts(totals["dns_by_answer"]),
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
    for name, text, bad in _habits(report["pauses"], report["habits"]):
        row(name, text, bad)
    flat = ", ".join(f"{f['variation']:.0%} over {f['window_s']:g} s" for f in report["flatness"])
    row("variation of the rate", flat or "too short to tell")
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
    examples += robots["first"][:5]
    examples += [f"before Retry-After: {example}" for example in report["pauses"]["first"][:5]]
    examples += certificates["first"][:5]
    for example in examples:
        console.print(Text(f"  {example}"), soft_wrap=True)


def print_listing(listing: dict[str, Any], console: Console | None = None) -> None:
    """Print a timeline: one line per request with its gaps, the required gaps, the verdict and the URL.

    Plain lines, never cut, also for grep and awk.
    """
    console = console or Console()
    heading = ("time s", "status", "gap s", "allowed s", "address s", "allowed s", "verdict / URL")
    console.print(Text("{:>12} {:>6} {:>10} {:>10} {:>10} {:>10}  {}".format(*heading), style="bold"), soft_wrap=True)
    for entry in listing["entries"]:
        gaps = (entry[name] for name in ("gap_s", "allowed_s", "address_gap_s", "address_allowed_s"))
        columns = " ".join(f"{'-' if gap is None else format(gap, '.4f'):>10}" for gap in gaps)
        notes = [] if entry["complete"] else ["cut off"]
        if entry["retry_after_s"] is not None:
            notes.append(f"Retry-After {entry['retry_after_s']:g} s")
        verdict = ", ".join(entry["verdicts"] or ["ok"]) + "".join(f" ({note})" for note in notes)
        line = f"{entry['at_s']:>12.6f} {entry['status']:>6} {columns}  {verdict}: {entry['url']}"
        # Text, not markup: URLs are foreign data.
        console.print(Text(line, style="red" if entry["verdicts"] else ""), soft_wrap=True)
    rest = listing["count"] - len(listing["entries"])
    more = f"; {rest:,} more are not shown, --json has all" if rest else ""
    console.print(
        f"{counted(listing['count'], 'request')}, {listing['violations']:,} with a violation{more}", highlight=False
    )


def _habits(pauses: dict[str, Any], habits: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield name, text and badness of each habit; skips those that could not be judged."""
    if pauses["asked"]:
        worst = pauses["worst"]
        example = (
            f"; worst {worst['key']}: {worst['gap_s']:.3f} s, asked for {worst['allowed_s']:.3f} s" if worst else ""
        )
        asked = f"{counted(pauses['keys'], 'host')}, asked {counted(pauses['asked'], 'time')}"
        text = f"{pauses['count']:,} by {asked}{example}"
        yield "Retry-After violations", text, pauses["count"] > 0
    for name, text in _HABITS.items():
        habit = habits[name]
        if not habit["of"]:
            continue
        first = habit["first"][0] if habit["first"] else None
        if isinstance(first, dict):
            first = " ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else str(value) for key, value in first.items()
            )
        example = f"; first {first}" if first else ""
        yield text, f"{habit['hosts']:,} of {habit['of']:,} hosts{example}", habit["hosts"] > 0


_HABITS = {
    "speeding_up": "faster after 429 or 503",
    "crawl_delay_ignored": "Crawl-delay ignored",
    "robots_never_asked": "robots.txt never asked for",
}


def _counts(counts: dict[str, int]) -> str:
    """``200: 5, 404: 1``, or a dash."""
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) or "-"
