"""How long things took: counts in buckets of fixed bounds, as a DNS server keeps them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lycosa import _core

#: Upper bounds of the buckets, in seconds; one more bucket has what took longer.
BOUNDS: tuple[float, ...] = tuple(_core.DnsServer.BOUNDS)


class Histogram(NamedTuple):
    """Times that were counted: by bucket, not cumulated, and their sum in seconds."""

    counts: list[int]
    sum: float


def series(times: Histogram) -> Iterator[tuple[str, str | None, float]]:
    """The series of Prometheus: suffix of the name, value of ``le`` where there is one, count or sum."""
    bounds = [repr(bound) for bound in BOUNDS]
    for bound, count in zip([*bounds, "+Inf"], itertools.accumulate(times.counts), strict=True):
        yield "bucket", bound, count
    yield "sum", None, times.sum
    yield "count", None, sum(times.counts)


def since(counts: Sequence[int], before: Sequence[int] | None) -> list[int]:
    """What was counted since another look, by bucket; all of it where that counted more: it was another process."""
    if before is None or len(before) != len(counts):
        return list(counts)
    new = [now - then for now, then in zip(counts, before, strict=True)]
    return new if min(new, default=0) >= 0 else list(counts)


def quantile(share: float, counts: Sequence[int], bounds: Sequence[float] = BOUNDS) -> float | None:
    """The time, in seconds, within which a share of the counted things was done; None where nothing was counted.

    As Prometheus has it (``histogram_quantile``): inside a bucket times are taken to be spread evenly, and what took
    longer than the last bound to have taken as long.
    """
    rank, below = share * sum(counts), 0
    if not rank:
        return None
    for lower, upper, count in zip((0.0, *bounds), bounds, counts, strict=False):
        if count and below + count >= rank:
            return lower + (upper - lower) * (rank - below) / count
        below += count
    return bounds[-1]
