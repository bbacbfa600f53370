"""The pages that a running crawl serves: metrics, health, its report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from lycosa.observe.metrics import crawl_lines
from lycosa.observe.stuck import Stuck
from lycosa.status_server import PROMETHEUS, Page, StatusServer, health

JSON = "application/json"


def serve(address: str, report: Callable[[], dict[str, Any]], stuck: Callable[[], Sequence[Stuck]]) -> StatusServer:
    """Serve at an address and port; raises SettingError or LycosaError.

    report: returns the crawl's report so far. stuck: returns what does not move.
    """

    def metrics() -> Page:
        return Page("200 OK", PROMETHEUS, "".join(f"{line}\n" for line in crawl_lines(report())))

    def state() -> Page:
        found = stuck()
        return health("; ".join(map(str, found)) if found else None)

    def told() -> Page:
        return Page("200 OK", JSON, json.dumps(report(), indent=2) + "\n")

    return StatusServer(address, {"/metrics": metrics, "/healthz": state, "/report": told})
