"""The pause of a crawl while its frontier is saved: the product's frontier, log and snapshots with many URLs.

``python -m benchmarks.snapshots COUNT DIRECTORY`` is the crawl; prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from lycosa import Request, Requests, _core
from lycosa.job import make_job
from lycosa.store.snapshots import Snapshots

from benchmarks.harness import Options, printed, progress
from benchmarks.report import Claim, Figure, Report

MIB = 1 << 20
BAR = 50.0  # milliseconds, by the issue
COUNT, QUICK_COUNT = 10_000_000, 1_000_000
HOSTS = 100_000
ROUNDS = 7
#: Requests that are accepted at once: those before the measurement, and those between two looks at a snapshot.
BATCH, STEP = 10_000, 50


def run(options: Options) -> Report:
    """Save a frontier several times while it accepts URLs; quick: a tenth of the URLs."""
    count = QUICK_COUNT if options.quick else COUNT
    report = Report("snapshots", options.quick)
    progress(f"{count:,} URLs of {HOSTS:,} hosts")
    command = [sys.executable, "-m", "benchmarks.snapshots", str(count)]
    result = printed("snapshots", lambda folder: [*command, folder], timeout=1_200)
    report.figures += [
        Figure.of("the call that begins a snapshot", "ms", result["begin_ms"]),
        Figure.of("the longest step of the loop until it is complete", "ms", result["longest_ms"]),
        Figure.of("from its begin until it is complete", "s", result["seconds"]),
        Figure.of("size", "MB", [result["bytes"] / 1e6]),
        Figure.of("memory of the process before", "MiB", [result["memory"] / MIB]),
    ]
    longest = max(result["begin_ms"] + result["longest_ms"])
    text = f"the longest pause of {ROUNDS} snapshots of {count:,} URLs"
    report.claims.append(Claim.at_most("snapshots-pause", text, longest, "ms", BAR))
    report.notes.append(
        f"the loop accepts {STEP} URLs at a time and asks for requests while a snapshot is written; the log is on the"
        " same disk"
    )
    return report


def crawl(count: int, directory: Path) -> dict[str, object]:
    """Accept so many URLs, then save them several times."""
    politeness = {"host_interval": 3600, "address_interval": 3600, "share_clocks": False}
    job = make_job({"seeds": [url(0)], "memory": 4096 * MIB, "politeness": politeness})
    log = _core.Log(directory / "log", 256 * MIB, None, None, directory / "failed")
    frontier = _core.Frontier(job, _core.Names(job), directory / "job", end=log.end())
    snapshots = Snapshots(frontier, log, place="snapshots", log_bytes=1, seconds=0)
    for begin in range(0, count, BATCH):
        accept(frontier, log, range(begin, begin + BATCH))
    log.sync()
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    begins, longests, seconds, number = [], [], [], count
    for _ in range(ROUNDS):
        accept(frontier, log, range(number, number + BATCH))
        number += BATCH
        began = time.perf_counter()
        snapshots.begin()
        begins.append((time.perf_counter() - began) * 1e3)
        longest = 0.0
        while snapshots.is_writing:
            stepped = time.perf_counter()
            accept(frontier, log, range(number, number + STEP))
            frontier.take(0)
            snapshots.save_if_due()
            longest = max(longest, time.perf_counter() - stepped)
            number += STEP
            time.sleep(0.001)
        longests.append(longest * 1e3)
        seconds.append(time.perf_counter() - began)
    size = max(path.stat().st_size for path in (directory / "job" / "snapshots").glob("*.snapshot"))
    return {"begin_ms": begins, "longest_ms": longests, "seconds": seconds, "bytes": size, "memory": memory}


def accept(frontier: _core.Frontier, log: _core.Log, numbers: range) -> None:
    """Record and accept URLs."""
    requests = Requests([Request(url(number)) for number in numbers])
    log.append_requests(requests)
    frontier.add_requests(requests)


def url(number: int) -> str:
    """A page's URL, as long as real ones."""
    host, page = number % HOSTS, number // HOSTS
    return f"https://h{host}.example{host % 1000}.com/news/section-{page % 7}/article-{page}.html"


if __name__ == "__main__":
    print(json.dumps(crawl(int(sys.argv[1]), Path(sys.argv[2]))))
