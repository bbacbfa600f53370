"""Part of `store`: what it costs a crawl that bodies are columns of Parquet."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks import nginx, static_site
from benchmarks.crawl import PACE
from benchmarks.harness import Cores, Options, measure, pinned
from benchmarks.report import BenchmarkError, Claim, Figure, Report

CONCURRENCY = 16
TIMEOUT = 300.0
ROUNDS, QUICK_ROUNDS = 5, 1

#: How many times the CPU of the same crawl without bodies.
MOST = 1.4

#: The columns, without bodies.
COLUMNS = '"url", "status", "title", "link_count"'


def bodies(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Crawl a static site to Parquet, with bodies and without them in turn."""
    with pinned(cores.server):
        site = static_site.build(folder / "site")
        with nginx.serving(site.folder, folder / "nginx", cores.server) as root:
            seconds: dict[str, list[float]] = {"": [], ", with bodies": []}
            for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
                for name, found in seconds.items():
                    found.append(_crawl(root, folder, cores, len(site.pages), with_body=bool(name)))
    for name, found in seconds.items():
        costs = [one / len(site.pages) * 1e6 for one in found]
        report.figures.append(Figure.of(f"crawl to Parquet{name}: CPU", "µs/page", costs))
    ratio = Figure.ratio("CPU, with bodies ÷ without", seconds[", with bodies"], seconds[""])
    report.figures.append(ratio)
    report.claims.append(Claim.at_most("store.bodies", ratio.name, ratio.median, ratio.unit, MOST))


def _crawl(root: str, folder: Path, cores: Cores, pages: int, *, with_body: bool) -> float:
    """Crawl the site; returns seconds of CPU."""
    import pyarrow.parquet

    job, directory, output = folder / "job.toml", folder / "job", folder / "pages.parquet"
    shutil.rmtree(directory, ignore_errors=True)
    output.unlink(missing_ok=True)
    pace, fields = PACE.format(concurrency=CONCURRENCY), COLUMNS + (', "body"' if with_body else "")
    job.write_text(f'scope = "host"\n{pace}\n[fetch]\nslots = {CONCURRENCY}\n[store]\nfields = [{fields}]\n')
    command = [sys.executable, "-m", "lycosa", "crawl", root, "--job", str(job), "--dir", str(directory)]
    command += ["-o", str(output), "--quiet"]
    run = measure("lycosa", command, cores=cores.client, timeout=TIMEOUT, log=folder / "crawl.log")
    if (rows := pyarrow.parquet.read_metadata(output).num_rows) < pages:
        raise BenchmarkError(f"{rows:,} rows of {pages:,} pages were written")
    return run.cpu
