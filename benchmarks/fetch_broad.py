"""Polite crawls of many hosts, beside that of one site with as many pages: a part of the benchmark of the fetch."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import sys
import urllib.request
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import nginx
from benchmarks.crawl_costs import make_certificate
from benchmarks.harness import Contestant, Cores, Options, Run, environment, in_turn, measure, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Hosts, and pages of each: a page links to two more, and the crawl follows one link.
HOSTS, QUICK_HOSTS, PAGES = 10_000, 1_000, 3

#: Levels of the one site whose pages link to two more, so that it has about as many pages.
LEVELS, QUICK_LEVELS = 14, 11

#: Bars of the issue: connections a host, and CPU a page beside that of one site.
CONNECTIONS, BESIDE = 1.2, 1.5

SIZE = 27_000

#: Each page names its host: hosts whose pages are the same to the byte look like a captive portal.
_LINES = """
    location = /status {{ stub_status; }}
    location = /robots.txt {{ root {site}; }}
    location / {{ try_files /page.html =404; default_type text/html; sub_filter UNIQUE $host$request_uri; }}
"""

_JOB = """\
allow_addresses = ["127.0.0.0/8"]
allow_ports = [{port}]
scope = "host"
max_depth = {depth}
user_agent = "lycosa-benchmark/0.1 (+http://localhost/)"
seeds = {seeds}

[names]
hosts_file = "{hosts}"
resolvers = ["127.0.0.1:9"]
families = "v4"

[politeness]
{politeness}

[fetch]
slots = {slots}
idle_connections = 10000
{trust}

[store]
fields = ["url", "status"]
"""

#: All hosts have one address here: neither it nor its response times are a reason to wait. A host waits a second.
_POLITE = "address_interval = 0\naddress_concurrency = 64\nresponse_multiple = 0"
_ALONE = f"{_POLITE}\nhost_interval = 0\nhost_concurrency = 64"


@dataclass(frozen=True, slots=True)
class Crawl:
    """One of the crawls, and its server."""

    name: str
    root: str
    hosts: int
    depth: int
    folder: Path
    cores: Cores
    certificate: Path | None

    @property
    def pages(self) -> int:
        """Pages of the whole crawl."""
        return self.hosts * PAGES if self.hosts > 1 else 2 ** (self.depth + 1) - 1

    def run(self) -> Run:
        """Crawl; checks that all pages came."""
        scheme, port = self.root.split(":")[0], int(self.root.rstrip("/").rpartition(":")[2])
        job, hosts = self.folder / f"{self.name}.toml", self.folder / "hosts"
        # A public suffix, so that each host is a registered domain of its own.
        names = [f"h{number}.co.uk" for number in range(self.hosts)]
        hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        job.write_text(
            _JOB.format(
                port=port,
                depth=self.depth,
                seeds=json.dumps([f"{scheme}://{name}:{port}/" for name in names]),
                hosts=hosts,
                politeness=_POLITE if self.hosts > 1 else _ALONE,
                slots=256,
                trust="" if self.certificate is None else f'ca_file = "{self.certificate}"',
            )
        )
        folder, out = self.folder / f"{self.name}-crawl", self.folder / f"{self.name}.jsonl"
        shutil.rmtree(folder, ignore_errors=True)
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder), "-o", str(out)]
        log = self.folder / f"{self.name}.log"
        run = measure(
            self.name, [*command, "--quiet"], cores=self.cores.client, timeout=300, log=log, env=environment()
        )
        with out.open() as lines:
            good = sum(json.loads(line)["status"] == 200 for line in lines)
        if good != self.pages:
            raise BenchmarkError(
                f"{self.name}: {good:,} of {self.pages:,} pages came; see {log.read_text()[-300:]!r}"
            )
        return run


def broad(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Measure polite crawls of many hosts, by HTTP and by HTTPS."""
    hosts, depth = (QUICK_HOSTS, QUICK_LEVELS) if options.quick else (HOSTS, LEVELS)
    for name in ("HTTP", "HTTPS"):
        progress(f"{hosts:,} hosts, {name}, and one site")
        place = folder / f"broad-{name}"
        site = place / "site"
        site.mkdir(parents=True)
        (site / "page.html").write_bytes(_page())
        (site / "robots.txt").write_text("User-agent: *\nDisallow:\n")
        certificate = make_certificate(place, "*.co.uk") if name == "HTTPS" else None
        lines = _LINES.format(site=site)
        with nginx.serving(site, place / "nginx", cores.server, certificate, lines=lines, connections=12_000) as root:
            crawls = [
                Crawl(label, root, count, levels, place, cores, certificate)
                for label, count, levels in (("broad", hosts, 1), ("one", 1, depth))
            ]
            opened: list[int] = []

            def counted(crawl: Crawl, root: str = root, opened: list[int] = opened) -> Run:
                before = _accepted(root)
                run = crawl.run()
                if crawl.hosts > 1:
                    opened.append(_accepted(root) - before - 1)  # the look itself is one
                return run

            rounds = 1 if options.quick else 3
            runs = in_turn([Contestant(crawl.name, partial(counted, crawl), rounds) for crawl in crawls])
        cost = {crawl.name: [run.cpu / crawl.pages * 1e6 for run in runs[crawl.name]] for crawl in crawls}
        each = [count / hosts for count in opened]
        report.figures += [
            Figure.of(f"{hosts:,} hosts, {name}: connections a host", "", each),
            Figure.of(f"{hosts:,} hosts, {name}: CPU a page", "µs", cost["broad"]),
            Figure.of(f"one site, {name}: CPU a page", "µs", cost["one"]),
            Figure.of(f"{hosts:,} hosts, {name}: peak memory", "MB", [run.peak / 1e6 for run in runs["broad"]]),
        ]
        text = f"{hosts:,} hosts, {name}: connections a host"
        report.claims.append(Claim.at_most(f"fetch.broad.connections.{name}", text, max(each), "", CONNECTIONS))
        _judge_cost(report, name, hosts, cost)


