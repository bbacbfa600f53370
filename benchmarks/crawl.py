"""The `crawl` benchmark: one static site, crawled completely by Lycosa, Scrapy and a hand-written loop."""

from __future__ import annotations

import functools
import importlib.util
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ceiling, nginx, static_site
from benchmarks.harness import Contestant, Cores, Options, Run, in_turn, measure, pinned, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

CONCURRENCY = 16
TIMEOUT = 300.0  # seconds for one crawl; Scrapy needs about 50
QUICK = 30.0  # seconds after which --quick begins only what a claim cannot do without
PART = 800  # pages that Scrapy crawls with --quick, where the whole site would take the whole minute
PEERS = Path(__file__).parent / "peers"

LYCOSA, SCRAPY, LOOP = "lycosa", "scrapy", "loop"
BODIES = ", bodies stored"


def run(options: Options) -> Report:
    """Crawl the site with each contestant in turn and compare CPU seconds per page."""
    if not options.peers_only:
        require_lycosa()
    report = Report("crawl", options.quick, peers=_peers())
    cores = Cores.split()
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        progress("writing the site")
        made = static_site.build(Path(folder, "site"))
        with nginx.serving(made.folder, Path(folder, "nginx"), cores.server) as root:
            task = Task(made, root, Path(folder), cores.client)
            budget = QUICK if options.quick else math.inf
            begin = time.monotonic()
            runs = in_turn(_contestants(task, options, report.peers), budget)
    report.notes += [f"site: {made.describe}; {cores.describe}; start of the program included"]
    if options.quick and time.monotonic() - begin > QUICK:
        report.notes.append(
            f"quick: the machine is slow or busy: after {QUICK:.0f} s only what the claims need was begun"
        )
    _judge(report, runs, len(made.pages), options)
    if not options.peers_only:
        speed = [len(made.pages) / run.wall for run in runs[LYCOSA]]
        ceiling.add(report, cores, fastest=speed)
    return report


@dataclass(frozen=True, slots=True)
class Task:
    """The task of all contestants."""

    site: static_site.Site
    root: str
    folder: Path
    cores: frozenset[int]
    ca_file: Path | None = None

    def go(self, name: str, command: list[str], out: Path) -> Run:
        """Run one crawl."""
        out.unlink(missing_ok=True)
        return measure(name, command, cores=self.cores, timeout=TIMEOUT, log=self.folder / "crawl.log")


def require_lycosa() -> None:
    """Raise an error without Lycosa: a comparison without it shows nothing."""
    try:
        found = importlib.util.find_spec("lycosa._core")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise BenchmarkError(f"lycosa is not installed in {sys.executable}: run `make build`, or use --peers-only")


def _contestants(task: Task, options: Options, peers: list[Peer]) -> list[Contestant]:
    """List the contestants with their number of runs; peers that are not installed are left out and reported."""
    few, many = (1, 3) if options.quick else (5, 5)
    scrapy = _scrapy_in_part if options.quick else _scrapy
    plan: list[tuple[str, Callable[[Task], Run], int]] = [
        (LYCOSA, lycosa_crawl, many),
        (LOOP, _loop, many),
        (SCRAPY, scrapy, few),
        (LYCOSA + BODIES, functools.partial(lycosa_crawl, bodies=True), few),
        (LOOP + BODIES, functools.partial(_loop, bodies=True), few),
    ]
    absent = {peer.name for peer in peers if peer.missing} | ({LYCOSA} if options.peers_only else set())
    return [
        Contestant(name, functools.partial(start, task), rounds, spare=name.endswith(BODIES))
        for name, start, rounds in plan
        if name.removesuffix(BODIES) not in absent
    ]


def lycosa_crawl(task: Task, *, bodies: bool = False, settings: Sequence[str] = ()) -> Run:
    """Crawl with Lycosa by a job file and the command line. settings: further ones, KEY=VALUE."""
    job, folder, out = task.folder / "job.toml", task.folder / "job", task.folder / "lycosa.jsonl"
    shutil.rmtree(folder, ignore_errors=True)
    trust = "" if task.ca_file is None else f'ca_file = "{task.ca_file}"'
    job.write_text(_JOB.format(concurrency=CONCURRENCY, fields=', "body"' if bodies else "", trust=trust))
    command = [sys.executable, "-m", "lycosa", "crawl", task.root, "--job", str(job), "--dir", str(folder)]
    command += [argument for setting in settings for argument in ("--set", setting)]
    run = task.go(LYCOSA, [*command, "-o", str(out), "--quiet"], out)
    static_site.check(task.site, out, LYCOSA, bodies=bodies)
    return run


