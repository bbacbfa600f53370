"""Histograms of times: counts in buckets with fixed bounds, as of a DNS server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lycosa import _core

#: Upper bounds of the buckets, in seconds; one more bucket counts longer times.
BOUNDS: tuple[float, ...] = tuple(_core.DnsServer.BOUNDS)


class Histogram(NamedTuple):
    """Counts of times by bucket, not cumulated, and their sum in seconds."""

    counts: list[int]
    sum: float


def series(times: Histogram) -> Iterator[tuple[str, str | None, float]]:
    """Yield the series for Prometheus: suffix of the name, value of ``le`` if there is one, count or sum."""
    bounds = [repr(bound) for bound in BOUNDS]
    for bound, count in zip([*bounds, "+Inf"], itertools.accumulate(times.counts), strict=True):
        yield "bucket", bound, count
    yield "sum", None, times.sum
    yield "count", None, sum(times.counts)


def since(counts: Sequence[int], before: Sequence[int] | None) -> list[int]:
    """Return the counts since an earlier reading, by bucket; all if that has more: it is of another process."""
    if before is None or len(before) != len(counts):
        return list(counts)
    new = [now - then for now, then in zip(counts, before, strict=True)]
    return new if min(new, default=0) >= 0 else list(counts)


def quantile(share: float, counts: Sequence[int], bounds: Sequence[float] = BOUNDS) -> float | None:
    """Return a quantile of the times, in seconds; `None` if there are none.

    As in Prometheus (``histogram_quantile``): times are assumed to be spread evenly inside a bucket, and longer times
    than the last bound to equal it.
    """
    rank, below = share * sum(counts), 0
    if not rank:
        return None
    for lower, upper, count in zip((0.0, *bounds), bounds, counts, strict=False):
        if count and below + count >= rank:
            return lower + (upper - lower) * (rank - below) / count
        below += count
    return bounds[-1]
