"""What a crawled page costs when it is fetched by download servers, beside the same crawl that fetches by itself."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import nginx, static_site
from benchmarks.crawl import LYCOSA, PACE, TIMEOUT
from benchmarks.dispatch_service import downloaders, master
from benchmarks.harness import Cores, Options, Run, measure, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Sites, each at an address of its own, since one site has one download server; pages of each, and their size.
SITES, PAGES, PAGE_BYTES = 64, 500, 27_000

#: Requests at a time, of all crawls and download servers. Of one site: so that all sites together keep them busy.
SLOTS, OF_SITE = 512, 8

#: Runs of each crawl.
ROUNDS, QUICK_ROUNDS = 5, 2

#: Download servers.
SERVERS = (1, 2, 4)

QUOTAS = "[services.crawl]\nrate = 1000000\nburst = 1000000\nrobots = false\n"

_JOB = f"""\
scope = "host"
{PACE.format(concurrency=OF_SITE)}
[fetch]
slots = {SLOTS}

[store]
fields = ["url", "status", "title", "link_count"]
"""


@dataclass(frozen=True, slots=True)
class _Costs:
    """CPU of a crawl in microseconds a page, by process."""

    crawl: float
    servers: float = 0.0
    master: float = 0.0

    @property
    def all(self) -> float:
        """Of all processes."""
        return self.crawl + self.servers + self.master


def remote_fetch(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Crawl sites locally and by one, two and four download servers; count the CPU of all processes."""
    site = static_site.build(folder / "sites", PAGES, size_of_page=PAGE_BYTES)
    costs: dict[int, list[_Costs]] = {count: [] for count in (0, *SERVERS)}
    with nginx.serving(site.folder, folder / "nginx", cores.server, addresses=SITES) as root:
        port = urlsplit(root).port
        roots = [f"http://127.0.0.{number}:{port}/" for number in range(1, SITES + 1)]
        for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
            for count, made in costs.items():
                # A master that has run before makes new servers wait for those that it might not know of.
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    made.append(_crawl_by(count, site, roots, cores, Path(own)))
                progress(
                    f"{_name(count)}: {made[-1].all:.0f} µs a page: crawl {made[-1].crawl:.0f}, download servers "
                    f"{made[-1].servers:.0f}, master {made[-1].master:.0f}"
                )
    _judge(report, costs)
    report.notes.append(
        f"{SITES} sites: {site.describe} each; {SLOTS} requests at a time, {OF_SITE} of a site; the starts of crawls "
        "are included, those of master and download servers are not"
    )


def _crawl_by(count: int, site: static_site.Site, roots: list[str], cores: Cores, folder: Path) -> _Costs:
    """Crawl by so many download servers; none: locally."""
    pages = len(site.pages) * len(roots)
    if count == 0:
        return _Costs(_crawl(site, roots, cores, folder).cpu / pages * 1e6)
    with (
        master(folder, QUOTAS, cores) as running,
        downloaders(folder, running.url, count, cores, slots=SLOTS, of_site=OF_SITE) as servers,
    ):
        running.wait_for(count)
        before, mastered = [server.cpu() for server in servers], running.cpu()
        run = _crawl(site, roots, cores, folder, f"fetch.master={running.url}")
        fetched = sum(server.cpu() for server in servers) - sum(before)
        return _Costs(run.cpu / pages * 1e6, fetched / pages * 1e6, (running.cpu() - mastered) / pages * 1e6)


def _crawl(site: static_site.Site, roots: list[str], cores: Cores, folder: Path, *settings: str) -> Run:
    """Run a crawl, and check that it has every page of every site once."""
    job, out = folder / "job.toml", folder / "out.jsonl"
    job.write_text(_JOB)
    shutil.rmtree(folder / "job", ignore_errors=True)
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "lycosa", "crawl", *roots, "--job", str(job), "--dir", str(folder / "job")]
    command += [argument for setting in settings for argument in ("--set", setting)]
    command += ["-o", str(out), "--quiet"]
    run = measure(LYCOSA, command, cores=cores.client, timeout=TIMEOUT, log=folder / "crawl.log")
    with out.open() as lines:
        records = [json.loads(line) for line in lines]
    found = Counter(record["url"] for record in records if record["status"] == 200)
    wanted = {root.rstrip("/") + path for root in roots for path in site.pages}
    if found != Counter(wanted):
        raise BenchmarkError(f"{LYCOSA}: {len(found):,} of {len(wanted):,} pages, or some twice")
    return run


def _name(count: int) -> str:
    """Return how a crawl is called."""
    return "local" if count == 0 else f"{count} server{'s' if count > 1 else ''}"


def _judge(report: Report, costs: dict[int, list[_Costs]]) -> None:
    """Convert costs to figures, and ratios to claims."""
    figures = {
        count: Figure.of(f"27 KB, {_name(count)}: CPU a page", "µs", [one.all for one in made])
        for count, made in costs.items()
    }
    report.figures += figures.values()
    for part in ("crawl", "servers", "master"):
        made = [getattr(one, part) for one in costs[1]]
        report.figures.append(Figure.of(f"27 KB, 1 server: CPU a page, {part}", "µs", made))
    ratio = figures[1].median / figures[0].median
    report.claims.append(Claim.at_most("dispatch-remote", "CPU a page, remote ÷ local", ratio, "ratio", 1.3))
    for count in SERVERS[1:]:
        ratio = figures[count].median / figures[1].median
        text = f"CPU a page, {_name(count)} ÷ 1"
        report.claims.append(Claim.at_most(f"dispatch-{count}-servers", text, ratio, "ratio", 1.1))
