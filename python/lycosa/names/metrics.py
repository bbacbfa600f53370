"""The metrics and the state of a running DNS server, by HTTP: ``/metrics``, ``/healthz``, ``/statistics``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from lycosa import __version__
from lycosa.names.histograms import BOUNDS, Histogram, series
from lycosa.names.server import Server
from lycosa.status_server import PROMETHEUS, Page, StatusServer, health, metric_head, metric_line, process_lines


class Family(NamedTuple):
    """A metric: its name without ``lycosa_dns_``, kind, help; its series, each a counter's name and labels."""

    name: str
    kind: str
    says: str
    series: tuple[tuple[str, str], ...]


#: Every counter and gauge of ``DnsServer.statistics``, once.
FAMILIES = (
    Family(
        "questions_total",
        "counter",
        "Questions received.",
        (("questions_udp", 'transport="udp"'), ("questions_tcp", 'transport="tcp"')),
    ),
    Family(
        "answers_total",
        "counter",
        "Answers sent, by response code.",
        tuple(
            (f"answers_{code}", f'rcode="{code}"')
            for code in ("noerror", "nxdomain", "servfail", "refused", "formerr", "notimp", "other")
        ),
    ),
    Family("cache_hits_total", "counter", "Questions answered from the cache.", (("hits", ""),)),
    Family("cache_misses_total", "counter", "Questions whose answer was not in the cache.", (("misses", ""),)),
    Family("stale_total", "counter", "Expired answers served because upstreams failed.", (("stale", ""),)),
    Family("prefetches_total", "counter", "Names prefetched shortly before they expired.", (("prefetches", ""),)),
    Family(
        "packet_hits_total",
        "counter",
        "Questions answered by a cached reply of an upstream.",
        (("packet_hits", ""),),
    ),
    Family("local_total", "counter", "Questions answered from the hosts file or local data.", (("local", ""),)),
    Family("passed_through_total", "counter", "Questions passed through to upstreams.", (("passed_through", ""),)),
    Family("truncated_total", "counter", "Answers truncated for a retry by TCP.", (("truncated", ""),)),
    Family("dropped_total", "counter", "Packets without an answer.", (("dropped", ""),)),
    Family(
        "refused_total",
        "counter",
        "Questions refused, by reason: the client is not allowed, or has too many pending.",
        (("refused_clients", 'reason="not_allowed"'), ("unfair", 'reason="unfair"')),
    ),
    Family(
        "accept_failures_total",
        "counter",
        "TCP connections that could not be accepted: too few file descriptors.",
        (("accept_failures", ""),),
    ),
    Family("limited_total", "counter", "Answers suppressed by the client's rate limit.", (("limited", ""),)),
    Family("bad_cookies_total", "counter", "Questions with an invalid server cookie.", (("bad_cookies", ""),)),
    Family("private_filtered_total", "counter", "Answers without private addresses.", (("private_filtered", ""),)),
    Family("waiting", "gauge", "Questions that wait for an upstream.", (("waiting", ""),)),
    Family("loop", "gauge", "1 while the server's own questions come back to it.", (("loop", ""),)),
    Family("silent", "gauge", "1 while no upstream answers.", (("silent", ""),)),
    Family("cache_names", "gauge", "Names in the cache.", (("cache_names", ""),)),
    Family("cache_capacity_names", "gauge", "Capacity of the cache in names.", (("cache_capacity", ""),)),
    Family(
        "cache_slots_used", "gauge", "Slots of the cache in use, including negative entries.", (("cache_used", ""),)
    ),
    Family("cache_bytes", "gauge", "Size of the cache of names in bytes.", (("cache_bytes", ""),)),
    Family(
        "cache_sets_full_total",
        "counter",
        "Answers with several addresses or IPv6 that the cache had no space for.",
        (("cache_sets_full", ""),),
    ),
    Family("packets", "gauge", "Cached replies of upstreams.", (("packets", ""),)),
    Family("packet_bytes", "gauge", "Size of these in bytes.", (("packet_bytes", ""),)),
    Family(
        "query_log_dropped_total",
        "counter",
        "Lost lines of the query log: too many at once, or failed writes.",
        (("query_log_dropped", ""),),
    ),
    Family("tcp_connections", "gauge", "Open TCP connections.", (("tcp_open", ""),)),
)

