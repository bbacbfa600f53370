"""What a running DNS server tells over HTTP: ``/metrics``, ``/healthz``, ``/statistics``. Reads, changes nothing.

Guarantees: at most ``THREADS`` requests at a time, each of at most ``MAX_HEAD`` bytes within ``WITHIN`` seconds, one
a connection; others wait in the system's queue. Only GET does anything.
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

#: Requests at a time: a scraper, a prober, a terminal view and one that is slow.
THREADS = 4

#: Seconds for a request and its answer; bytes of its head.
WITHIN, MAX_HEAD = 5.0, 8_192

#: The text format of Prometheus, version 0.0.4.
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

#: Text for people.
PLAIN = "text/plain; charset=utf-8"


class Family(NamedTuple):
    """A metric: its name less ``lycosa_dns_``, its kind, what it says; its series, each a count's name and labels."""

    name: str
    kind: str
    says: str
    series: tuple[tuple[str, str], ...]


#: Every count and gauge of ``DnsServer.statistics``, once.
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
    Family("cache_hits_total", "counter", "Questions answered from memory.", (("hits", ""),)),
    Family("cache_misses_total", "counter", "Questions whose answer was not in memory.", (("misses", ""),)),
    Family("stale_total", "counter", "Answers given after their TTL since upstreams failed.", (("stale", ""),)),
    Family("prefetches_total", "counter", "Names asked for anew shortly before they expired.", (("prefetches", ""),)),
    Family(
        "packet_hits_total",
        "counter",
        "Questions answered by an upstream's answer that was kept as it came.",
        (("packet_hits", ""),),
    ),
    Family("local_total", "counter", "Questions answered from the hosts file or local data.", (("local", ""),)),
    Family("passed_through_total", "counter", "Questions passed through to upstreams.", (("passed_through", ""),)),
    Family("truncated_total", "counter", "Answers cut so that the client comes back by TCP.", (("truncated", ""),)),
    Family("dropped_total", "counter", "Packets that got no answer.", (("dropped", ""),)),
    Family(
        "refused_total",
        "counter",
        "Questions refused, by reason: the client is not allowed, or has too many under way.",
        (("refused_clients", 'reason="not_allowed"'), ("unfair", 'reason="unfair"')),
    ),
    Family(
        "accept_failures_total",
        "counter",
        "TCP connections that the system could not accept: too few file descriptors.",
        (("accept_failures", ""),),
    ),
    Family("limited_total", "counter", "Answers held back by the rate of a client.", (("limited", ""),)),
    Family("bad_cookies_total", "counter", "Questions with a cookie that is not ours.", (("bad_cookies", ""),)),
    Family("private_filtered_total", "counter", "Answers less private addresses.", (("private_filtered", ""),)),
    Family("waiting", "gauge", "Questions that wait for an upstream.", (("waiting", ""),)),
    Family("loop", "gauge", "1 while the server's own questions come back to it.", (("loop", ""),)),
    Family("silent", "gauge", "1 while no upstream answers.", (("silent", ""),)),
    Family("cache_names", "gauge", "Names in memory.", (("cache_names", ""),)),
    Family("cache_capacity_names", "gauge", "Names that memory is made for.", (("cache_capacity", ""),)),
    Family(
        "cache_slots_used", "gauge", "Places of memory in use, also by what does not resolve.", (("cache_used", ""),)
    ),
    Family("cache_bytes", "gauge", "Bytes of the memory of names.", (("cache_bytes", ""),)),
    Family("packets", "gauge", "Answers that are kept as they came.", (("packets", ""),)),
    Family("packet_bytes", "gauge", "Bytes of these.", (("packet_bytes", ""),)),
    Family(
        "query_log_dropped_total",
        "counter",
        "Lines of the log of questions that were lost: too many at once, or not taken by the disk.",
        (("query_log_dropped", ""),),
    ),
    Family("tcp_connections", "gauge", "TCP connections that are open.", (("tcp_open", ""),)),
)

#: The same for each upstream, of ``DnsServer.upstreams``.
UPSTREAM_FAMILIES = (
    Family("upstream_questions_total", "counter", "Questions sent to an upstream.", (("questions", ""),)),
    Family("upstream_answers_total", "counter", "Answers that came from it.", (("answers", ""),)),
    Family("upstream_timeouts_total", "counter", "Questions that it did not answer in time.", (("timeouts", ""),)),
    Family("upstream_round_trip_seconds", "gauge", "Its smoothed round-trip time.", (("round_trip", ""),)),
    Family("upstream_window", "gauge", "Questions that may be under way to it.", (("window", ""),)),
    Family("upstream_resting", "gauge", "1 while others are asked instead.", (("is_resting", ""),)),
)


def overview(server: Server) -> dict[str, Any]:
    """Everything that can be told of a server, for programs."""
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
    """The same for Prometheus. Labels tell states and upstreams, never names or clients: their number is bounded."""
    return "".join(f"{line}\n" for line in _lines(server))


