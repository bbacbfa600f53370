"""The picture of the `names_paper` benchmark: names over hours as in the paper's figures 6 to 8, and one queue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import BenchmarkError

COLOURS = {
    "plain": "#8c8c8c", "cache": "#1f77b4", "asynchronous": "#2ca02c", "both": "#9467bd", "ahead": "#d62728",
}  # fmt: skip
PANELS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("its figure 6: cache", ("plain", "cache"), "linear"),
    ("its figure 7: asynchronous", ("plain", "asynchronous"), "log"),
    ("its figure 8: both", ("plain", "both"), "log"),
    ("all, and ahead", tuple(COLOURS), "log"),
)


def title(queue: dict[str, Any], length: int) -> str:
    """Return the name of a strategy of the queue."""
    workers = queue["workers"]
    names = {0: "no pre-resolution", 1: "one worker", length // 2: "M = N/2", length: "M = N"}
    return f"{names[workers]}, {'swap' if queue['swaps'] else 'no swap'}"


def draw(made: dict[str, Any], real: dict[str, dict[str, Any]], part: int, path: Path) -> None:
    """Draw names resolved over hours for each method, then waits and regions of the queue."""
    try:
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise BenchmarkError("--plot needs matplotlib: pip install 'lycosa[plot]'") from None
    picture = Picture(figsize=(14, 8.5), dpi=100, layout="constrained")
    grid = picture.subplots(2, 3)
    curves = {way["name"]: way["curve"] for way in made["ways"]}
    for axes, (name, ways, scale) in zip(list(grid.flat)[:4], PANELS, strict=True):
        axes.set_title(name, fontsize=9, loc="left")
        for way in ways:
            _line(axes, curves[way], made["names"], color=COLOURS[way], label=f"{way}, simulated")
            if way in real:
                settings = {"color": COLOURS[way], "linestyle": ":", "linewidth": 2.5}
                _line(axes, real[way]["curve"], part, label=f"{way}, real client", **settings)
        axes.set_xscale(scale)
        axes.set_xlabel("hours, unscaled", fontsize=8)
        axes.set_ylabel("names resolved, 10,000s")
        axes.set_ylim(bottom=0)
    waits, regions = list(grid.flat)[4:]
    names = [title(queue, made["queue"]) for queue in made["queues"]]
    places = range(len(names))
    waits.set_title("one queue: a URL's wait for its name, and the crawler's", fontsize=9, loc="left")
    bars = (("wait", "mean wait"), ("p95", "p95 of waits"), ("idle", "crawler idle per URL"))
    for number, (key, label) in enumerate(bars):
        values = [max(queue[key] * 1e3, LEAST) for queue in made["queues"]]
        waits.barh([place + 0.27 * (number - 1) for place in places], values, 0.25, label=label)
    waits.set_xscale("log")
    waits.set_xlim(left=LEAST)
    waits.set_xlabel(f"milliseconds; at the left edge: less than {LEAST:g}", fontsize=8)
    regions.set_title("one queue: which region answered", fontsize=9, loc="left")
    forward = [queue["forward"] * 100 for queue in made["queues"]]
    reverse = [queue["reverse"] * 100 for queue in made["queues"]]
    regions.barh(places, forward, 0.6, color="#2ca02c", label="forward: quick")
    regions.barh(places, reverse, 0.6, left=forward, color="#d62728", label="reverse: slow or failed")
    regions.set_xlabel("% of URLs", fontsize=8)
    for axes in (waits, regions):
        axes.set_yticks(places, names, fontsize=8)
        axes.invert_yaxis()
    for axes in grid.flat:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1), "ncols": 2} if axes is regions else {}
        axes.legend(fontsize=8, frameon=False, **below)
    picture.savefig(path)


LEAST = 0.001  # milliseconds: where bars begin


def _line(axes: Any, curve: Sequence[float], count: int, **settings: Any) -> None:
    """Draw names resolved over hours."""
    resolved = [count * (place + 1) / len(curve) / 1e4 for place in range(len(curve))]
    axes.plot([seconds / 3600 for seconds in curve], resolved, **settings)
