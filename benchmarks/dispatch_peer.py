"""What downloading as a service costs, beside a queue of fetch tasks as people build it: Celery with Redis.

The same pages of one site; a client asks for all of them and has all bodies in the end. Counted is the CPU of all
processes while it does so: client, download server and master; client, worker and Redis.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks import nginx, static_site
from benchmarks.dispatch_service import Running, downloaders, master
from benchmarks.harness import Contestant, Cores, Options, Run, environment, in_turn, last_line, measure
from benchmarks.ports import free_port
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

#: Pages of the site, and their size; a quick run asks for some of them.
PAGES, QUICK_PAGES, PAGE_BYTES = 5_000, 1_000, 27_000

ROUNDS, QUICK_ROUNDS = 5, 2

LYCOSA = "lycosa"

#: Ways of the peer: URLs in one task. 256 are what Lycosa's client has in a grant.
WAYS = {"celery, a page a task": 1, "celery, 16 pages a task": 16, "celery, 256 pages a task": 256}

#: A worker that does a task at a time in its main thread: cheaper here than 16 threads or 4 processes, which overlap
#: waiting, of which there is hardly any on loopback. httpx.Client is cheaper than requests.Session: 850 µs a page
#: against 1,000.
POOL = ("--pool=solo",)

#: What workers tell each other and nobody needs here.
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR")

#: Redis without files. A client that is behind with results is not cut off.
REDIS = ("--save", "", "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0")

SETTINGS = "one worker, a task at a time, cheaper here than threads or processes; httpx.Client; results by pickle"

QUOTAS = "[services.client]\nrate = 1000000\nburst = 1000000\nrobots = false\n"


def task_queue(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Download pages by Lycosa and by the peer in turn."""
    peer = Peer.package("celery", ["celery", "redis", "hiredis", "httpx"], SETTINGS)
    redis = _redis()
    report.peers += [peer, redis]
    ways = {} if peer.missing or redis.missing else WAYS
    site = static_site.build(folder / "site", PAGES, size_of_page=PAGE_BYTES)
    with nginx.serving(site.folder, folder / "nginx", cores.server) as root:
        work = Work(site, root, QUICK_PAGES if options.quick else PAGES, cores, folder)
        starts: dict[str, Callable[[], Run]] = {} if options.peers_only else {LYCOSA: work.by_lycosa}
        starts |= {name: partial(work.by_celery, batch) for name, batch in ways.items()}
        rounds = QUICK_ROUNDS if options.quick else ROUNDS
        runs = in_turn([Contestant(name, start, rounds) for name, start in starts.items()])
    _judge(report, runs, work.count, ways=[*ways], is_claimed=not options.peers_only)
    note = "without a crawl, starts left out, all on one core"
    report.notes.append(f"as a service: {work.count:,} of {site.describe}; {note}")


def _judge(report: Report, runs: dict[str, list[Run]], pages: int, *, ways: list[str], is_claimed: bool) -> None:
    """Convert runs to figures, and the peer's cheapest way to a claim."""
    cost = {name: [run.cpu / pages * 1e6 for run in made] for name, made in runs.items()}
    figures = {name: Figure.of(f"27 KB, as a service: CPU a page, {name}", "µs", cost[name]) for name in cost}
    report.figures += figures.values()
    if not is_claimed:
        return
    ratio = None
    if ways:
        cheapest = min(ways, key=lambda name: figures[name].median)
        name = f"27 KB, as a service: CPU a page, {cheapest} ÷ {LYCOSA}"
        report.figures.append(Figure.ratio(name, cost[cheapest], cost[LYCOSA]))
        ratio = report.figures[-1].median
    text = "CPU a page, Celery with Redis (its cheapest way) ÷ client, download server and master"
    report.claims.append(Claim.at_least("dispatch-celery", text, ratio, "ratio", 1.0))


class Work:
    """What every contestant does."""

    def __init__(self, site: static_site.Site, root: str, count: int, cores: Cores, folder: Path) -> None:
        """count: pages to download."""
        self.count, self._cores, self._folder = count, cores, folder
        paths = list(site.pages)[:count]
        names = [path[1:] + "index.html" if path.endswith("/") else path[1:] for path in paths]
        self._bytes = sum((site.folder / name).stat().st_size for name in names)
        self._urls = folder / "urls.txt"
        self._urls.write_text("".join(f"{root}{path[1:]}\n" for path in paths))

    def by_lycosa(self) -> Run:
        """Download by a master and one download server."""
        with (
            master(self._folder, QUOTAS, self._cores) as running,
            downloaders(self._folder, running.url, 1, self._cores) as servers,
        ):
            running.wait_for(1)
            command = ["-m", "benchmarks.dispatch_client", running.url, "client", str(self._urls)]
            return self._gather(LYCOSA, command, [running, *servers])

    def by_celery(self, batch: int) -> Run:
        """Download by a worker, so many pages a task."""
        with _celery(self._folder, self._cores) as (url, processes):
            command = ["-m", "benchmarks.peers.celery_fetch", str(self._urls), str(batch)]
            return self._gather("celery", command, processes, {"CELERY_FETCH_REDIS": url})

    def _gather(
        self, name: str, command: list[str], processes: list[Running], env: dict[str, str] | None = None
    ) -> Run:
        """Run a client; returns what it and the other processes have cost."""
        log = self._folder / f"{name}.log"
        before = sum(process.cpu() for process in processes)
        run = measure(
            name,
            [sys.executable, *command],
            cores=self._cores.client,
            timeout=200,
            log=log,
            env=environment() | (env or {}),
        )
        served = sum(process.cpu() for process in processes) - before
        told = json.loads(last_line(log))
        if (told["pages"], told["bytes"]) != (self.count, self._bytes):
            raise BenchmarkError(f"{name}: gathered {told['pages']:,} pages of the {self.count:,}: {told}")
        return Run(told["cpu"] + served, told["wall"], run.peak)


@contextlib.contextmanager
def _celery(folder: Path, cores: Cores) -> Iterator[tuple[str, list[Running]]]:
    """Run Redis and a worker; yields Redis' URL and both processes."""
    place, port = folder / "redis", free_port()
    place.mkdir(exist_ok=True)
    url = f"redis://127.0.0.1:{port}/0"
    server = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(place), *REDIS]
    worker = [sys.executable, "-m", "celery", "-A", "benchmarks.peers.celery_fetch", "worker", *POOL, *QUIET]
    with contextlib.ExitStack() as opened:
        # It logs to its standard output.
        redis = Running(["sh", "-c", 'exec "$@" >&2', "sh", *server], "(Ready) to accept", cores.client)
        opened.callback(redis.end)
        workers = Running(worker, "worker (ready)", cores.client, {"CELERY_FETCH_REDIS": url})
        opened.callback(workers.end)
        yield url, [redis, workers]


def _redis() -> Peer:
    """Describe Redis."""
    if shutil.which("redis-server") is None:
        return Peer("redis-server", None, "broker and results", "not installed: apt-get install redis-server")
    told = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout
    version = next((word[2:] for word in told.split() if word.startswith("v=")), "unknown")
    return Peer("redis-server", version, "broker and results of celery; no files")
