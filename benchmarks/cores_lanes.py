"""Frontiers side by side in one process, hosts divided by the ring: `python -m benchmarks.cores_lanes LANES PAGES`.

Each lane is a thread with a loop, a frontier, a parser and a log of its own; a link that another lane owns goes
through its outbox. Answers are replayed inside the process. Prints one JSON object.
"""

from __future__ import annotations

import json
import queue
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

from lycosa import Requests, _core
from lycosa.fetch import ScriptedFetch
from lycosa.job import Job, make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages

#: Hosts by address, so that no name is asked for; pages that are the same but for their links.
HOSTS, BODIES = 512, 128
#: Bytes of a page; its links, of which each tenth leads to another host.
PAGE, LINKS = 27_000, 60
HEADERS = [("Content-Type", "text/html; charset=utf-8"), ("Server", "replay")]
#: Requests in flight in a lane.
SLOTS = 256
#: Seconds without work anywhere, after which all is done.
DONE = 0.5


def host(number: int) -> str:
    """A host of the replayed web."""
    return f"http://93.{number // 250}.{number % 250}.7"


def bodies(pages: int) -> list[bytes]:
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
        made.append((page_text + text * (PAGE // len(text) + 1))[:PAGE].encode())
    return made


class Lane:
    """A loop with stages of its own, and an inbox for links that others have found."""

    def __init__(self, name: str, names: list[str], job: Job, folder: Path, made: list[bytes]) -> None:
        """Nothing runs yet."""
        self.name, self.inbox = name, queue.SimpleQueue[bytes]()
        ring = _core.Ring(dict.fromkeys(names, 1.0))
        self.log = _core.Log(folder / name / "log", 64 << 20)
        self.frontier = _core.Frontier(job, _core.Names(job), folder / name, ownership=(ring, "host", name))
        # By a checksum: the same page has the same links in each process.
        fetch = ScriptedFetch(lambda url: (200, HEADERS, made[zlib.crc32(url.encode()) % BODIES]), SLOTS)
        self.stages = Stages(self.frontier, fetch, _core.Parser(job), self.log)
        self.pages, self.handed_over, self.busy_until = 0, 0, time.monotonic()
        self.cpu_seconds = 0.0

    def crawl(self, lanes: dict[str, Lane], seeds: list[str]) -> None:
        """Fetch all that is its own, until nobody has anything any more."""
        self.log.append_seeds(seeds)
        self.frontier.add(seeds)
        while True:
            for batch in run(self.stages, Control()):
                self.pages += len(batch)
                self.busy_until = time.monotonic()
                self.exchange(lanes)
            self.exchange(lanes)
            self.cpu_seconds = time.thread_time()
            if time.monotonic() - max(lane.busy_until for lane in lanes.values()) > DONE:
                return
            time.sleep(0.001)

    def exchange(self, lanes: dict[str, Lane]) -> None:
        """Hand over what others own, and accept what they have found."""
        for owner, links in self.frontier.take_outbox().items():
            self.handed_over += len(links)
            lanes[owner].inbox.put(links.encode())
        self.frontier.outbox_delivered()
        while not self.inbox.empty():
            links = Requests.decode(self.inbox.get())
            self.log.append_requests(links)
            if self.frontier.add_requests(links):
                self.busy_until = time.monotonic()


def main(count: int, pages: int) -> None:
    """Crawl the replayed web with so many lanes, and print what it cost."""
    politeness = {"host_interval": 0, "address_interval": 0, "robots": False, "response_multiple": 0}
    politeness |= {"host_concurrency": 64, "address_concurrency": 64}
    settings = {"seeds": [host(0)], "user_agent": "lycosa-benchmark/0.1 (+http://localhost/)", "scope": "any"}
    job = make_job({**settings, "politeness": politeness, "parse": {"threads": 1}, "memory": "2GiB"})
    made, names = bodies(max(pages // HOSTS, 1)), [f"lane-{number}" for number in range(count)]
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        lanes = {name: Lane(name, names, job, Path(folder), made) for name in names}
        seeds = [f"{host(number)}/page/0.html" for number in range(HOSTS)]
        threads = [
            threading.Thread(target=lane.crawl, args=(lanes, seeds), name=lane.name) for lane in lanes.values()
        ]
        before, began = time.process_time(), time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ended = max(lane.busy_until for lane in lanes.values())
        result = {
            "pages": sum(lane.pages for lane in lanes.values()),
            "shares": [lane.pages for lane in lanes.values()],
            "handed_over": sum(lane.handed_over for lane in lanes.values()),
            "seconds": ended - began,
            "cpu_seconds": time.process_time() - before,
            "lane_seconds": [lane.cpu_seconds for lane in lanes.values()],
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
