"""Compares measurements of a simulated Internet with its model, as figures and as a picture.

A distribution is a list of points: a value, and the share of values that are at most as large.
"""

from __future__ import annotations

import bisect
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import survey
from benchmarks.harness import environment, measure
from benchmarks.report import BenchmarkError, Figure
from benchmarks.served import Served

Points = Sequence[tuple[float, float]]
RARE = 0.004  # kinds with a smaller share are in the picture only
PERCENTS = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)


@dataclass(frozen=True, slots=True)
class Curve:
    """A cumulative distribution: measured, and of the model (`None` if the model has none)."""

    name: str
    unit: str
    measured: Points
    model: Points | None
    marks: Sequence[float]  # where figures are taken: values of steps, or percents of a delay
    steps: bool = True


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of kinds: measured, and of the model."""

    name: str
    measured: Mapping[str, float]
    model: Mapping[str, float] | None


Found = Sequence[Curve | Shares]


def look(net: Served, cores: frozenset[int], folder: Path, *, pages: int, speed: float = 1.0) -> dict[str, Any]:
    """Survey a running simnet from the contestants' core; returns the measurements."""
    task, result = folder / "task.json", folder / "seen.json"
    task.write_text(json.dumps(survey.task(net.resolver, net.port, net.hosts, pages=pages, speed=speed)))
    command = [sys.executable, "-m", "benchmarks.survey", str(task), str(result)]
    measure("survey", command, cores=cores, timeout=120.0, log=folder / "survey.log", env=environment())
    seen: dict[str, Any] = json.loads(result.read_text())
    return seen


def compare(seen: Mapping[str, Any], model: Mapping[str, Any] | None, speed: float) -> Found:
    """Compare measurements with the model; delays are multiplied by the speed."""
    model = model or LAN
    world = model.get("world", {})
    names, pages = seen["names"], seen["pages"]
    found = [name for name in names if name["answer"] == "address"]
    if not found or not pages:
        raise BenchmarkError("survey: no name has an address, or no page was served")
    sharing = Counter(name["address"] for name in found)
    fresh = [name["seconds"] * speed * 1e3 for name in names[: survey.FRESH] if "seconds" in name]
    first = [page["first"] * speed * 1e3 for page in pages if page.get("front")]
    sizes = [page["size"] / 1024 for page in pages if page["status"] == 200]
    return [
        Curve("names on one address", "names", _steps(sharing[n["address"]] for n in found),
              world.get("names_per_address"), (1, 8, 100)),
        Curve("TTL", "s", _steps(n["ttl"] for n in found), world.get("ttl"), (60, 300, 3600, 86400)),
        Curve("DNS delay", "ms", _quantiles(fresh), _percents(model.get("dns_latency_ms")),
              (50, 90, 99), steps=False),
        Curve("HTTP delay of front pages", "ms", _quantiles(first), _percents(model.get("http_latency_ms")),
              (50, 90, 99), steps=False),
        Curve("size of pages", "KiB", _quantiles(sizes), None, (50, 90, 99), steps=False),
        Shares("answers", _shares(name["answer"] for name in names), world.get("answers")),
        Shares("aliases", _shares(str(n["aliases"]) for n in found), world.get("aliases")),
        Shares("statuses", _shares(str(page["status"] or "none") for page in pages), None),
    ]  # fmt: skip


def figures(profile: str, found: Found) -> list[Figure]:
    """Return each measured value with the model's."""
    made = []
    for each in found:
        if isinstance(each, Shares):
            rows = [(f"{each.name}: {kind}", "%", share * 100, (each.model or {}).get(kind, 0) * 100)
                    for kind, share in sorted(each.measured.items()) if share >= RARE]  # fmt: skip
        elif each.steps:
            rows = [(f"{each.name}: at most {mark:,} {each.unit}", "%", at_most(each.measured, mark) * 100,
                     at_most(each.model or (), mark) * 100) for mark in each.marks]  # fmt: skip
        else:
            rows = [(f"{each.name}: {mark:g} % within", each.unit, quantile(each.measured, mark),
                     quantile(each.model or (), mark)) for mark in each.marks]  # fmt: skip
        for name, unit, measured, model in rows:
            made.append(Figure.of(f"{profile}, {name}, measured", unit, [measured]))
            if each.model is not None:
                made.append(Figure.of(f"{profile}, {name}, model", unit, [model]))
    return made


def at_most(points: Points, value: float) -> float:
    """Return the share that is at most `value`."""
    place = bisect.bisect_right([point[0] for point in points], value)
    return points[place - 1][1] if place else 0.0


def quantile(points: Points, percent: float) -> float:
    """Return the value that `percent` of all do not exceed."""
    values = [value for value, share in points if share * 100 >= percent - 1e-9]
    return min(values, default=points[-1][0] if points else 0.0)


