"""Plots the ledger: requests, busiest hosts, flatness, DNS questions over time. Needs the extra ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lycosa.errors import LycosaError, SettingError

#: Allowed extensions of a picture.
FORMATS = (".png", ".svg")


def check(path: Path | str) -> Path:
    """Return the picture's path after checking that it can be drawn and written."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise SettingError("plot", str(path), "a file whose name ends with .png or .svg")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise SettingError("plot", str(path), "a file in a folder that exists")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise LycosaError("a plot needs matplotlib: pip install 'lycosa[plot]'") from None
    return target


def draw(series: dict[str, Any], report: dict[str, Any], path: Path | str, title: str = "") -> None:
    """Draw :meth:`Ledger.series` and :meth:`Ledger.report` into a PNG or SVG file."""
    target = check(path)
    # The object interface: no global state, no display.
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    width = series.get("bucket_s", 0.0)
    times = [series.get("from_s", 0.0) + width * (place + 0.5) for place in range(len(series.get("requests", ())))]
    figure = Figure(figsize=(12, 11), dpi=110, layout="constrained")
    figure.suptitle(title or "Ledger of the simulated Internet", fontsize=13, fontweight="bold")
    whole, hosts, flat, names = figure.subplots(4, 1, sharex=True, height_ratios=(3, 3, 1.6, 1.6))

    def rate(counts: Sequence[float]) -> list[float]:
        return [count / width for count in counts]

    if times:
        whole.fill_between(times, rate(series["requests"]), step="mid", color="#9ecae1")
        whole.step(times, rate(series["requests"]), where="mid", color="#3182bd", linewidth=1, label="requests")
        for name, colour in (("errors", "#e6550d"), ("violations", "#d62728")):
            if any(series[name]):
                style = {"linestyle": "--" if name == "errors" else "-", "linewidth": 1.2}
                whole.step(times, rate(series[name]), where="mid", color=colour, label=_LABELS[name], **style)
        for busy in series["busiest"]:
            total = sum(busy["requests"])
            label = f"{busy['host']} ({total:,})"
            hosts.plot(times, rate(_smooth(busy["requests"], 5)), linewidth=1.2, label=label)
        flat.plot(
            times, [float("nan") if v is None else v for v in series["variation"]], color="#756bb1", linewidth=1.2
        )
        names.step(times, rate(series["questions"]), where="mid", color="#31a354", linewidth=1)
        whole.legend(loc="upper right", fontsize=8, ncols=3)
        hosts.legend(loc="upper right", fontsize=8, ncols=3)
    else:
        whole.text(0.5, 0.5, "nothing was recorded", ha="center", va="center", transform=whole.transAxes)
    whole.set_title(_summary(report), fontsize=9, loc="left")
    hosts.set_title(f"the busiest hosts, {5 * width:g} s moving average", fontsize=9, loc="left")
    flat.set_title(
        f"variation: standard deviation of requests/s by their mean, over {20 * width:g} s; {_flatness(report)}",
        fontsize=9,
        loc="left",
    )
    names.set_title(f"DNS questions: {report['totals']['dns_questions']:,}", fontsize=9, loc="left")
    flat.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes, label in ((whole, "requests/s"), (hosts, "requests/s"), (flat, "variation"), (names, "questions/s")):
        axes.set_ylabel(label)
        # Space above for the legend.
        axes.set_ylim(0, max(1e-9, axes.dataLim.ymax) * 1.25)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    names.set_xlabel(f"seconds since the simulated Internet started; buckets of {width:g} s")
    try:
        figure.savefig(target)
    except OSError as error:
        raise LycosaError(f"cannot write {target}: {error.strerror or error}") from None


_LABELS = {"errors": "429 and 5xx", "violations": "with a violation"}


def _smooth(counts: Sequence[int], over: int) -> list[float]:
    """Return running means over a few buckets, so that single requests do not look like a comb."""
    half = over // 2
    means = []
    for place in range(len(counts)):
        near = counts[max(0, place - half) : place + half + 1]
        means.append(sum(near) / len(near))
    return means


def _summary(report: dict[str, Any]) -> str:
    """Return one line of counts and judgements."""
    totals, rates, robots = report["totals"], report["rates"], report["robots"]
    return (
        f"{totals['requests']:,} requests in {totals['span_s']:.1f} s, {totals['requests_per_s']:,.0f}/s; "
        f"violations: {rates['host']['count']:,} by host, {rates['address']['count']:,} by address, "
        f"{robots['count']:,} of robots.txt, {report['pauses']['count']:,} of Retry-After"
    )


def _flatness(report: dict[str, Any]) -> str:
    """Return the whole run's variation by window."""
    each = ", ".join(f"{flat['variation']:.0%} in windows of {flat['window_s']:g} s" for flat in report["flatness"])
    return f"whole run: {each}" if each else "too short for the whole run"
