"""The sites of a simulated crawl with their ledger; what a model passes from stage to stage; shared snapshots."""

from __future__ import annotations

from collections import Counter

from tests.unit.cluster.engine import Engine
from tests.unit.cluster.world import RATE, Process, World

#: Seconds from one request of a site to the next.
INTERVAL = 1.0


class Failed(OSError):
    """A disk is full, or a stage has a defect."""


class Sites:
    """All sites and their ledger. A URL is ``site/page``; pages link to others of any site."""

    def __init__(self, world: World, sites: int, pages: int) -> None:
        self.world = world
        urls = [f"{site}/{page}" for site in range(sites) for page in range(pages)]
        shuffled = world.random.sample(urls, len(urls))
        # A chain reaches all of them; further links are any.
        self.links = {
            url: [after, *world.random.sample(urls, 2)]
            for url, after in zip(shuffled, [*shuffled[1:], shuffled[0]], strict=True)
        }
        self.seed = shuffled[0]
        self.started: dict[str, float] = {}  # by site
        self.leased: set[str] = set()  # URLs whose leases were committed
        self.flying: dict[str, Process] = {}  # by site: whose request is being answered
        self.fetched: Counter[str] = Counter()
        self.violations: list[str] = []

    def start(self, url: str, process: Process) -> None:
        """A request arrives."""
        site, now = url.split("/")[0], self.world.now
        if now - self.started.get(site, -INTERVAL) < INTERVAL * (1 - 2 * RATE) - 1e-6:
            self.violations.append(
                f"{now:.3f}: {process.name} starts {url}; the last was at {self.started[site]:.3f}"
            )
        other = self.flying.get(site)
        # What a process has in flight that is dead, suspended or cut off, nobody can know.
        if other is not None and other.is_well:
            self.violations.append(f"{now:.3f}: {process.name} starts {url} while {other.name} is answered")
        if url not in self.leased:
            self.violations.append(f"{now:.3f}: {process.name} starts {url}, whose lease is not committed")
        self.started[site], self.flying[site] = now, process
        self.fetched[url] += 1

    def end(self, url: str, process: Process) -> None:
        """A request is answered, or cancelled."""
        site = url.split("/")[0]
        if self.flying.get(site) is process:
            del self.flying[site]


def partition_of(url: str, partitions: int) -> int:
    """Return the partition that owns a URL."""
    return int(url.split("/")[0]) % partitions


class Record:
    """A request, a response and an outcome in one."""

    def __init__(self, url: str, partition: int, found: list[str] | None = None, is_taken: bool = False) -> None:
        self.url, self.partition, self.found = url, partition, found
        self.is_taken = is_taken  # an outcome that takes an earlier one back


class Snapshots:
    """Shared storage: snapshots by partition, the newest last."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.all: dict[int, list[tuple[int, str]]] = {}

    def remove(self, partition: int, position: int) -> None:
        """Remove a journal up to a position, and older snapshots."""
        self.all[partition] = self.all[partition][-2:]
        self._engine.first[partition] = max(self._engine.first[partition], position)