def _lines(server: Server) -> Iterator[str]:
    """The lines of a scrape, as its text format wants them: a family's lines together, after its HELP and TYPE."""
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
        "From the receipt of a question to the sending of its answer, by where that came from.",
        ((f'source="{source}"', times) for source, times in server.answer_times().items()),
    )
    yield from _histogram(
        "lycosa_dns_upstream_seconds",
        "From a question to an upstream to its reply.",
        ((f'server="{each["server"]}"', each["round_trips"]) for each in upstreams),
    )
    yield from _head("lycosa_dns_reloads_total", "counter", "Reloads of the settings, by what became of them.")
    yield _line("lycosa_dns_reloads_total", 'result="taken"', server.reloads)
    yield _line("lycosa_dns_reloads_total", 'result="refused"', server.reloads_refused)
    labels = f'version="{__version__}",tier="{server.settings.tier}"'
    yield from _head("lycosa_dns_info", "gauge", "Version and tier, as labels.")
    yield _line("lycosa_dns_info", labels, 1)
    own: tuple[tuple[str, str, str, float], ...] = (
        ("lycosa_dns_draining", "gauge", "1 while no new questions are taken.", server.draining),
        ("lycosa_dns_uptime_seconds", "gauge", "Since it listens.", round(server.seconds, 3)),
        ("process_cpu_seconds_total", "counter", "CPU time of the process.", _cpu()),
        ("process_resident_memory_bytes", "gauge", "Memory of the process, mapped files included.", _resident()),
    )
    for name, kind, says, now in own:
        yield from _head(name, kind, says)
        yield _line(name, "", now)


def _head(name: str, kind: str, says: str) -> tuple[str, str]:
    """What stands above a family."""
    return f"# HELP {name} {says}", f"# TYPE {name} {kind}"


def _histogram(name: str, says: str, each: Iterable[tuple[str, Histogram]]) -> Iterator[str]:
    """A family of histograms, each with its labels."""
    yield from _head(name, "histogram", says)
    for labels, times in each:
        for suffix, bound, now in series(times):
            yield _line(f"{name}_{suffix}", labels if bound is None else f'{labels},le="{bound}"', now)


def _line(name: str, labels: str, value: float) -> str:
    """One series. No label here holds a quote, a backslash or a line's end."""
    return f"{name}{f'{{{labels}}}' if labels else ''} {int(value) if isinstance(value, bool) else value}"


def _cpu() -> float:
    """Seconds of CPU that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident() -> int:
    """Bytes of this process in memory (proc(5), statm)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


class Page(NamedTuple):
    """What is answered."""

    status: str
    kind: str
    text: str


class HttpServer:
    """Answers GET for a server, on threads of its own, until it is closed.

    >>> with HttpServer(server, "127.0.0.1:9153") as http:  # doctest: +SKIP
    ...     urllib.request.urlopen(f"http://{http.address}/metrics")
    """

    def __init__(self, server: Server, address: str) -> None:
        """Listen at an address that was checked; raises LycosaError where the system refuses it."""
        found = endpoint(address)
        assert found is not None, "checked with the settings"
        ip, port = found
        try:
            self._socket = socket.create_server(
                (str(ip), port or 0), family=socket.AF_INET6 if ip.version == 6 else socket.AF_INET, backlog=16
            )
        except OSError as error:
            reason = os.strerror(error.errno or 0)  # without what Python adds to it
            raise LycosaError(f"http {address}: {reason}; choose another address or port") from None
        self._pages: dict[str, Callable[[], Page]] = {
            "/metrics": lambda: Page("200 OK", PROMETHEUS, prometheus(server)),
            "/healthz": lambda: _health(server.trouble()),
            "/statistics": lambda: Page("200 OK", "application/json", f"{json.dumps(overview(server), indent=2)}\n"),
        }
        #: Where it listens, with the port that the system chose.
        self.address = told(ip, self._socket.getsockname()[1])
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, name=f"lycosa-http-{each}", daemon=True) for each in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Take no more connections; requests under way are answered."""
        self._ended.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes those who wait
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        """The server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _serve(self) -> None:
        """Answer one connection after the other; a thread's body."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                # The end; or a client that has gone, or no file descriptor left: not to be tried in a busy loop.
                if self._ended.wait(0.05):
                    return
                continue
            with connection:
                try:
                    self._answer(connection)
                except OSError:  # too slow, or gone
                    continue

    def _answer(self, connection: socket.socket) -> None:
        """Read a request and answer it."""
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
        """The answer to a request's head."""
        line, end, _ = head.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if not end or len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Page("400 Bad Request", PLAIN, "no request of HTTP/1\n")
        method, target, _ = words
        if method != "GET":
            return Page("405 Method Not Allowed", PLAIN, "only GET\n")
        make = self._pages.get(target.partition("?")[0])
        if make is None:
            return Page("404 Not Found", PLAIN, f"here are {', '.join(self._pages)}\n")
        try:
            return make()
        except Exception:
            # Whoever watches sees it, and the others are still answered.
            logger.exception("%s cannot be told", target)
            return Page("500 Internal Server Error", PLAIN, "an error of Lycosa; its log tells more\n")


def _health(trouble: str | None) -> Page:
    """The answer to a prober."""
    status = "200 OK" if trouble is None else "503 Service Unavailable"
    return Page(status, PLAIN, f"{trouble or 'ok'}\n")


def _read_head(connection: socket.socket) -> bytes:
    """The head of a request, or as much of it as may come; nothing where nothing came. Raises TimeoutError."""
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
