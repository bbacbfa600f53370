"""nginx as the static server: its own configuration, one worker, a free loopback port."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import last_line
from benchmarks.ports import free_port
from benchmarks.report import BenchmarkError

START = 10.0  # seconds until it must answer

#: Files that it keeps open: a site that has more pages than may be open would answer 500.
CACHED = 20_000


@contextlib.contextmanager
def serving(
    site: Path,
    folder: Path,
    cores: frozenset[int],
    certificate: Path | None = None,
    options: str = "",
    lines: str = "",
    connections: int = 1024,
    addresses: int = 1,
) -> Iterator[str]:
    """Serve `site` while the block runs and yield the root URL; nginx has its files in `folder`.

    certificate: a PEM file with key and certificate, to serve by HTTPS. options: further ones of `listen`; lines:
    further settings of the server. connections: at once, at most. addresses: at which it listens, from 127.0.0.1 on.
    """
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        raise BenchmarkError("nginx is missing, which serves the site: apt-get install nginx-light")
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(
        user="user root;" if os.getuid() == 0 else "",  # else the worker could not read a private folder
        folder=folder, site=site, lines=lines, listen=_listen(addresses, port, certificate is not None, options),
        connections=connections, cached=CACHED, files=2 * connections + CACHED,
        keys="" if certificate is None else f"ssl_certificate {certificate}; ssl_certificate_key {certificate};",
    ))  # fmt: skip
    log = folder / "nginx.log"
    with log.open("wb") as sink:
        child = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "error.log")],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    try:
        _wait_until_it_answers(child, port, log)
        yield f"{'http' if certificate is None else 'https'}://127.0.0.1:{port}/"
    finally:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _listen(addresses: int, port: int, is_secure: bool, options: str) -> str:
    """Return the lines of the addresses at which it listens."""
    more = (" ssl" if is_secure else "") + options
    return " ".join(f"listen 127.0.0.{number}:{port}{more};" for number in range(1, addresses + 1))


def version() -> str:
    """Return the output of nginx's version option."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        return "missing"
    done = subprocess.run([program, "-v"], capture_output=True, text=True, timeout=10, check=False)
    return done.stderr.strip().rpartition("/")[2] or "unknown"


def _wait_until_it_answers(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when the port accepts connections."""
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise BenchmarkError(f"nginx did not start: {last_line(log)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise BenchmarkError(f"nginx does not answer on port {port} after {START:.0f} s: {last_line(log)}")


# What a static site's nginx would have, less the access log; no gzip: contestants are compared on plain HTTP.
_CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
    types {{ text/html html; text/plain txt; }}
    default_type application/octet-stream;
    charset utf-8;
    access_log off;
    gzip off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max={cached} inactive=600s;
    open_file_cache_valid 600s;
    keepalive_timeout 600s;
    keepalive_requests 100000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        {listen}
        {keys}
        {lines}
        root {site};
        index index.html;
    }}
}}
"""
