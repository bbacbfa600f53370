"""HTTP endpoints of a running DNS server: ``/metrics``, ``/healthz``, ``/statistics``. They are read-only.

Guarantees: at most ``THREADS`` requests at a time, each of at most ``MAX_HEAD`` bytes within ``WITHIN`` seconds, one
per connection; others wait in the accept queue. Only GET is supported.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from lycosa import __version__
from lycosa.errors import LycosaError
from lycosa.names.histograms import BOUNDS, Histogram, series
from lycosa.names.server import Server
from lycosa.names.server_settings import endpoint, told

logger = logging.getLogger("lycosa")

#: Concurrent requests: a scraper, a prober, a terminal view and a slow client.
THREADS = 4

#: Time-out of a request and its response, in seconds; maximum size of its head, in bytes.
WITHIN, MAX_HEAD = 5.0, 8_192

#: The text format of Prometheus, version 0.0.4.
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

#: Plain text.
PLAIN = "text/plain; charset=utf-8"


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
        yield from _head(f"lycosa_dns_{family.name}", family.kind, family.says)
        for count, labels in family.series:
            yield _line(f"lycosa_dns_{family.name}", labels, counts[count])
    for family in UPSTREAM_FAMILIES:
        yield from _head(f"lycosa_dns_{family.name}", family.kind, family.says)
        for upstream in upstreams:
            for value, _ in family.series:
                if upstream[value] is not None:  # no round trip before the first answer
                    label = f'server="{upstream["server"]}"'
                    yield _line(f"lycosa_dns_{family.name}", label, upstream[value])
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
    yield from _head("lycosa_dns_reloads_total", "counter", "Reloads of the settings, by result.")
    yield _line("lycosa_dns_reloads_total", 'result="taken"', server.reloads)
    yield _line("lycosa_dns_reloads_total", 'result="refused"', server.reloads_refused)
    labels = f'version="{__version__}",tier="{server.settings.tier}"'
    yield from _head("lycosa_dns_info", "gauge", "Version and tier, as labels.")
    yield _line("lycosa_dns_info", labels, 1)
    own: tuple[tuple[str, str, str, float], ...] = (
        ("lycosa_dns_draining", "gauge", "1 while no new questions are taken.", server.draining),
        ("lycosa_dns_uptime_seconds", "gauge", "Time since the server listens.", round(server.seconds, 3)),
        ("process_cpu_seconds_total", "counter", "CPU time of the process.", _cpu()),
        ("process_resident_memory_bytes", "gauge", "Memory of the process, mapped files included.", _resident()),
    )
    for name, kind, says, now in own:
        yield from _head(name, kind, says)
        yield _line(name, "", now)


def _head(name: str, kind: str, says: str) -> tuple[str, str]:
    """Return the header of a family."""
    return f"# HELP {name} {says}", f"# TYPE {name} {kind}"


def _histogram(name: str, says: str, each: Iterable[tuple[str, Histogram]]) -> Iterator[str]:
    """Yield a family of histograms, each with its labels."""
    yield from _head(name, "histogram", says)
    for labels, times in each:
        for suffix, bound, now in series(times):
            yield _line(f"{name}_{suffix}", labels if bound is None else f'{labels},le="{bound}"', now)


def _line(name: str, labels: str, value: float) -> str:
    """Format one series. No label contains a quote, a backslash or a line break."""
    return f"{name}{f'{{{labels}}}' if labels else ''} {int(value) if isinstance(value, bool) else value}"


def _cpu() -> float:
    """Return the CPU time of this process, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident() -> int:
    """Return the resident memory of this process, in bytes (proc(5), statm)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


class Page(NamedTuple):
    """An HTTP response."""

    status: str
    kind: str
    text: str


class HttpServer:
    """Serves HTTP for a DNS server, on threads of its own, until it is closed.

    >>> with HttpServer(server, "127.0.0.1:9153") as http:  # doctest: +SKIP
    ...     urllib.request.urlopen(f"http://{http.address}/metrics")
    """

    def __init__(self, server: Server, address: str) -> None:
        """Listen at a checked address; raises LycosaError if that fails."""
        found = endpoint(address)
        assert found is not None, "checked with the settings"
        ip, port = found
        try:
            self._socket = socket.create_server(
                (str(ip), port or 0), family=socket.AF_INET6 if ip.version == 6 else socket.AF_INET, backlog=16
            )
        except OSError as error:
            reason = os.strerror(error.errno or 0)  # without Python's additions
            raise LycosaError(f"http {address}: {reason}; choose another address or port") from None
        self._pages: dict[str, Callable[[], Page]] = {
            "/metrics": lambda: Page("200 OK", PROMETHEUS, prometheus(server)),
            "/healthz": lambda: _health(server.trouble()),
            "/statistics": lambda: Page("200 OK", "application/json", f"{json.dumps(overview(server), indent=2)}\n"),
        }
        #: The address, with the port that the system chose.
        self.address = told(ip, self._socket.getsockname()[1])
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, name=f"lycosa-http-{each}", daemon=True) for each in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Accept no more connections; pending requests are answered."""
        self._ended.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the waiting threads
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _serve(self) -> None:
        """Serve one connection after the other; a thread's body."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                # Closed; or the client is gone, or no file descriptor is left: avoid a busy loop.
                if self._ended.wait(0.05):
                    return
                continue
            with connection:
                try:
                    self._answer(connection)
                except OSError:  # too slow, or gone
                    continue

    def _answer(self, connection: socket.socket) -> None:
        """Read a request and send the response."""
        head = _read_head(connection)
        if not head:
            return
        page = self._page(head)
        body = page.text.encode()
        allowed = "Allow: GET\r\n" if page.status.startswith("405") else ""
        connection.settimeout(WITHIN)
        connection.sendall(
            f"HTTP/1.1 {page.status}\r\nContent-Type: {page.kind}\r\nContent-Length: {len(body)}\r\n{allowed}"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
            + body
        )

    def _page(self, head: bytes) -> Page:
        """Return the response to a request's head."""
        line, end, _ = head.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if not end or len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Page("400 Bad Request", PLAIN, "not an HTTP/1 request\n")
        method, target, _ = words
        if method != "GET":
            return Page("405 Method Not Allowed", PLAIN, "only GET\n")
        make = self._pages.get(target.partition("?")[0])
        if make is None:
            return Page("404 Not Found", PLAIN, f"available: {', '.join(self._pages)}\n")
        try:
            return make()
        except Exception:
            # Reported to the client and the log; further requests are still served.
            logger.exception("%s failed", target)
            return Page("500 Internal Server Error", PLAIN, "an error of Lycosa; see its log\n")


def _health(trouble: str | None) -> Page:
    """Return the response to a health check."""
    status = "200 OK" if trouble is None else "503 Service Unavailable"
    return Page(status, PLAIN, f"{trouble or 'ok'}\n")


def _read_head(connection: socket.socket) -> bytes:
    """Read the head of a request, at most ``MAX_HEAD`` bytes or until the end. Raises TimeoutError."""
    head, until = b"", time.monotonic() + WITHIN
    while b"\r\n\r\n" not in head and len(head) < MAX_HEAD:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(MAX_HEAD - len(head))
        if not piece:
            break
        head += piece
    return head
