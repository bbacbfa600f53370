"""`python -m benchmarks NAME [--quick] [--json]`: run one benchmark, or all; without NAME list them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import plan, results
from benchmarks.harness import Options
from benchmarks.report import BenchmarkError, Report, merged, show

BENCHMARKS = {
    "cloud_paper": "the published experiment over time: other dedup, no DNS optimiser, blocking downloads, all of it",
    "cluster": "workers through Kafka: CPU a page beside one process, the broker's CPU, bytes a page; takeovers",
    "cores": "frontiers side by side in one process: pages a second of two cores beside one, CPU a page",
    "crawl": "a static site: CPU a page of Lycosa, Scrapy and a hand-written loop; simnet's ceiling",
    "crawl_costs": "CPU a page of a whole crawl, start included: 27 KB by HTTP, 240 KB by HTTPS",
    "dispatch": "master and download servers: decisions, admission, CPU a page beside a crawl's and Celery's",
    "extract": "main text of pages that the models have not seen, beside eight extractors: word F1 by kind, CPU",
    "fetch": "CPU a request of the fetch alone beside wrk, h2load, aiohttp, httpx: HTTP/1.1, TLS, HTTP/2, handshakes",
    "flat_line": "three services that want more than their quotas: how even their starts are, by both policies",
    "hosts": "10 million hosts of 3 URLs each: memory of hosts, domains, known and waiting URLs under 1 GiB",
    "links": "50 million links through frontier and log: links a CPU second, memory under the budget",
    "memory": "100,000 simulated pages: the crawler's peak resident memory",
    "memory_hostile": "hostile sites: peak memory under `memory`, CPU a page, whether the crawl goes on",
    "names_ahead": "a crawl whose names come ahead of their turn, beside one that knows all and one that asks late",
    "names_bulk": "many names through one server: CPU a name beside aiodns and massdns, names lost",
    "names_cache": "caches of names: hit rates, memory and lookups of four designs and peers; torn and wrong answers",
    "names_cluster": "8 crawlers, 4 lower and 2 upper DNS servers: questions that leave them; servers that die",
    "names_paper": "a million names in the published ways, simulated and by our client; one queue resolved ahead",
    "names_server": "lycosa dns: CPU, latency and memory an answer beside a bare responder and five DNS servers",
    "records": "requests, responses and outcomes: CPU a record to encode and to decode, beside JSON",
    "robots": "robots.txt: verdicts a CPU second of Lycosa, Protego, Python's own parser, Google's",
    "seen": "known URLs: time and memory a key of the dedup tree, hash tables, a Bloom filter, databases",
    "start": "short runs: CPU of an import and of a crawl of one page",
    "simnet": "the simulated Internet: rates a core, memory, start, distributions beside the model's",
    "store": "outputs: pages and MB a CPU second of each beside its peer; archives read, and parsed again",
    "snapshots": "10 million known URLs: how long a crawl pauses while its frontier is saved",
}


def main() -> int:
    """Run the command line; returns 1 if a claim is not met, 2 if something is missing."""
    args = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of every `finally`: no server is left behind
    try:
        if args.name == "results":
            results.write(results.read([Path(file) for file in args.files]))
            return 0
        if args.name == "plan":
            plan.main(write=args.write)
            return 0
        if args.name is None:
            _list()
            return 0
        # The first run of a program compiles its modules, as an installer does for users, and not each run.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        reports, failed = _run(args.name, Options(args.quick, args.peers_only, args.plot))
    except BenchmarkError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if args.write:
        results.write([report.object() for report in reports])
    report = reports[0] if len(reports) == 1 else merged(reports, quick=args.quick)
    if args.json:
        print(json.dumps(report.object(), indent=2, ensure_ascii=False))
    else:
        show(report, Console(width=None if sys.stdout.isatty() else 150))
    reasons = [*(f"{name}: {reason}" for name, reason in failed.items()), *report.failures]
    for reason in reasons:
        print(f"benchmarks: {reason}", file=sys.stderr)
    return 2 if reasons else 0 if report.met else 1


def _run(name: str, options: Options) -> tuple[list[Report], dict[str, BenchmarkError]]:
    """Run one benchmark, or all; one that cannot run does not stop the others."""
    reports, failed = [], {}
    for each in BENCHMARKS if name == "all" else [name]:
        try:
            reports.append(importlib.import_module(f"benchmarks.{each}").run(options))
        except BenchmarkError as error:
            failed[each] = error
    if not reports:
        raise BenchmarkError("; ".join(f"{each}: {error}" for each, error in failed.items()))
    return reports, failed


def _list() -> None:
    """List the benchmarks."""
    for name, text in BENCHMARKS.items():
        print(f"{name:13} {text}")
    print("all           everything; with --quick what ends within a minute each")
    print("plan          machines, memory and cost of large crawls, reckoned from RESULTS.md")
    print("results       write RESULTS.md from FILE.json… that --json printed")


def _arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="?", choices=[*BENCHMARKS, "all", "plan", "results"], help="which; none: list them"
    )
    parser.add_argument("files", nargs="*", help="for results: what --json printed")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, at most 60 s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md too; plan: docs/scale.md")
    drawn = "simnet, names_cache, names_paper, flat_line, cloud_paper"
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"{drawn}: draw it, .png or .svg")
    parser.add_argument("--peers-only", action="store_true", help="without Lycosa, so without claims")
    args = parser.parse_args()
    if bool(args.files) != (args.name == "results"):
        parser.error("FILE.json goes with `results`, and `results` needs at least one")
    return args


if __name__ == "__main__":
    sys.exit(main())
