"""What a request costs the fetch alone, beside wrk, h2load, and clients for Python (aiohttp, httpx)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks import nginx
from benchmarks.crawl_costs import make_certificate
from benchmarks.fetch_broad import broad
from benchmarks.fetch_many import cost_program, idle, in_flight
from benchmarks.harness import (
    Contestant,
    Cores,
    Options,
    Run,
    environment,
    in_turn,
    measure,
    progress,
    run_parts,
)
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

#: Bars: CPU of a request beside that of a bare load generator, and of a client for Python beside ours.
BARE, CLIENTS = 2.5, 3.0

#: Requests at a time, and rounds.
SLOTS, ROUNDS, QUICK_ROUNDS = 16, 5, 2

#: Requests of the long runs by size of the page; short runs, a tenth, are taken off, and with them the start.
REQUESTS = {27_000: 30_000, 240_000: 8_000}
QUICK = 4  # a quick run has so many times fewer

#: Requests of a Python client, which is slower.
SLOWER = 6

LYCOSA, WRK, H2LOAD, AIOHTTP, HTTPX = "lycosa", "wrk", "h2load", "aiohttp", "httpx"

#: Fetches of crawlers: Colly (Go) and spider (Rust). Ours is to cost less.
COLLY, SPIDER, CRAWLERS = "colly", "spider", 1.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A protocol, with the server's settings and the contestants that speak it."""

    name: str
    text: str
    tls: bool = False
    http2: bool = False
    closes: bool = False  # the server closes after each response
    resumes: bool = True  # the server gives session tickets
    contestants: tuple[str, ...] = (LYCOSA, WRK, COLLY, SPIDER, AIOHTTP, HTTPX)

    @property
    def bare(self) -> str:
        """The load generator."""
        return H2LOAD if self.http2 else WRK


KINDS = (
    Kind("http1", "HTTP/1.1"),
    Kind("https1", "HTTPS, HTTP/1.1", tls=True),
    Kind("h2", "HTTP/2", tls=True, http2=True, contestants=(LYCOSA, H2LOAD)),
    Kind("fresh", "HTTPS, a fresh handshake each", tls=True, closes=True, resumes=False),
    Kind("resumed", "HTTPS, a resumed handshake each", tls=True, closes=True, contestants=(LYCOSA, WRK)),
)


def run(options: Options) -> Report:
    """Measure each kind with each size of page."""
    requests = [_part(kind, size) for size in REQUESTS for kind in KINDS]
    return run_parts("fetch", [*requests, idle, in_flight, broad], options)


def _part(kind: Kind, size: int) -> Callable[[Report, Options, Cores, Path], None]:
    """Return one kind with one size of page."""

    def part(report: Report, options: Options, cores: Cores, folder: Path) -> None:
        progress(f"{kind.text}, {size // 1000} KB")
        missing = [name for name in kind.contestants if (program := _program(name)) and not shutil.which(program)]
        names = [name for name in kind.contestants if name not in missing]
        if options.peers_only:
            names.remove(LYCOSA)
        count = REQUESTS[size] // (QUICK if options.quick else 1) // (3 if kind.closes else 1)
        with _site(kind, size, folder, cores) as (url, certificate):
            made = [Request(name, kind, url, certificate, cores, folder) for name in names]
            rounds = QUICK_ROUNDS if options.quick else ROUNDS
            runs = in_turn([Contestant(each.name, partial(each.cost, count), rounds) for each in made])
        cost = {name: [each.cpu * 1e6 for each in runs[name]] for name in runs}
        label = f"{kind.text}, {size // 1000} KB"
        report.figures += [Figure.of(f"{label}: CPU a request, {name}", "µs", cost[name]) for name in cost]
        report.peers += [Peer(name, None, label, f"not installed: {_program(name)}") for name in missing]
        if LYCOSA not in cost:
            return
        for name in cost.keys() - {LYCOSA}:
            ours = Figure.ratio(f"{label}: {name}", cost[LYCOSA], cost[name]).median
            claim = f"fetch.{kind.name}.{size // 1000}.{name}"
            if name == kind.bare:
                report.claims.append(Claim.at_most(claim, f"{label}: CPU ÷ {name}", ours, "ratio", BARE))
            else:
                bar = CRAWLERS if name in (COLLY, SPIDER) else CLIENTS
                report.claims.append(Claim.at_least(claim, f"{label}: {name} ÷ ours", 1 / ours, "ratio", bar))

    return part


