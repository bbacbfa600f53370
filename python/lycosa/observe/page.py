"""A crawl's report as a page that people read: one file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from lycosa import __version__
from lycosa.observe.cost import cost_of_a_million

STYLE = """\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: GrayText; }
th, td { text-align: left; padding: .2rem .6rem; vertical-align: top; }
tr { border-bottom: 1px solid color-mix(in srgb, CanvasText 15%, Canvas); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.text { overflow-wrap: anywhere; }
meter { width: 8rem; }
"""

#: States of URLs in the order of their lives.
STATES = ("waiting", "leased", "done", "failed", "refused")


def page(report: Mapping[str, Any], title: str) -> str:
    """Return a report as HTML. title: of the page, such as the job's directory."""
    sections = [
        ("Totals", _pairs(_totals(report))),
        ("URLs", _table(("state", "URLs"), [(state, report["frontier"][state]) for state in STATES], shares=True)),
        ("Status codes", _table(("status", "URLs"), _sorted(report["statuses"]), shares=True)),
        ("Failures", _failures(report)),
        ("Pages that are no content", _examples(report["refusals"])),
        ("Bounds that were reached", _examples(report["bounds"])),
        ("Slowest hosts", _slowest(report)),
        ("Hosts that fail now", _failing(report)),
        ("Bytes by media type", _types(report)),
        ("CPU by stage, this session", _seconds(report["session"]["cpu_by_stage"])),
        ("Means of a response", _seconds(report["mean_seconds"])),
        ("Names", _table(("count", "number"), sorted(report["names"].items()))),
    ]
    body = "".join(f"<h2>{escape(name)}</h2>\n{content}" for name, content in sections if content)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>\n{STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{_end(report)}{body}<p>Lycosa {__version__}</p></body></html>\n"
    )


def _end(report: Mapping[str, Any]) -> str:
    """Return why the crawl ended, and how to resume it."""
    if (end := report["end"]) is None:
        return "<p>It runs.</p>\n"
    resume = f"<p>To resume: <code>{escape(end['resume'])}</code></p>\n" if end["resume"] else ""
    return f"<p>{escape(end['text'])}</p>\n<p>{escape(end['status_text'])}</p>\n{resume}"


def _totals(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the totals."""
    seconds, pages = max(report["seconds"], 1e-3), report["pages"]
    rows = [
        ("pages", f"{pages:,}"),
        ("pages a second", f"{pages / seconds:,.1f}"),
        ("time", f"{report['seconds']:,.1f} s in {report['sessions']:,} sessions"),
        ("bytes of bodies", f"{report['bytes'] / 1e6:,.1f} MB ({report['bytes'] / seconds / 1e6:,.2f} MB/s)"),
        ("redirects", f"{report['redirects']:,}"),
        ("further tries", f"{report['retries']:,}"),
        ("robots.txt read", f"{report['robots']:,}"),
        ("hosts", f"{report['frontier']['hosts']:,}"),
        ("CPU", f"{report['cpu_seconds']:,.1f} s ({report['cpu_seconds'] / max(pages, 1) * 1e6:,.0f} µs a page)"),
    ]
    if (cost := cost_of_a_million(report)) is not None:
        rows.append(("a million pages at the given price", f"{cost:,.2f}"))
    for currency, asked in report["prices"].items():
        rows.append(("asked for by sites, not paid", f"{currency} {asked:,.6f}"))
    return rows


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    cells = (f'<tr><th>{escape(name)}</th><td class="number">{escape(value)}</td></tr>\n' for name, value in rows)
    return f"<table>{''.join(cells)}</table>\n"


def _table(head: tuple[str, str], rows: Sequence[tuple[object, int]], *, shares: bool = False) -> str:
    """Return a table of names and numbers; empty if there is none. shares: whether the part of the sum is shown."""
    rows = [row for row in rows if row[1]]
    if not rows:
        return ""
    total = sum(count for _, count in rows)
    cells = (
        f'<tr><td class="text">{escape(str(name))}</td><td class="number">{count:,}</td>'
        + (f'<td><meter max="1" value="{count / total:.4f}"></meter> {count / total:.1%}</td>' if shares else "")
        + "</tr>\n"
        for name, count in rows
    )
    last = "<th>share</th>" if shares else ""
    names = f'<tr><th>{escape(head[0])}</th><th class="number">{escape(head[1])}</th>{last}</tr>\n'
    return f"<table>{names}{''.join(cells)}</table>\n"


def _failures(report: Mapping[str, Any]) -> str:
    """Return failures with examples."""
    told = {
        kind: {"count": count, "first": report["examples"].get(kind, [])}
        for kind, count in report["failures"].items()
    }
    return _examples(told)


def _examples(told: Mapping[str, Mapping[str, Any]]) -> str:
    """Return counts by kind with the first URLs."""
    rows = sorted(((kind, one) for kind, one in told.items() if one["count"]), key=lambda row: -row[1]["count"])
    cells = (
        f'<tr><td>{escape(kind)}</td><td class="number">{one["count"]:,}</td>'
        f'<td class="text">{"<br>".join(map(escape, one["first"]))}</td></tr>\n'
        for kind, one in rows
    )
    head = '<tr><th>kind</th><th class="number">URLs</th><th>the first</th></tr>\n'
    return f"<table>{head}{''.join(cells)}</table>\n" if rows else ""


def _slowest(report: Mapping[str, Any]) -> str:
    """Return the slowest hosts."""
    rows = [(one["host"], f"{one['responses']:,} responses", f"{one['seconds']:.2f} s") for one in report["slowest"]]
    return _wide(("host", "responses", "mean until the response begins"), rows)


def _failing(report: Mapping[str, Any]) -> str:
    """Return the hosts that fail."""
    rows = [(one["host"], one["kind"], f"{one['waiting']:,} URLs wait") for one in report["failing"]]
    return _wide(("host", "kind", "URLs"), rows)


def _wide(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; empty if there is none."""
    if not rows:
        return ""
    lines = ["".join(f"<th>{escape(name)}</th>" for name in head)]
    lines += ["".join(f'<td class="text">{escape(cell)}</td>' for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>\n"


def _types(report: Mapping[str, Any]) -> str:
    """Return bytes by media type, the most first."""
    rows = sorted(report["types"].items(), key=lambda row: -row[1]["bytes"])
    return _table(("media type", "bytes"), [(name, one["bytes"]) for name, one in rows], shares=True)


def _seconds(told: Mapping[str, float]) -> str:
    """Return seconds by name."""
    return _pairs((name, f"{seconds:,.3f} s") for name, seconds in told.items())


def _sorted(counts: Mapping[Any, int]) -> list[tuple[object, int]]:
    """Return counts, the greatest first."""
    return sorted(counts.items(), key=lambda row: -row[1])
