"""A crawl in shards on a replayed web: `python -m benchmarks.cores_lanes LANES PAGES BYTES`.

The whole crawl of `lycosa.crawl` but for names and network: responses are replayed inside the process by a stage in
Python. Prints one JSON object with the CPU time of each thread, and of what holds the log's lock.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import lycosa
from lycosa import assemble
from lycosa._core import Log as CoreLog
from lycosa.fetch import ScriptedFetch
from lycosa.stages import Log, Stages
from lycosa.store.patient import Patience, PatientLog

#: Hosts by address, so that no name is looked up; pages that are the same but for their links.
HOSTS, BODIES = 512, 128
#: Links of a page, of which each tenth leads to another host.
LINKS = 60
HEADERS = [("Content-Type", "text/html; charset=utf-8"), ("Server", "replay")]
#: Requests in flight in all lanes.
SLOTS = 512
#: Seconds between two samples of the threads.
SAMPLE = 0.05


def host(number: int) -> str:
    """A host of the replayed web; each is a registered domain, since an address has no other."""
    return f"http://93.{number // 250}.{number % 250}.7"


def bodies(pages: int, size: int) -> list[bytes]:
    """Pages with links to the first so many pages of their own host, and some of others."""
    text = "<p>What a page says beside its links, in words as long as those of real ones. "
    made = []
    for body in range(BODIES):
        links = []
        for link in range(LINKS):
            page = (body * LINKS + link) * 2_654_435_761 % pages
            where = host((body * 7 + link) % HOSTS) if link % 10 == 0 else ""
            links.append(f'<li><a href="{where}/page/{page}.html">Page {page}</a>')
        page_text = "<!DOCTYPE html><title>Replayed</title><ul>" + "".join(links) + "</ul>"
        made.append((page_text + text * (size // len(text) + 1))[:size].encode())
    return made


class ObservedLog(PatientLog):
    """The crawl's log, which the benchmark can ask for the CPU time of its lock."""

    made: ClassVar[list[Log]] = []

    def __init__(self, log: Log, place: Path, patience: Patience) -> None:
        """As the crawl makes it."""
        super().__init__(log, place, patience)
        self.made.append(log)

    @classmethod
    def lock_seconds(cls) -> float:
        """Seconds of CPU for which threads have held the lock."""
        return sum(log.lock_seconds() for log in cls.made if isinstance(log, CoreLog))


def threads() -> dict[str, float]:
    """CPU seconds of the process's threads, by name."""
    found: dict[str, float] = {}
    named = {thread.native_id: thread.name for thread in threading.enumerate()}
    for task in Path("/proc/self/task").iterdir():
        try:
            name = named.get(int(task.name)) or (task / "comm").read_text().strip()
            fields = (task / "schedstat").read_text().split()
        except FileNotFoundError:  # it has ended since
            continue
        found[name] = found.get(name, 0.0) + int(fields[0]) / 1e9
    return found


def main(lanes: int, pages: int, size: int) -> None:
    """Crawl the replayed web in so many lanes, and print what it cost."""
    politeness: dict[str, Any] = {"host_interval": 0, "address_interval": 0, "robots": False, "response_multiple": 0}
    politeness |= {"host_concurrency": 64, "address_concurrency": 64, "share_clocks": False}
    made = bodies(max(pages // HOSTS, 1), size)
    assemble.PatientLog = ObservedLog  # type: ignore[attr-defined]  # measured where all lanes meet

    def answer(url: str) -> tuple[int, list[tuple[str, str]], bytes]:
        where, _, path = url.removeprefix("http://").partition("/")
        if path == "robots.txt":
            return 404, HEADERS, b""
        # By a checksum: the same page has the same links in each process. With its host at the end: hosts that all
        # send the same pages are taken for a captive portal.
        return 200, HEADERS, made[zlib.crc32(url.encode()) % BODIES] + where.encode()

    def changed(stages: Stages) -> Stages:
        return replace(stages, fetch=ScriptedFetch(answer, SLOTS // lanes))

    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        crawl = lycosa.crawl(
            *[f"{host(number)}/page/0.html" for number in range(HOSTS)],
            user_agent="lycosa-benchmark/0.1 (+http://localhost/; bench@example.org)",
            directory=folder,
            scope="any",
            memory=2 << 30,
            politeness=politeness,  # type: ignore[arg-type]  # a plain dict
            frontier={"shards": lanes},
            parse={"threads": lanes},
            stages=changed,
        )
        count, began, cpu, looked = 0, time.monotonic(), time.process_time(), 0.0
        sample: dict[str, Any] = {}
        for batch in crawl.batches():
            count += len(batch)
            # Threads are gone when the crawl is: the last sample before that counts.
            if time.monotonic() - looked > SAMPLE:
                sample = {"threads": threads(), "log_seconds": ObservedLog.lock_seconds(), "sampled": count}
                looked = time.monotonic()
        spent = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps({"pages": count, **spent, **sample}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
