"""Numbers in sentences for people."""

from __future__ import annotations


def counted(count: int, thing: str) -> str:
    """``1 file``, ``2 files``, ``1,000 entries``."""
    if count == 1:
        return f"1 {thing}"
    return f"{count:,} {f'{thing[:-1]}ies' if thing.endswith('ry') else f'{thing}s'}"