@contextmanager
def _site(kind: Kind, size: int, folder: Path, cores: Cores) -> Iterator[tuple[str, Path | None]]:
    """Serve one page of a size; yields its URL and the certificate."""
    place = folder / f"{kind.name}-{size}"
    (place / "site").mkdir(parents=True)
    (place / "site" / "page.html").write_bytes(
        (b"<p>A page of words that do not repeat too soon.</p>\n" * 6_000)[:size]
    )
    certificate = make_certificate(place) if kind.tls else None
    lines = ["keepalive_timeout 0;"] if kind.closes else []
    if kind.tls:
        lines += ["ssl_session_tickets on;" if kind.resumes else "ssl_session_tickets off; ssl_session_cache none;"]
    options = " http2" if kind.http2 else ""
    with nginx.serving(place / "site", place / "nginx", cores.server, certificate, options, " ".join(lines)) as root:
        yield f"{root}page.html", certificate


@cache
def _crawler(name: str) -> str:
    """Return the program that fetches with a crawler's fetch; builds it once."""
    folder = Path(__file__).parent / "peers" / f"{name}_fetch"
    program = Path(os.environ.get("LYCOSA_CACHE", folder.parents[2] / "build")) / f"{name}-fetch"
    if name == COLLY:
        command = ["go", "build", "-o", str(program), "."]
    else:
        command = ["cargo", "install", "-q", "--locked", "--path", ".", "--root", str(program.parent / "spider")]
        program = program.parent / "spider" / "bin" / "spider-fetch"
    progress(f"building {name}'s fetch, which takes minutes the first time")
    program.parent.mkdir(parents=True, exist_ok=True)
    if subprocess.run(command, cwd=folder).returncode != 0:
        raise BenchmarkError(f"{name}: cannot be built; run `{' '.join(command)}` in {folder} to see why")
    return str(program)


def _program(name: str) -> str | None:
    """Return the program that has to be installed for a contestant."""
    return {COLLY: "go", SPIDER: "cargo"}.get(name, name if name in (WRK, H2LOAD) else None)


@dataclass(frozen=True, slots=True)
class Request:
    """A contestant and what it fetches."""

    name: str
    kind: Kind
    url: str
    certificate: Path | None
    cores: Cores
    folder: Path

    def cost(self, count: int) -> Run:
        """Return what one request costs: of a long run and a short one, the difference."""
        count = count // SLOWER if self.name in (AIOHTTP, HTTPX) else count
        if self.name == WRK:
            return self._wrk(count)
        long, short = self._go(count), self._go(count // 10)
        made = count - count // 10
        return Run((long.cpu - short.cpu) / made, (long.wall - short.wall) / made, long.peak)

    def _go(self, count: int) -> Run:
        """Make so many requests; checks that all succeeded."""
        log = self.folder / f"{self.name}.log"
        run = measure(
            self.name, self._command(count), cores=self.cores.client, timeout=120, log=log, env=environment()
        )
        text = log.read_text()
        wanted = {
            LYCOSA: rf"^{count} requests, 0 failed",
            H2LOAD: rf"{count} succeeded, 0 failed",
        }.get(self.name, rf"^{count} responses")
        if not re.search(wanted, text, re.MULTILINE):
            raise BenchmarkError(f"{self.name}: {text.strip()[-300:]}")
        return run

    def _command(self, count: int) -> list[str]:
        """Return the command for so many requests."""
        trusted = [] if self.certificate is None else [str(self.certificate)]
        if self.name == LYCOSA:
            return [cost_program(), self.url, str(count), str(SLOTS), *trusted]
        if self.name == H2LOAD:
            # One connection, as a client of one origin has.
            return [H2LOAD, "-n", str(count), "-c", "1", "-m", str(SLOTS), "-t", "1", self.url]
        if self.name in (COLLY, SPIDER):
            return [_crawler(self.name), self.url, str(count), str(SLOTS), *trusted]
        return [
            sys.executable,
            "-m",
            "benchmarks.peers.fetch_clients",
            self.name,
            self.url,
            str(count),
            str(SLOTS),
            *trusted,
        ]

    def _wrk(self, count: int) -> Run:
        """Let wrk run for a time: it says how many requests it made."""
        seconds = 2 if count < 10_000 else 4
        log = self.folder / "wrk.log"
        command = [WRK, "-t1", f"-c{SLOTS}", f"-d{seconds}s", self.url]
        run = measure(WRK, command, cores=self.cores.client, timeout=60, log=log, env=environment())
        text = log.read_text()
        made = re.search(r"(\d+) requests in", text)
        # With servers that close, wrk counts the close as an error of reading, and the response as well.
        if not made or "Non-2xx" in text or ("Socket errors" in text and not self.kind.closes):
            raise BenchmarkError(f"wrk: {text.strip()[-300:]}")
        requests = int(made[1])
        return Run(run.cpu / requests, run.wall / requests, run.peak)
