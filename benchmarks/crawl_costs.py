"""What a page of Lycosa's whole crawl costs, start included: 27 KB by HTTP, and 240 KB by HTTPS."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from benchmarks import nginx, static_site
from benchmarks.crawl import Task, lycosa_crawl, require_lycosa
from benchmarks.harness import Cores, Options, pinned, progress
from benchmarks.report import Claim, Figure, Report

#: Name, bytes of a page, pages, whether by HTTPS, and the bar in milliseconds of CPU a page, by the issue.
KINDS = (("27 KB, HTTP", 27_000, 5_000, False, 0.24), ("240 KB, HTTPS", 240_000, 2_000, True, 1.2))
ROUNDS, QUICK_ROUNDS = 5, 3


def run(options: Options) -> Report:
    """Crawl each site several times."""
    require_lycosa()
    report, cores = Report("crawl_costs", options.quick), Cores.split()
    for name, size, count, is_tls, bar in KINDS:
        with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as made_in:
            folder = Path(made_in)
            progress(f"{count:,} pages of {name}")
            site = static_site.build(folder / "site", count, size_of_page=size)
            certificate = make_certificate(folder) if is_tls else None
            with nginx.serving(site.folder, folder / "nginx", cores.server, certificate) as root:
                task = Task(site, root, folder, cores.client, certificate)
                runs = [lycosa_crawl(task) for _ in range(QUICK_ROUNDS if options.quick else ROUNDS)]
        cost = Figure.of(f"{name}: CPU a page", "ms", [made.cpu / count * 1e3 for made in runs])
        speed = Figure.of(f"{name}: speed", "pages/s", [count / made.wall for made in runs])
        peak = Figure.of(f"{name}: peak memory", "MB", [made.peak / 1e6 for made in runs])
        report.figures += [cost, speed, peak]
        report.notes.append(f"{name}: {site.describe}; start of the program included")
        text = f"CPU a page, {name}, start included"
        report.claims.append(Claim.at_most(f"crawl-cost-{size}", text, cost.median, "ms", bar))
    report.notes.append(cores.describe)
    return report


def make_certificate(folder: Path, *names: str) -> Path:
    """Write a key and a certificate of 127.0.0.1, and of names, into one file; returns its path."""
    path = folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subjects = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
    command += ["-subj", "/CN=127.0.0.1", "-addext", f"subjectAltName={subjects}"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE", "-days", "2"]
    made = subprocess.run([*command, "-keyout", "-"], capture_output=True, check=True, timeout=60)
    path.write_bytes(made.stdout)
    return path
