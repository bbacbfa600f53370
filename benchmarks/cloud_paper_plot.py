"""The picture of the `cloud_paper` benchmark: pages a minute over time, dedup beside the other factors."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.report import BenchmarkError

#: Beginnings of the names that the first panel shows; the second one shows the full system and all others.
DEDUP = ("full", "hash table", "Bloom filter")
COLOURS = ("#d62728", "#ff9896", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#8c8c8c")
WIDTH = 5  # seconds, of which a point is the mean


def draw(made: Mapping[str, Sequence[Sequence[int]]], published: int, path: Path) -> None:
    """Draw the mean of a variant's rounds, smoothed. made: pages by the second, of each round of each variant."""
    try:
        import matplotlib
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise BenchmarkError("--plot needs matplotlib: pip install 'lycosa[plot]'") from None
    # Text stays text, and the same counts make the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lycosa"}):
        picture = Picture(figsize=(13, 5.5), dpi=100, layout="constrained")
        colours = dict(zip(made, COLOURS, strict=False))
        panels = {
            "dedup changed": [name for name in made if name.startswith(DEDUP)],
            "DNS, downloads, and all factors changed": [
                name for name in made if name == "full" or not name.startswith(DEDUP)
            ],
        }
        for axes, (title, names) in zip(picture.subplots(1, 2, sharey=True), panels.items(), strict=True):
            axes.set_title(title, fontsize=9, loc="left")
            for name in names:
                curve = smooth(rates(made[name]))
                label = f"{name}: {statistics.mean(rates(made[name])):,.0f}"
                times = [second + 0.5 for second in range(len(curve))]
                axes.plot(times, curve, color=colours[name], linewidth=1.4, label=label)
            label = f"published, a machine of 24 cores: {published:,}"
            axes.axhline(published, color="#000000", linestyle="--", linewidth=0.8, label=label)
            axes.set_xlabel("seconds")
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncols": 2}
            axes.legend(fontsize=8, frameon=False, **below)
            axes.yaxis.set_major_formatter("{x:,.0f}")
        picture.axes[0].set_ylabel(f"pages a minute, mean of {WIDTH} seconds")
        try:
            picture.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        except (OSError, ValueError) as error:
            raise BenchmarkError(f"cannot write {path}: {error}") from None


def rates(rounds: Sequence[Sequence[int]]) -> list[float]:
    """Return pages a minute by the second, the mean of all rounds."""
    return [60 * statistics.mean(second) for second in zip(*rounds, strict=True)]


def smooth(values: Sequence[float]) -> list[float]:
    """Return means of as many values around each, fewer at the ends."""
    half = WIDTH // 2
    return [statistics.mean(values[max(at - half, 0) : at + half + 1]) for at in range(len(values))]
