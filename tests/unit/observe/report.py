"""A report as a crawl makes it."""

from __future__ import annotations

from typing import Any


def make_report(**changed: Any) -> dict[str, Any]:
    """Return a report of three pages."""
    report: dict[str, Any] = {
        "pages": 3,
        "redirects": 1,
        "retries": 2,
        "robots": 2,
        "responses": 6,
        "bytes": 3_000_000,
        "links": 40,
        "statuses": {200: 3, 301: 1},
        "failures": {"connect-timeout": 2},
        "examples": {"connect-timeout": ["http://a.example/?q=<script>"]},
        "types": {"text/html": {"responses": 5, "bytes": 2_900_000}, "other": {"responses": 1, "bytes": 100_000}},
        "slowest": [{"host": "slow.example", "responses": 3, "seconds": 1.5}],
        "bounds": {},
        "refusals": {"page-challenge": {"count": 1, "first": ["http://b.example/"]}},
        "prices": {},
        "licenses": 0,
        "mean_seconds": {"name": 0.01, "connect": 0.02, "tls": 0.0, "first_byte": 0.1, "body": 0.05},
        "sessions": 1,
        "seconds": 2.0,
        "cpu_seconds": 0.5,
        "names": {"questions": 4, "fast": 2, "slow": 0, "failed": 0},
        "session": {"pages": 3, "seconds": 2.0, "cpu_by_stage": {"parse": 0.25, "fetch": 0.125}},
        "end": {"text": "finished: nothing is left to fetch", "status_text": "exit status 0", "resume": None},
        "in_flight": 0,
        "frontier": {
            "waiting": 0,
            "leased": 0,
            "done": 4,
            "failed": 2,
            "refused": 0,
            "hosts": 3,
            "unresolved": 0,
        },
        "suspensions": [{"cause": "names", "since": 0.0}],
        "failing": [],
        "log_bytes": 5_000,
        "output_positions": {'pages "a".parquet': 4_000},
        "full_disks": [],
        "stuck": [],
        "price": 0.05,
    }
    return report | changed
