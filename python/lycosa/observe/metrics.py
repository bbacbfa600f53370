"""What a crawl tells to Prometheus. docs/observe.md lists the names; none has a label with hosts or URLs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lycosa import __version__
from lycosa.status_server import metric_head, metric_line, process_lines


class Family(NamedTuple):
    """A family of metrics: its kind, its help, its label if it has one."""

    kind: str
    says: str
    label: str | None = None


#: All families, without the prefix ``lycosa_crawl_``. Counters go on when a crawl is resumed. Numbers that fall when
#: a URL is opened again are gauges.
FAMILIES = {
    "info": Family("gauge", "Version, as a label.", "version"),
    "pages": Family("gauge", "URLs that ended with a page."),
    "redirects": Family("gauge", "URLs that ended with a redirect."),
    "retries_total": Family("counter", "Outcomes that led to a further try."),
    "responses_total": Family("counter", "Responses of any kind, those for robots.txt too."),
    "robots_total": Family("counter", "Outcomes of requests for robots.txt and tdmrep.json."),
    "received_bytes_total": Family("counter", "Bytes of bodies as received."),
    "links_total": Family("counter", "Links in pages."),
    "statuses": Family("gauge", "URLs by the status code that they ended with.", "status"),
    "failures": Family("gauge", "URLs that ended without a response, by kind (docs/errors.md).", "kind"),
    "refused_pages": Family("gauge", "Pages that are no content, by kind.", "kind"),
    "type_responses_total": Family("counter", "Responses by media type: at most 100, and other.", "type"),
    "type_bytes_total": Family("counter", "Bytes of bodies by media type.", "type"),
    "phase_seconds_total": Family("counter", "Seconds of all responses by phase.", "phase"),
    "urls": Family("gauge", "URLs by state: waiting, leased, done, failed, refused.", "state"),
    "hosts": Family("gauge", "Hosts that are known."),
    "resolving_names": Family("gauge", "Names that are being resolved."),
    "in_flight_requests": Family("gauge", "Requests under way."),
    "failing_hosts": Family("gauge", "Hosts that fail and are tried again, at most ten."),
    "dns_questions_total": Family("counter", "Questions that were sent to DNS servers."),
    "names_total": Family("counter", "Names that were looked up, by class.", "class"),
    "cpu_seconds_total": Family("counter", "CPU time of this process by stage.", "stage"),
    "suspended": Family("gauge", "1 while nothing counts against sites, by cause.", "cause"),
    "full_disks": Family("gauge", "Paths that wait for disk space."),
    "stuck": Family("gauge", "Stages, outputs, requests and frontiers that do not move."),
    "log_bytes": Family("gauge", "The end of the log."),
    "output_behind_bytes": Family("gauge", "Bytes of the log that an output has not committed.", "output"),
}

#: Causes of suspensions.
CAUSES = ("names", "connections", "captive")


def crawl_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a scrape, from a report."""
    values = _values(report)
    for name, family in FAMILIES.items():
        yield from metric_head(f"lycosa_crawl_{name}", family.kind, family.says)
        for label, value in values[name].items():
            labels = "" if family.label is None else f'{family.label}="{_safe(label)}"'
            yield metric_line(f"lycosa_crawl_{name}", labels, value)
    yield from process_lines()


def _values(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the values of all families by label."""
    frontier, names, suspended = report["frontier"], report["names"], {one["cause"] for one in report["suspensions"]}
    types, phases = report["types"], report["mean_seconds"]
    end = report["log_bytes"]
    alone: dict[str, float] = {
        "pages": report["pages"],
        "redirects": report["redirects"],
        "retries_total": report["retries"],
        "responses_total": report["responses"],
        "robots_total": report["robots"],
        "received_bytes_total": report["bytes"],
        "links_total": report["links"],
        "hosts": frontier["hosts"],
        "resolving_names": frontier["unresolved"],
        "in_flight_requests": report["in_flight"],
        "failing_hosts": len(report["failing"]),
        "dns_questions_total": names["questions"],
        "full_disks": len(report["full_disks"]),
        "stuck": len(report["stuck"]),
        "log_bytes": end,
    }
    return {
        **{name: {"": value} for name, value in alone.items()},
        "info": {__version__: 1},
        "statuses": {str(status): count for status, count in report["statuses"].items()},
        "failures": report["failures"],
        "refused_pages": {kind: one["count"] for kind, one in report["refusals"].items()},
        "type_responses_total": {name: one["responses"] for name, one in types.items()},
        "type_bytes_total": {name: one["bytes"] for name, one in types.items()},
        "phase_seconds_total": {phase: mean * report["responses"] for phase, mean in phases.items()},
        "urls": {state: frontier[state] for state in ("waiting", "leased", "done", "failed", "refused")},
        "names_total": {kind: names[kind] for kind in ("fast", "slow", "failed")},
        "cpu_seconds_total": report["session"]["cpu_by_stage"],
        "suspended": {cause: int(cause in suspended) for cause in CAUSES},
        "output_behind_bytes": {name: max(end - at, 0) for name, at in report["output_positions"].items()},
    }


def _safe(text: str) -> str:
    """Return a text without what labels cannot have."""
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\')