def _loop(task: Task, *, bodies: bool = False) -> Run:
    """Crawl with the aiohttp + uvloop + lexbor loop."""
    out = task.folder / "loop.jsonl"
    command = [
        sys.executable,
        str(PEERS / "aiohttp_crawl.py"),
        task.root,
        str(out),
        f"--concurrency={CONCURRENCY}",
    ]
    run = task.go(LOOP, [*command, "--bodies"] if bodies else command, out)
    static_site.check(task.site, out, LOOP, bodies=bodies)
    return run


def _scrapy(task: Task) -> Run:
    """Crawl the whole site with Scrapy."""
    run, _ = _scrapy_pages(task, 0)
    return run


def _scrapy_in_part(task: Task) -> Run:
    """Crawl a part with Scrapy and extrapolate: a line through a run of a few pages and one of many.

    The run of a few pages is the cost of its start, which is to be spread over as many pages as for the others.
    """
    low, few = _scrapy_pages(task, 1)
    high, many = _scrapy_pages(task, PART)
    rest = (len(task.site.pages) - few) / (many - few)
    return Run(low.cpu + (high.cpu - low.cpu) * rest, low.wall + (high.wall - low.wall) * rest, high.peak)


def _scrapy_pages(task: Task, pages: int) -> tuple[Run, int]:
    """Stop Scrapy soon after `pages` (0: crawl all); returns the run and the pages it wrote."""
    out = task.folder / "scrapy.jsonl"
    command = [sys.executable, str(PEERS / "scrapy_crawl.py"), task.root, str(out)]
    run = task.go(SCRAPY, [*command, f"--concurrency={CONCURRENCY}", f"--pages={pages}"], out)
    return run, static_site.check(task.site, out, SCRAPY, partial=pages > 0)


def _judge(report: Report, runs: dict[str, list[Run]], pages: int, options: Options) -> None:
    """Convert runs to figures, and ratios to claims."""
    cost = {name: [run.cpu / pages * 1e6 for run in made] for name, made in runs.items()}
    for name, made in runs.items():
        report.figures += [
            Figure.of(f"{name}: CPU", "µs/page", cost[name]),
            Figure.of(f"{name}: speed", "pages/s", [pages / run.wall for run in made]),
            Figure.of(f"{name}: peak memory", "MB", [run.peak / 1e6 for run in made]),
        ]
    if options.quick and SCRAPY in runs:
        report.notes.append(f"quick: Scrapy's figures are reckoned from its first {PART:,} pages and its start")
    if options.peers_only:
        return
    ratios: dict[str, float | None] = {}
    for peer, suffix in ((SCRAPY, ""), (LOOP, ""), (LOOP, BODIES)):
        if {peer + suffix, LYCOSA + suffix} <= cost.keys():
            ratio = Figure.ratio(f"CPU, {peer} ÷ lycosa{suffix}", cost[peer + suffix], cost[LYCOSA + suffix])
            report.figures.append(ratio)
            ratios[peer + suffix] = ratio.median
    report.claims += [
        Claim.at_least(
            "crawl-cpu-vs-scrapy",
            "CPU seconds a page, Scrapy ÷ Lycosa, at least",
            ratios.get(SCRAPY),
            "ratio",
            20,
        ),
        Claim.at_least(
            "crawl-cpu-vs-loop",
            "CPU seconds a page, aiohttp + uvloop + selectolax loop ÷ Lycosa, at least",
            ratios.get(LOOP),
            "ratio",
            2,
        ),
    ]


def _peers() -> list[Peer]:
    """Describe the peers and their settings."""
    same = f"{CONCURRENCY} requests at a time, no delay, robots.txt obeyed"
    return [
        Peer.package(SCRAPY, ["scrapy"], f"{same}, default reactor, lxml LinkExtractor, no cookies, log WARNING"),
        Peer.package(LOOP, ["aiohttp", "uvloop", "selectolax", "orjson"], f"{same}, lexbor, urljoin, no cookies"),
        Peer("nginx", nginx.version(), "the server: 1 worker, keep-alive, sendfile, no gzip, no access log"),
    ]


#: The leave and the pace that peers have, too: the beginning of jobs, of which everything else is Lycosa's default.
PACE = """\
allow_addresses = ["127.0.0.0/8"]
user_agent = "lycosa-benchmark/0.1 (+http://localhost/)"

[politeness]
host_interval = 0
address_interval = 0
response_multiple = 0
host_concurrency = {concurrency}
address_concurrency = {concurrency}
"""

# With the fields that peers have.
_JOB = f"""\
scope = "host"
{PACE}
[fetch]
slots = {{concurrency}}
{{trust}}

[store]
fields = ["url", "status", "title", "link_count"{{fields}}]
"""
