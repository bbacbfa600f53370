"""Counts and suggestions in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Minimum similarity (1: equal) from which a known name is suggested.
SIMILAR = 0.65


def counted(count: int, thing: str) -> str:
    """``1 file``, ``2 files``, ``1,000 entries``, ``3 addresses``."""
    if count == 1:
        return f"1 {thing}"
    if thing.endswith("ry"):
        return f"{count:,} {thing[:-1]}ies"
    return f"{count:,} {thing}{'es' if thing.endswith('ss') else 's'}"


def by_count(counts: Mapping[str, int], most: int | None = None) -> str:
    """``read-timeout: 1,200, name-bad: 3``: counts above 0, the most frequent first, at most ``most`` of them."""
    found = sorted(((name, count) for name, count in counts.items() if count > 0), key=lambda item: -item[1])
    return ", ".join(f"{name}: {count:,}" for name, count in found[:most])


def nearest(name: str, known: Iterable[str], least: float = SIMILAR) -> str:
    """Suggest the most similar known name; empty if none is similar. Names are compared without their components."""
    import difflib  # only for a mistake

    def similarity(key: str) -> tuple[float, bool]:
        last = key.rpartition(".")[2]
        return difflib.SequenceMatcher(None, last, name).ratio(), last.startswith(name)

    best = max(known, key=similarity, default="")
    return f"; did you mean {best}?" if similarity(best)[0] >= least else ""
