"""A job directory as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from lycosa.words import counted

#: Maximum number of seeds that are shown.
SEEDS = 3


def print_job(found: dict[str, Any]) -> None:
    """Print the result of ``lycosa.store.overview``."""
    table = Table(title=f"Job {found['directory']}", title_justify="left", show_header=False)
    counts, log, seeds = found["counts"], found["log"], found["seeds"]
    shown = ", ".join(seeds[:SEEDS]) + (f" and {len(seeds) - SEEDS:,} more" if len(seeds) > SEEDS else "")
    left = "" if counts["complete"] else ", of the remaining records; the log's beginning was removed"
    rows = [
        (
            "job",
            f"{found['id'] or 'not recorded'}, layout version {found['version']}, lycosa {found['lycosa'] or '?'}",
        ),
        ("created", found["created"] or "not recorded"),
        ("seeds", shown or "not recorded"),
        ("state", _state(found)),
        ("pages", f"{counts['pages']:,}, and {counted(counts['redirects'], 'redirect')}{left}"),
        ("status codes", ", ".join(f"{status}: {n:,}" for status, n in counts["statuses"].items()) or "none"),
        ("failed", ", ".join(f"{kind}: {n:,}" for kind, n in counts["failures"].items()) or "none"),
        (
            "log",
            f"{counted(log['segments'], 'file')}, {log['bytes'] / 1e6:,.1f} MB, "
            f"positions {log['first']} to {log['end']}",
        ),
        ("snapshots", ", ".join(f"at {position}" for position in found["snapshots"]) or "none"),
        *(("output", _output(output)) for output in found["outputs"]),
    ]
    if log["damaged_bytes"]:
        rows.append(("damaged", f"{log['damaged_bytes']:,} bytes of the log; lycosa job export reads the rest"))
    rows += [("torn piece", f"{torn['file']}, {torn['bytes']:,} bytes") for torn in log["torn"]]
    for name, value in rows:
        table.add_row(name, value)
    Console().print(table)


def _state(found: dict[str, Any]) -> str:
    """Describe whether it runs, and what is left to do."""
    last = found["last_run"]
    if found["writer"] is not None:
        return f"running: process {found['writer'] or 'unknown'}"
    if last is None:
        return "was interrupted; can be resumed"
    if last["reason"]:
        status = f"; {last['status_text']}" if last["status_text"] else ""
        return f"{last['text']}{status} (ended {last['ended']})"
    if last["waiting"] == 0 and last["idle"]:
        return f"ended {last['ended']}; nothing is left to do"
    reason = "reached max_pages" if last["idle"] else "was stopped"
    return f"{reason} {last['ended']}; {last['waiting']:,} URLs wait; can be resumed"


def _output(output: dict[str, Any]) -> str:
    """Describe the progress of an output."""
    if output["position"] is None:
        return f"{output['output']}: {'in progress' if output['begun'] else 'does not exist'}"
    behind = f"{output['lag'] / 1e6:,.1f} MB of log behind" if output["lag"] > 0 else ""
    gaps = ", ".join(f"{start} to {end}" for start, end in output["gaps"])
    lacks = f"lacks the records from position {gaps}, which were removed from the log" if gaps else ""
    state = "; ".join(filter(None, (behind, lacks))) or "complete"
    return f"{output['output']}: up to position {output['position']}, {state}"
