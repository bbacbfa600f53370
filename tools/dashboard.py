"""Makes deploy/grafana/crawl.json, the dashboard of crawls: ``python -m tools.dashboard``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).parents[1] / "deploy" / "grafana" / "crawl.json"

#: Which crawls are looked at.
CHOSEN = 'instance=~"$instance"'

#: Columns of a row of panels, and their height, in the units of Grafana.
WIDTH, HEIGHT = 8, 8


class Panel(NamedTuple):
    """A panel: its title, its queries with their legends, its unit, and what it says."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str
    says: str


PANELS = (
    Panel(
        "Pages a second",
        (("deriv(lycosa_crawl_pages{}[1m])", "{{instance}}"),),
        "reqps",
        "URLs that end with a page.",
    ),
    Panel("URLs by state", (("sum by (state) (lycosa_crawl_urls{})", "{{state}}"),), "short", "All admitted URLs."),
    Panel(
        "Requests under way",
        (
            ("sum(lycosa_crawl_in_flight_requests{})", "requests"),
            ("sum(lycosa_crawl_resolving_names{})", "names being resolved"),
        ),
        "short",
        "Few requests while URLs wait: politeness, names, or a slow output.",
    ),
    Panel(
        "Bodies received",
        (("sum by (type) (rate(lycosa_crawl_type_bytes_total{}[1m]))", "{{type}}"),),
        "Bps",
        "By media type.",
    ),
    Panel("Status codes", (("sum by (status) (lycosa_crawl_statuses{})", "{{status}}"),), "short", "URLs by status."),
    Panel(
        "Failures",
        (("sum by (kind) (lycosa_crawl_failures{})", "{{kind}}"),),
        "short",
        "URLs that ended without a response, by kind (docs/errors.md).",
    ),
    Panel(
        "Pages that are no content",
        (("sum by (kind) (lycosa_crawl_refused_pages{})", "{{kind}}"),),
        "short",
        "Challenges, blocks, logins and others.",
    ),
    Panel(
        "Phases of a response",
        (
            (
                "sum by (phase) (rate(lycosa_crawl_phase_seconds_total{}[1m])) "
                "/ ignoring(phase) group_left sum(rate(lycosa_crawl_responses_total{}[1m]))",
                "{{phase}}",
            ),
        ),
        "s",
        "Means: name, connect, tls, first_byte, body.",
    ),
    Panel(
        "CPU by stage",
        (("sum by (stage) (rate(lycosa_crawl_cpu_seconds_total{}[1m]))", "{{stage}}"),),
        "short",
        "Cores.",
    ),
    Panel(
        "Names",
        (
            ("sum(rate(lycosa_crawl_dns_questions_total{}[1m]))", "questions"),
            ("sum by (class) (rate(lycosa_crawl_names_total{}[1m]))", "{{class}}"),
        ),
        "reqps",
        "Questions to DNS servers, and names by class.",
    ),
    Panel(
        "Outputs behind the log",
        (("lycosa_crawl_output_behind_bytes{}", "{{output}}"),),
        "bytes",
        "At store.behind_bytes nothing more is fetched.",
    ),
    Panel(
        "Trouble",
        (
            ("sum(lycosa_crawl_stuck{})", "stuck"),
            ("sum by (cause) (lycosa_crawl_suspended{})", "suspended: {{cause}}"),
            ("sum(lycosa_crawl_full_disks{})", "full disks"),
            ("sum(lycosa_crawl_failing_hosts{})", "failing hosts"),
        ),
        "short",
        "All are 0 in a healthy crawl, but for hosts that fail by themselves.",
    ),
    Panel(
        "Memory",
        (("process_resident_memory_bytes{} and on(instance) lycosa_crawl_info", "{{instance}}"),),
        "bytes",
        "Of the processes.",
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    return {
        "title": "Lycosa: crawls",
        "uid": "lycosa-crawls",
        "tags": ["lycosa"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
                {
                    "name": "instance",
                    "type": "query",
                    "label": "Crawl",
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "query": "label_values(lycosa_crawl_info, instance)",
                    "refresh": 2,
                    "multi": True,
                    "includeAll": True,
                },
            ]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    """Return a panel at its place."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.says,
        "datasource": source,
        "gridPos": {"x": number % 3 * WIDTH, "y": number // 3 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": source,
                "expr": query.replace("{}", f"{{{CHOSEN}}}"),
                "legendFormat": legend,
            }
            for place, (query, legend) in enumerate(panel.queries)
        ],
    }


def main() -> None:
    """Write the file."""
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text(json.dumps(dashboard(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
