"""What a crawl costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cost_of_a_million(report: Mapping[str, Any]) -> float | None:
    """Return what the CPU time of a million pages costs; `None`: no price is given (``observe.price``), or no page.

    >>> cost_of_a_million({"price": 0.05, "pages": 1_000, "cpu_seconds": 3.6})
    0.05
    """
    price, pages = report["price"], report["pages"]
    return None if price is None or not pages else round(report["cpu_seconds"] / pages * 1e6 / 3_600 * price, 9)