#: The same for each upstream, of ``DnsServer.upstreams``.
UPSTREAM_FAMILIES = (
    Family("upstream_questions_total", "counter", "Questions sent to an upstream.", (("questions", ""),)),
    Family("upstream_answers_total", "counter", "Answers received from it.", (("answers", ""),)),
    Family("upstream_timeouts_total", "counter", "Questions that it did not answer in time.", (("timeouts", ""),)),
    Family("upstream_round_trip_seconds", "gauge", "Its smoothed round-trip time.", (("round_trip", ""),)),
    Family("upstream_window", "gauge", "Its congestion window in questions.", (("window", ""),)),
    Family("upstream_resting", "gauge", "1 while others are asked instead.", (("is_resting", ""),)),
)


def serve_metrics(server: Server, address: str) -> StatusServer:
    """Serve them at an address that was checked with the settings; raises LycosaError if that fails."""
    return StatusServer(
        address,
        {
            "/metrics": lambda: Page("200 OK", PROMETHEUS, prometheus(server)),
            "/healthz": lambda: health(server.trouble()),
            "/statistics": lambda: Page("200 OK", "application/json", f"{json.dumps(overview(server), indent=2)}\n"),
        },
    )


def overview(server: Server) -> dict[str, Any]:
    """Return the complete state of a server, for programs."""
    trouble = server.trouble()
    return {
        "version": __version__,
        "pid": os.getpid(),
        "tier": server.settings.tier,
        "listening": server.listening,
        "seconds": round(server.seconds, 6),
        "status": "ok" if trouble is None else trouble,
        "draining": server.draining,
        "fallen_back": server.fallen_back,
        "reloads": server.reloads,
        "reloads_refused": server.reloads_refused,
        "statistics": server.statistics(),
        "time_bounds": list(BOUNDS),
        "answer_seconds": {source: times._asdict() for source, times in server.answer_times().items()},
        "upstreams": [{**each, "round_trips": each["round_trips"]._asdict()} for each in server.upstreams()],
    }


def prometheus(server: Server) -> str:
    """Return the state for Prometheus. Labels are states and upstreams, never names or clients: they are bounded."""
    return "".join(f"{line}\n" for line in _lines(server))


def _lines(server: Server) -> Iterator[str]:
    """Yield the lines of a scrape: a family's lines are together, after its HELP and TYPE."""
    counts, upstreams = server.statistics(), server.upstreams()
    for family in FAMILIES:
        yield from metric_head(f"lycosa_dns_{family.name}", family.kind, family.says)
        for count, labels in family.series:
            yield metric_line(f"lycosa_dns_{family.name}", labels, counts[count])
    for family in UPSTREAM_FAMILIES:
        yield from metric_head(f"lycosa_dns_{family.name}", family.kind, family.says)
        for upstream in upstreams:
            for value, _ in family.series:
                if upstream[value] is not None:  # no round trip before the first answer
                    label = f'server="{upstream["server"]}"'
                    yield metric_line(f"lycosa_dns_{family.name}", label, upstream[value])
    yield from _histogram(
        "lycosa_dns_answer_seconds",
        "From the receipt of a question to the sending of its answer, by its source.",
        ((f'source="{source}"', times) for source, times in server.answer_times().items()),
    )
    yield from _histogram(
        "lycosa_dns_upstream_seconds",
        "From a question to an upstream to its reply.",
        ((f'server="{each["server"]}"', each["round_trips"]) for each in upstreams),
    )
    yield from metric_head("lycosa_dns_reloads_total", "counter", "Reloads of the settings, by result.")
    yield metric_line("lycosa_dns_reloads_total", 'result="taken"', server.reloads)
    yield metric_line("lycosa_dns_reloads_total", 'result="refused"', server.reloads_refused)
    labels = f'version="{__version__}",tier="{server.settings.tier}"'
    yield from metric_head("lycosa_dns_info", "gauge", "Version and tier, as labels.")
    yield metric_line("lycosa_dns_info", labels, 1)
    own: tuple[tuple[str, str, str, float], ...] = (
        ("lycosa_dns_draining", "gauge", "1 while no new questions are taken.", server.draining),
        ("lycosa_dns_uptime_seconds", "gauge", "Time since the server listens.", round(server.seconds, 3)),
    )
    for name, kind, says, now in own:
        yield from metric_head(name, kind, says)
        yield metric_line(name, "", now)
    yield from process_lines()


def _histogram(name: str, says: str, each: Iterable[tuple[str, Histogram]]) -> Iterator[str]:
    """Yield a family of histograms, each with its labels."""
    yield from metric_head(name, "histogram", says)
    for labels, times in each:
        for suffix, bound, now in series(times):
            yield metric_line(f"{name}_{suffix}", labels if bound is None else f'{labels},le="{bound}"', now)