def _judge_cost(report: Report, name: str, hosts: int, cost: dict[str, list[float]]) -> None:
    """Compare a page of many hosts with one of one site; of HTTPS without the handshakes, which the other lacks."""
    broad, one = (Figure.of(which, "µs", cost[which]).median for which in ("broad", "one"))
    if name == "HTTPS":
        kept, fresh = (_figure(report, f"{kind}, 27 KB: CPU a request, lycosa") for kind in _HANDSHAKE)
        if kept is None or fresh is None:
            report.notes.append("HTTPS: the handshake's cost was not measured in this run")
        else:
            handshake = (fresh - kept) / PAGES
            report.notes.append(f"HTTPS: {handshake:.0f} µs a page are handshakes, as the part for these measures")
            broad -= handshake
    text = f"{hosts:,} hosts, {name}: CPU a page ÷ one site's, handshakes left out"
    report.claims.append(Claim.at_most(f"fetch.broad.cost.{name}", text, broad / one, "ratio", BESIDE))


#: The parts that measure a request without and with its handshake.
_HANDSHAKE = ("HTTPS, HTTP/1.1", "HTTPS, a fresh handshake each")


def _figure(report: Report, name: str) -> float | None:
    """Return the median of a figure that another part has made."""
    return next((figure.median for figure in report.figures if figure.name == name), None)


def _page() -> bytes:
    """Return a page whose links lead below itself."""
    head = b'<title>UNIQUE</title><a href="a/">a</a> <a href="b/">b</a>\n'
    return head + (b"<p>A page of words that do not repeat too soon.</p>\n" * 1_000)[: SIZE - len(head)]


def _accepted(root: str) -> int:
    """Return the connections that the server has accepted."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the benchmark's own server
    with urllib.request.urlopen(f"{root}status", context=context) as response:  # noqa: S310
        found = re.search(r"^\s*(\d+) \d+ \d+", response.read().decode(), re.MULTILINE)
    if found is None:
        raise BenchmarkError("nginx does not say how many connections it accepted")
    return int(found[1])
