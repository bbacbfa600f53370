"""The picture of the `flat_line` benchmark: starts a second over time, by both policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import BenchmarkError

if TYPE_CHECKING:
    from benchmarks.flat_line import Line

COLOURS = ("#1f77b4", "#2ca02c", "#9467bd")

#: Seconds of the window of the published policy.
MINUTE = 60


def draw(lines: Sequence[Line], rates: Mapping[str, float], path: Path) -> None:
    """Draw a panel for each policy: a line for each service, its quota dashed, minutes of the clock dotted."""
    try:
        import matplotlib
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise BenchmarkError("--plot needs matplotlib: pip install 'lycosa[plot]'") from None
    # Text stays text, and the same counts make the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lycosa"}):
        picture = Picture(figsize=(10, 6.5), dpi=100, layout="constrained")
        policies = list(dict.fromkeys(line.policy for line in lines))
        panels = picture.subplots(len(policies), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, policy in zip(panels, policies, strict=True):
            shown = [line for line in lines if line.policy == policy]
            axes.set_title(f'policy = "{policy}"', fontsize=9, loc="left")
            for line, colour in zip(shown, COLOURS, strict=False):
                times = [second + 0.5 for second in range(len(line.counts))]
                label = f"{rates[line.service]:g} URLs/s: variation {line.variation:.1%}"
                axes.plot(times, line.counts, color=colour, linewidth=1.2, label=label)
                axes.axhline(rates[line.service], color=colour, linestyle="--", linewidth=0.8, alpha=0.7)
            for second in minutes(shown[0]):
                axes.axvline(second, color="#8c8c8c", linestyle=":", linewidth=1)
            axes.set_ylabel("starts a second")
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(fontsize=8, frameon=False, ncols=3, loc="lower center")
        panels[-1].set_xlabel("seconds; dashed: quotas, dotted: where a minute of the master's clock begins")
        try:
            picture.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        except (OSError, ValueError) as error:
            raise BenchmarkError(f"cannot write {path}: {error}") from None


def minutes(line: Line) -> list[float]:
    """Return the seconds of a line at which a minute of the clock begins."""
    first = -line.began % MINUTE
    return [first + MINUTE * number for number in range(MINUTE) if first + MINUTE * number < len(line.counts)]
