"""Workers of a cluster: CPU a page through Kafka beside the crawl on one machine, Kafka's bytes a page, takeovers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import nginx, static_site
from benchmarks.cluster_takeover import takeovers
from benchmarks.cluster_workers import Cluster
from benchmarks.crawl import LYCOSA, PACE, TIMEOUT, require_lycosa
from benchmarks.harness import Cores, Options, measure, progress, run_parts
from benchmarks.report import Claim, Figure, Report

#: Sites, each at an address of its own; pages of each, and their size. Each links to pages of others.
SITES, PAGES, PAGE_BYTES = 64, 500, 27_000

#: Requests at a time, of all workers; of one site.
SLOTS, OF_SITE = 512, 8

#: Partitions, and seconds after which a silent worker's are others'.
PARTITIONS, SESSION = 64, 6.0

#: Workers; rounds.
WORKERS, ROUNDS, QUICK_ROUNDS = (1, 2, 4), 5, 2

_JOB = f"""\
scope = "host"
{PACE.format(concurrency=OF_SITE)}
[store]
fields = ["url", "status", "title", "link_count", "body"]

[cluster]
partitions = {PARTITIONS}
replicas = 1
session_timeout = {SESSION}
"""


def run(options: Options) -> Report:
    """Run all parts."""
    require_lycosa()
    return run_parts("cluster", [costs, takeovers], options)


def costs(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Crawl sites by one process, and by 1, 2 and 4 workers: with the links alone in Kafka, and with pages."""
    from tests.cluster.kafka import Kafka

    site = static_site.build(folder / "sites", PAGES, size_of_page=PAGE_BYTES)
    ways = [(0, False), *((count, False) for count in WORKERS), (1, True)]
    made: dict[tuple[int, bool], list[float]] = {way: [] for way in ways}
    brokers: dict[bool, list[float]] = {False: [], True: []}  # with pages
    sizes: dict[bool, list[float]] = {False: [], True: []}
    with (
        nginx.serving(site.folder, folder / "nginx", cores.server, addresses=SITES) as root,
        Kafka() as kafka,
    ):
        port = urlsplit(root).port
        roots = [f"http://127.0.0.{number}:{port}/" for number in range(1, SITES + 1)]
        count = len(site.pages) * len(roots)
        for turn in range(QUICK_ROUNDS if options.quick else ROUNDS):
            for workers, is_full in ways:
                own = folder / "own"
                shutil.rmtree(own, ignore_errors=True)
                own.mkdir()
                name = f"{_name(workers, is_full)}, round {turn + 1}"
                if workers == 0:
                    made[workers, is_full].append(_alone(roots, cores, own) / count * 1e6)
                else:
                    job = f"{'pages' if is_full else 'links'}{workers}-{turn}"
                    text = f"{_JOB}pages = {str(is_full).lower()}\n"
                    with Cluster(kafka, job, text, PARTITIONS, cores, own) as cluster:
                        for _ in range(workers):
                            cluster.add(SLOTS // workers, *(["-o", f"{own}/pages/"] if is_full else []))
                        cluster.wait_until_shared()
                        cluster.crawl(roots, count)
                        made[workers, is_full].append(cluster.cpu / count * 1e6)
                        if workers == 1:
                            sizes[is_full].append(cluster.bytes / count)
                            brokers[is_full].append(cluster.broker_cpu / count * 1e6)
                progress(f"{name}: {made[workers, is_full][-1]:.0f} µs a page")
    for (workers, is_full), values in made.items():
        report.figures.append(Figure.of(f"27 KB, {_name(workers, is_full)}: CPU a page", "µs", values))
    report.figures += [
        Figure.of("27 KB, 1 worker: CPU a page of the broker", "µs", brokers[False]),
        Figure.of("27 KB, 1 worker with pages: CPU a page of the broker", "µs", brokers[True]),
        Figure.of("Kafka bytes a page, links only", "bytes", sizes[False]),
        Figure.of("Kafka bytes a page, with pages", "bytes", sizes[True]),
    ]
    alone = Figure.of("alone", "µs", made[0, False]).median
    for workers in WORKERS:
        ratio = Figure.of("workers", "µs", made[workers, False]).median / alone
        text = f"CPU a page, {_name(workers, False)} ÷ one process without Kafka"
        report.claims.append(Claim.at_most(f"cluster-{workers}-workers", text, ratio, "ratio", 1.25))
    report.notes.append(
        f"{SITES} sites: {site.describe} each; {SLOTS} requests at a time, {OF_SITE} of a site; {PARTITIONS} "
        "partitions; the starts of all processes are left out: of the crawl without Kafka, a crawl of one page"
    )


def _alone(roots: list[str], cores: Cores, folder: Path) -> float:
    """CPU of a crawl without Kafka, in s, less that of a crawl of one page."""
    job = folder / "job.toml"
    job.write_text(_JOB)

    def crawl(*more: str) -> float:
        shutil.rmtree(folder / "job", ignore_errors=True)
        command = [sys.executable, "-m", "lycosa", "crawl", *roots, "--job", str(job), "--dir", str(folder / "job")]
        command += ["--set", f"fetch.slots={SLOTS}", "-o", "none", "--quiet", *more]
        return measure(LYCOSA, command, cores=cores.client, timeout=TIMEOUT, log=folder / "crawl.log").cpu

    start = crawl("--set", "max_pages=1")
    return crawl() - start


def _name(workers: int, has_pages: bool) -> str:
    """Return how a way is called."""
    if workers == 0:
        return "one process without Kafka"
    return f"{workers} worker{'s' if workers > 1 else ''}{', with pages and an output' if has_pages else ''}"