def draw(profiles: Mapping[str, Found], path: Path) -> None:
    """Draw all distributions, one column per profile, measured and model."""
    try:
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise BenchmarkError("--plot needs matplotlib: pip install 'lycosa[plot]'") from None
    rows = max(len(found) for found in profiles.values())
    picture = Picture(figsize=(5.2 * len(profiles), 2.5 * rows), dpi=100, layout="constrained")
    grid = picture.subplots(rows, len(profiles), squeeze=False)
    for column, (profile, found) in enumerate(profiles.items()):
        for row, each in enumerate(found):
            axes = grid[row][column]
            axes.set_title(f"{profile}: {each.name}", fontsize=9, loc="left")
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            if isinstance(each, Shares):
                _bars(axes, each)
            else:
                _curves(axes, each)
            axes.legend(fontsize=8, frameon=False)
    picture.savefig(path)


def _bars(axes: Any, shares: Shares) -> None:
    """Draw shares as pairs of bars."""
    kinds = sorted({*shares.measured, *(shares.model or {})})
    places = range(len(kinds))
    if shares.model is not None:
        axes.bar(
            [p - 0.2 for p in places],
            [shares.model.get(k, 0) * 100 for k in kinds],
            0.4,
            color="#bdbdbd",
            label="model",
        )
    axes.bar(
        [p + 0.2 for p in places],
        [shares.measured.get(k, 0) * 100 for k in kinds],
        0.4,
        color="#3182bd",
        label="measured",
    )
    for place, kind in zip(places, kinds, strict=True):
        axes.text(
            place + 0.2,
            shares.measured.get(kind, 0) * 100,
            f"{shares.measured.get(kind, 0):.1%}",
            ha="center",
            va="bottom",
            fontsize=7,
        )
    axes.set_xticks(list(places), kinds, fontsize=8)
    axes.set_ylabel("% of all")
    axes.set_xlim(-0.7, max(len(kinds), 4) - 0.3)  # a single kind is no wall
    axes.set_ylim(0, 118)


def _curves(axes: Any, curve: Curve) -> None:
    """Draw cumulative shares over a logarithmic axis."""
    for points, colour, width, label in (
        (curve.model, "#969696", 5, "model"),
        (curve.measured, "#3182bd", 1.5, "measured"),
    ):
        if points and max(value for value, _ in points) > 0:
            style = "steps-post" if curve.steps else "default"
            xs, ys = zip(*((max(value, 1e-3), share * 100) for value, share in points), strict=True)
            axes.plot(xs, ys, color=colour, linewidth=width, alpha=0.9, drawstyle=style, label=label)
    axes.set_xscale("log")
    axes.set_xlabel(curve.unit, fontsize=8)
    axes.set_ylabel("% at most")
    axes.set_ylim(0, 103)


def _steps(values: Iterable[float]) -> Points:
    """Return cumulative shares at each value."""
    counts = Counter(values)
    total, sum_ = counts.total(), 0
    points = []
    for value in sorted(counts):
        sum_ += counts[value]
        points.append((value, sum_ / total))
    return points


def _quantiles(values: Sequence[float]) -> Points:
    """Return values at each percent."""
    ordered = sorted(values) or [0.0]
    at = (min(len(ordered) - 1, int(number / 200 * len(ordered))) for number in range(201))
    return [(ordered[place], number / 200) for number, place in enumerate(at)]


def _percents(quantiles: Mapping[str, Any] | None) -> Points | None:
    """Return the model's quantiles as points."""
    return None if quantiles is None else [(value, percent / 100) for percent, value in quantiles["percent"]]


def _shares(kinds: Iterable[str]) -> dict[str, float]:
    """Return the share of each kind."""
    counts = Counter(kinds)
    return {kind: count / counts.total() for kind, count in counts.items()}


#: The profile `lan` for versions that do not tell their model: four names in five alone, others in groups of 2 to 8.
LAN: dict[str, Any] = {
    "dns_latency_ms": {"percent": [(percent, 0.0) for percent in PERCENTS]},
    "http_latency_ms": {"percent": [(percent, 0.0) for percent in PERCENTS]},
    "world": {
        "names_per_address": [
            (1, 0.8),
            (2, 0.811),
            (3, 0.829),
            (4, 0.851),
            (5, 0.88),
            (6, 0.914),
            (7, 0.954),
            (8, 1.0),
        ],
        "ttl": [(60, 0.1), (300, 0.4), (3600, 0.7), (14400, 0.8), (86400, 1.0)],
        "answers": {"address": 1.0},
        "aliases": {"0": 1.0},
    },
}
