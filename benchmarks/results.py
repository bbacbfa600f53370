"""Writes RESULTS.md from the benchmarks' output with --json."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import BenchmarkError, tables

RESULTS = Path(__file__).parent / "RESULTS.md"

_HEAD = "# Results\n\nWritten by `python -m benchmarks … --write`; how it is measured: README.md.\n"


def write(objects: Sequence[dict[str, Any]], path: Path = RESULTS) -> None:
    """Write results to the page: sections of other benchmarks stay as they are."""
    sections = _sections(path.read_text()) if path.exists() else {}
    sections |= {made["name"]: _section(made) for made in objects}
    path.write_text("\n".join([_HEAD, *sections.values()]))


def _sections(page: str) -> dict[str, str]:
    """The sections of a page, by name."""
    _, *found = page.split("\n## ")
    return {text.split("\n", 1)[0]: f"## {text}" for text in found}


def figures(page: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Return the values of the figures and claims of a page, by benchmark and name."""
    found: dict[str, dict[str, float]] = {}
    for benchmark, text in (_sections(page.read_text()) if page.exists() else {}).items():
        of = found.setdefault(benchmark, {})
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            # Claims have an identifier before their text, and the unit beside the value.
            named = cells[1:3] if len(cells) == 5 else cells[:2] if len(cells) == 6 else []
            if named:
                with contextlib.suppress(ValueError, IndexError):
                    of[named[0]] = float(named[1].split()[0].replace(",", ""))
    return found


def read(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Read objects that benchmarks printed."""
    objects = []
    for file in files:
        try:
            made = json.loads(file.read_text())
            objects.append({key: made[key] for key in (*_KEYS, "name", "quick", "date", "notes")})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchmarkError(f"{file}: not a result of --json: {error!r}") from None
    return objects


def _section(made: dict[str, Any]) -> str:
    """Write one benchmark's results."""
    machine = ", ".join(f"{key} {value}" for key, value in made["machine"].items())
    mode = "quick run" if made["quick"] else "full run"
    parts = [f"## {made['name']}\n\n{made['date']}, {mode}; {machine}.\n"]
    for title, columns, rows in tables(made):
        if rows:
            lines = [columns, ["---"] * len(columns), *rows]
            body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
            parts.append(f"### {title}\n\n{body}\n")
    if made["notes"]:
        parts.append("\n".join(f"- {note}" for note in made["notes"]) + "\n")
    return "\n".join(parts)


_KEYS = ("claims", "figures", "peers", "machine")
