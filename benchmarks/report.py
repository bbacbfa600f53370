"""Reports of benchmarks: claims with their bars, figures with their spread, peers, the machine."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


class BenchmarkError(Exception):
    """A benchmark cannot run or a contestant's result is wrong; the message is one line with what to do."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A value against the bar that the issue set; `value` is `None` if it could not be measured."""

    id: str
    text: str
    value: float | None
    unit: str
    bar: float
    met: bool

    @classmethod
    def at_least(cls, id: str, text: str, value: float | None, unit: str, bar: float) -> Claim:
        """Claim that `value` reaches `bar`."""
        return cls(id, text, _short(value), unit, bar, value is not None and value >= bar)

    @classmethod
    def at_most(cls, id: str, text: str, value: float | None, unit: str, bar: float) -> Claim:
        """Claim that `value` does not exceed `bar`."""
        return cls(id, text, _short(value), unit, bar, value is not None and value <= bar)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value: the median of its rounds, and their extremes."""

    name: str
    unit: str
    median: float
    min: float
    max: float
    rounds: int

    @classmethod
    def of(cls, name: str, unit: str, values: Sequence[float]) -> Figure:
        """Make a figure from the values of the rounds."""
        short = [float(f"{value:.5g}") for value in values]
        return cls(name, unit, statistics.median(short), min(short), max(short), len(short))

    @classmethod
    def ratio(cls, name: str, above: Sequence[float], below: Sequence[float]) -> Figure:
        """Make a ratio of medians; its extremes are the worst and the best pairing of rounds."""
        middle = statistics.median(above) / statistics.median(below)
        low, high = min(above) / max(below), max(above) / min(below)
        middle, low, high = (float(f"{value:.5g}") for value in (middle, low, high))
        return cls(name, "ratio", middle, low, high, min(len(above), len(below)))


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer that did the same work, and its settings; `missing`: why it did not run."""

    name: str
    version: str | None
    settings: str
    missing: str | None = None

    @classmethod
    def package(cls, name: str, distributions: Sequence[str], settings: str) -> Peer:
        """Describe a peer that consists of Python distributions; it is missing if one is not installed."""
        versions, missing = [], []
        for distribution in distributions:
            try:
                versions.append(f"{distribution} {importlib.metadata.version(distribution)}")
            except importlib.metadata.PackageNotFoundError:
                missing.append(distribution)
        why = f"not installed: pip install {' '.join(missing)}" if missing else None
        return cls(name, ", ".join(versions) or None, settings, why)


@dataclass(slots=True)
class Report:
    """The results of one benchmark."""

    name: str
    quick: bool
    claims: list[Claim] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Why parts of it could not run: what the others measured is told nevertheless.
    failures: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """Return whether every claim is met."""
        return all(claim.met for claim in self.claims)

    def object(self) -> dict[str, Any]:
        """Return the object that --json prints."""
        return {
            **dataclasses.asdict(self),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": machine(),
        }


def merged(reports: Sequence[Report], *, quick: bool) -> Report:
    """Merge several reports, in which each figure has its benchmark's name."""
    whole = Report("all", quick)
    for report in reports:
        whole.claims += report.claims
        whole.figures += [dataclasses.replace(f, name=f"{report.name}: {f.name}") for f in report.figures]
        whole.peers += [peer for peer in report.peers if peer not in whole.peers]
        whole.notes += report.notes
        whole.failures += [f"{report.name}: {reason}" for reason in report.failures]
    return whole


def machine() -> dict[str, Any]:
    """Describe the machine; a figure without it means nothing."""
    models = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or "unknown",
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def show(report: Report, console: Console) -> None:
    """Print a report as text."""
    made = report.object()
    console.print(f"[bold]{report.name}[/]  {' · '.join(f'{key} {value}' for key, value in made['machine'].items())}")
    for title, columns, rows in tables(made):
        if not rows:
            continue
        table = Table(title=title, title_justify="left", box=box.SIMPLE)
        for column in columns:
            table.add_column(column, justify="right" if column in _NUMBERS else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for note in report.notes:
        console.print(f"note: {note}", highlight=False)


def tables(made: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return claims, figures and peers of a JSON object as titled tables of text."""
    claims = [
        [c["id"], c["text"], "not measured" if c["value"] is None else f"{c['value']:,} {c['unit']}",
         f"{c['bar']:,} {c['unit']}", "met" if c["met"] else "NOT MET"]
        for c in made["claims"]
    ]  # fmt: skip
    figures = [
        [f["name"], f"{f['median']:,}", f"{f['min']:,}", f"{f['max']:,}", f["unit"], str(f["rounds"])]
        for f in made["figures"]
    ]
    peers = [[p["name"], p["version"] or "-", p["settings"], p["missing"] or "-"] for p in made["peers"]]
    return [
        ("Claims", ["id", "claim", "value", "bar", ""], claims),
        ("Figures", ["figure", "median", "min", "max", "unit", "rounds"], figures),
        ("Peers", ["peer", "version", "settings", "missing"], peers),
    ]


_NUMBERS = ("value", "bar", "median", "min", "max", "rounds")  # columns set to the right


def _short(value: float | None) -> float | None:
    """Round to the precision of the measurement."""
    return None if value is None else float(f"{value:.4g}")


def _lines(path: str) -> list[str]:
    """Read a file's lines; a file that cannot be read has none."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
