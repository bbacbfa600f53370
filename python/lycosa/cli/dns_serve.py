"""A DNS server of one tier as a process, from its start to its end."""

from __future__ import annotations

import argparse
import contextlib
import logging
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator

from lycosa.cli.systemd import notify, notify_reloading
from lycosa.cli.told import told
from lycosa.errors import LycosaError
from lycosa.job import read_job
from lycosa.names.metrics import serve_metrics
from lycosa.names.server import Server
from lycosa.names.server_settings import ServerSettings, check_no_loop, make_settings
from lycosa.status_server import StatusServer

logger = logging.getLogger("lycosa")

#: Seconds for pending questions at the end.
DRAIN = 5.0

#: Seconds between two health checks of the server.
LOOK = 1.0

#: Warning when TCP connections cannot be accepted.
NO_DESCRIPTORS = (
    "TCP connections cannot be accepted, since no file descriptors are left: "
    "raise the limit (LimitNOFILE=) or lower tcp_connections"
)


#: Warning when the query log cannot be written.
NOT_LOGGED = "%s; questions are answered, but not logged: lines are lost and counted (query_log_dropped)"


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it; returns the exit status."""

    def load() -> ServerSettings:
        return _settings(args)

    settings = load()
    if args.check:
        check_no_loop(settings.listen, settings)
        if not args.quiet:
            print(f"lycosa dns: nothing is wrong with the settings of this {settings.tier} server", file=sys.stderr)
        return 0
    # Signals are handled from the start: systemd may send one before the server listens.
    with told(quiet=args.quiet), _signals() as signals, contextlib.ExitStack() as opened:
        server = opened.enter_context(Server(settings))
        http = None if settings.http is None else opened.enter_context(serve_metrics(server, settings.http))
        if server.fallen_back is not None:
            logger.warning("the cache of names is in memory: %s", server.fallen_back)
        if settings.refuses_others():
            logger.warning("others reach this server and are refused: `allow` names this machine alone")
        if not args.quiet:
            print(_ready(server, http), file=sys.stderr, flush=True)
        notify("READY=1")
        serve(server, load, signals)
    return 0


def serve(server: Server, load: Callable[[], ServerSettings], signals: Callable[[float], set[int]]) -> None:
    """Serve until SIGTERM or SIGINT; ``signals`` returns those received, waiting at most some seconds."""
    trouble: str | None = None
    accepts = logs = True
    while not (come := signals(LOOK)) & {signal.SIGTERM, signal.SIGINT}:
        if signal.SIGHUP in come:
            _reload(server, load)
            logs = True
        before, trouble = trouble, server.trouble()
        if trouble != before:
            if trouble is None:
                logger.info("all is well again")
            else:
                logger.warning("%s", trouble)
        if accepts and server.statistics()["accept_failures"]:
            accepts = False  # logged once, not per connection
            logger.warning(NO_DESCRIPTORS)
        if logs and (lost := server.query_log_trouble) is not None:
            logs = False  # logged once until a reload: a disk may be full repeatedly
            logger.warning(NOT_LOGGED, lost)
    notify("STOPPING=1")
    if not server.drain(DRAIN):
        logger.warning("not all pending questions were answered within %g s", DRAIN)


def _reload(server: Server, load: Callable[[], ServerSettings]) -> None:
    """Read the settings again; on an error keep the old ones."""
    notify_reloading()
    try:
        changed = server.reload(load)
    except (LycosaError, OSError) as error:
        logger.warning("not reloaded, the old settings stay: %s", error)
    else:
        logger.info("reloaded; changed: %s", ", ".join(changed) or "nothing")
    notify("READY=1")


def _settings(args: argparse.Namespace) -> ServerSettings:
    """Return the settings of the file, overridden by the command line."""
    given = {} if args.config is None else read_job(args.config, "--config")
    over = {
        "tier": args.tier,
        "listen": None if args.listen is None else ",".join(args.listen),
        "upstreams": None if args.upstreams is None else ",".join(args.upstreams),
        "cache": args.cache,
        "workers": args.workers,
        "http": args.http,
        "query_log": args.query_log,
    }
    return make_settings(given | {name: value for name, value in over.items() if value is not None})


def _ready(server: Server, http: StatusServer | None) -> str:
    """Return the line that is printed once it listens."""
    metrics = "" if http is None else f", metrics on http://{http.address}"
    return (
        f"lycosa dns: {server.settings.tier} tier, listening on {', '.join(server.listening)} (UDP, TCP), "
        f"asking {', '.join(server.settings.upstreams)}{metrics}"
    )


@contextlib.contextmanager
def _signals() -> Iterator[Callable[[float], set[int]]]:
    """Yield a function that returns the signals received since its last call; it waits at most some seconds for one.

    Uses a socket, so that no signal is lost between two calls and none interrupts an operation.
    """
    receive, send = socket.socketpair()
    with receive, send:
        send.setblocking(False)

        def come(within: float) -> set[int]:
            return set(receive.recv(4_096)) if select.select([receive], [], [], within)[0] else set()

        numbers = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
        handlers = {number: signal.signal(number, lambda _number, _frame: None) for number in numbers}
        before = signal.set_wakeup_fd(send.fileno(), warn_on_full_buffer=False)
        try:
            yield come
        finally:
            signal.set_wakeup_fd(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
