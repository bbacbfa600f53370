"""``lycosa dns top``: what a running DNS server does, live on a terminal, or as JSON for programs."""

from __future__ import annotations

import argparse
import http.client
import json
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lycosa.cli import top
from lycosa.errors import LycosaError, SettingError
from lycosa.names.histograms import quantile, since
from lycosa.names.server_settings import endpoint

#: Time-out of a response, in seconds; maximum size of a response, in bytes.
WITHIN, MAX_BYTES = 2.0, 1 << 20

#: Response codes, in the order of display.
CODES = ("noerror", "nxdomain", "servfail", "refused", "formerr", "notimp", "other")

#: Displayed quantiles of times.
SHARES = {"p50": 0.5, "p99": 0.99}

#: Further counters that are displayed as rates.
RATES = ("stale", "prefetches", "passed_through", "truncated", "dropped", "refused_clients", "limited", "unfair")


def run(args: argparse.Namespace) -> int:
    """Show until Ctrl-C, or once; returns the exit status."""
    found = endpoint(args.http)
    if found is None or not found[1]:
        raise SettingError("--http", args.http, "an address and a port, as the server was given: 127.0.0.1:9153")
    host, port = str(found[0]), found[1]
    top.show(lambda: look(host, port), compare, render, once=args.once, as_json=args.json)
    return 0


def look(host: str, port: int) -> dict[str, Any]:
    """Fetch a server's statistics; raises LycosaError if there is no such server."""
    asking = http.client.HTTPConnection(host, port, timeout=WITHIN)
    try:
        asking.request("GET", "/statistics")
        answer = asking.getresponse()
        if answer.status != 200:
            raise LycosaError(f"{host}:{port} returns {answer.status} for GET /statistics: not a `lycosa dns`?")
        found = json.loads(answer.read(MAX_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        told = f"cannot read statistics from {host}:{port}: {reason}; `lycosa dns` serves them at its --http address"
        raise LycosaError(told) from None
    finally:
        asking.close()
    if not isinstance(found, dict) or "statistics" not in found:
        raise LycosaError(f"{host}:{port} returns something else: not a `lycosa dns`?")
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Compute rates between two updates, and the current state; a restarted server counts from its start."""
    if before["pid"] != after["pid"] or before["seconds"] > after["seconds"]:
        before = {"seconds": 0.0, "statistics": {}, "upstreams": []}
    seconds = max(after["seconds"] - before["seconds"], 1e-3)
    new: dict[str, Any] = after["statistics"]

    def rate(name: str, of: dict[str, Any] = new, since: dict[str, Any] = before["statistics"]) -> float:
        done: int = max(of[name] - since.get(name, 0), 0)  # an upstream may have been removed and added again
        return float(round(done / seconds, 1))

    hits, misses = rate("hits"), rate("misses")
    known = {each["server"]: each for each in before["upstreams"]}
    return {
        **{name: after[name] for name in ("version", "tier", "listening", "status", "fallen_back")},
        "uptime": after["seconds"],
        "interval": round(seconds, 3),
        "questions_per_second": {"udp": rate("questions_udp"), "tcp": rate("questions_tcp")},
        "answers_per_second": {code: rate(f"answers_{code}") for code in CODES},
        "hit_rate": round(hits / (hits + misses), 4) if hits + misses else None,
        "waiting": new["waiting"],
        "tcp_open": new["tcp_open"],
        "per_second": {name: rate(name) for name in RATES},
        "answer_seconds": {
            source: quantiles
            for source, times in after.get("answer_seconds", {}).items()
            if (quantiles := _quantiles(times, before.get("answer_seconds", {}).get(source), after)) is not None
        },
        "upstreams": [
            {
                "round_trip_seconds": _quantiles(
                    each.get("round_trips"), known.get(each["server"], {}).get("round_trips"), after
                ),
                **{name: each[name] for name in ("server", "round_trip", "window", "is_resting")},
                **{
                    f"{name}_per_second": rate(name, each, known.get(each["server"], {}))
                    for name in ("questions", "timeouts")
                },
            }
            for each in after["upstreams"]
        ],
        "cache": {name: new[f"cache_{name}"] for name in ("names", "capacity", "bytes")},
    }


def _quantiles(
    times: dict[str, Any] | None, before: dict[str, Any] | None, found: dict[str, Any]
) -> dict[str, float] | None:
    """Return p50 and p99, in seconds, of the times between two updates; `None` if there are none."""
    if times is None:
        return None
    counts = since(times["counts"], before["counts"] if before else None)
    if not any(counts):
        return None
    return {name: quantile(share, counts, found["time_bounds"]) or 0.0 for name, share in SHARES.items()}


def render(figures: dict[str, Any]) -> Group:
    """Format the figures as tables."""
    asked, codes, cache = figures["questions_per_second"], figures["answers_per_second"], figures["cache"]
    others = [f"{name.replace('_', ' ')} {rate:,.0f}" for name, rate in figures["per_second"].items() if rate]
    hit_rate = "–" if figures["hit_rate"] is None else f"{figures['hit_rate']:.1%}"
    rows = [
        ("state", figures["status"]),
        ("running for", _duration(figures["uptime"])),
        ("questions/s", f"{sum(asked.values()):,.0f} (TCP {asked['tcp']:,.0f})"),
        ("answers/s", ", ".join(f"{code} {rate:,.0f}" for code, rate in codes.items() if rate) or "none"),
        ("from cache", hit_rate),
        ("p50, p99", _times(figures["answer_seconds"])),
        ("pending", f"{figures['waiting']:,}; TCP connections {figures['tcp_open']:,}"),
        ("also, per second", ", ".join(others) or "none"),
        (
            "cache",
            f"{cache['names']:,} of {cache['capacity']:,} names ({cache['names'] / max(cache['capacity'], 1):.1%}), "
            f"{cache['bytes'] / 1e6:,.1f} MB{'; not in its file' if figures['fallen_back'] else ''}",
        ),
    ]
    title = f"lycosa dns {figures['version']}: {figures['tier']} tier on {', '.join(figures['listening'])}"
    server = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows:
        server.add_row(name, Text(value))
    upstreams = Table("upstream", title="Upstreams", title_justify="left")
    for name in ("questions/s", "RTT", "p50", "p99", "window", "timeouts/s", ""):
        upstreams.add_column(name, justify="right")
    for each in figures["upstreams"]:
        upstreams.add_row(
            each["server"],
            f"{each['questions_per_second']:,.0f}",
            _time(each["round_trip"]),
            *(_time((each["round_trip_seconds"] or {}).get(name)) for name in SHARES),
            f"{each['window']:,}",
            f"{each['timeouts_per_second']:,.0f}",
            "resting" if each["is_resting"] else "",
        )
    return Group(server, upstreams)


def _times(answers: dict[str, dict[str, float]]) -> str:
    """Format the answer times by source."""
    told = (f"{source} {', '.join(map(_time, quantiles.values()))}" for source, quantiles in answers.items())
    return "; ".join(told) or "–"


def _time(seconds: float | None) -> str:
    """Format a short time."""
    if seconds is None:
        return "–"
    return f"{seconds * 1e6:,.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


def _duration(seconds: float) -> str:
    """Format a time in its two largest units."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3_600), int(seconds // 86_400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {int(seconds % 60)} s" if minutes else f"{int(seconds)} s"
