"""A crawl in the simulated world: sites with a ledger, frontiers as plain models, workers that run the real code."""

from __future__ import annotations

import functools
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, cast

from lycosa.cluster.broker import Transaction, Unavailable
from lycosa.cluster.lane import CommittedFetch, LaneFrontier, LaneLog, MemberLane
from lycosa.cluster.member import Loaded, Member
from lycosa.cluster.status import Status, is_over
from lycosa.loop import Control, run
from lycosa.stages import Stages

from tests.unit.cluster.engine import SESSION, Client, Engine, Network
from tests.unit.cluster.world import RATE, Process, World

#: Seconds from one request of a site to the next.
INTERVAL = 1.0

#: Seconds after the beginning of a commit in which requests may be started.
FENCE = 3.0


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

    def __init__(self, url: str, partition: int, found: list[str] | None = None) -> None:
        self.url, self.partition, self.found = url, partition, found


class Snapshots:
    """Shared storage: snapshots by partition, the newest last."""

    def __init__(self) -> None:
        self.all: dict[int, list[tuple[int, str]]] = {}


class ModelPart:
    """A plain frontier of one partition (``lycosa.cluster.part.Part``)."""

    def __init__(self, process: Process, partition: int, partitions: int, storage: Snapshots) -> None:
        self._process, self._partition, self._partitions, self._storage = process, partition, partitions, storage
        self._waiting: dict[str, None] = {}
        self._leased: set[str] = set()
        self._done: set[str] = set()
        self._due: dict[str, float] = {}
        self._outbox: list[str] = []
        self._restored_at = float("inf")

    def load(self, end: int) -> int:
        random = self._process.world.random
        for position, state in reversed(self._storage.all.get(self._partition, [])):
            if position <= end and random.random() > 0.1:  # some are damaged
                waiting, done = json.loads(state)
                self._waiting, self._done = dict.fromkeys(waiting), set(done)
                return position
        return 0

    def restore(self, data: bytes, position: int) -> None:
        kind, urls = json.loads(data)
        if kind == "accepted":
            self._admit(urls)
        elif kind == "done":
            for url, found in urls:
                self._settle(url, found)

    def restored(self, is_given_back: bool) -> bytes | None:
        self._restored_at = self._process.clock()
        self._outbox.clear()
        return None

    def doubt(self) -> bytes | None:
        return None

    def accept(self, links: bytes) -> bytes:
        urls = json.loads(links)
        self._admit(urls)
        return json.dumps(["accepted", urls]).encode()

    def take(self, max: int) -> list[Record]:
        now = self._process.clock()
        taken: list[Record] = []
        for url in list(self._waiting):
            site = url.split("/")[0]
            if len(taken) < max and now >= self._due.get(site, self._restored_at + INTERVAL):
                self._due[site] = float("inf")  # until it is answered
                del self._waiting[url]
                self._leased.add(url)
                taken.append(Record(url, self._partition))
        return taken

    def leased(self, requests: list[Record]) -> bytes:
        return json.dumps(["leased", [one.url for one in requests]]).encode()

    def judge(self, outcomes: list[Record]) -> list[Record]:
        return outcomes

    def settled(self, outcomes: list[Record]) -> bytes:
        return json.dumps(["done", [(one.url, one.found) for one in outcomes if one.found is not None]]).encode()

    def done(self, outcomes: list[Record]) -> None:
        for one in outcomes:
            assert one.url in self._leased
            self._leased.remove(one.url)
            self._due[one.url.split("/")[0]] = self._process.clock() + INTERVAL
            if one.found is None:
                self._waiting[one.url] = None
            else:
                self._settle(one.url, one.found)

    def outbox(self) -> dict[int, bytes]:
        parted: dict[int, list[str]] = {}
        for url in self._outbox:
            parted.setdefault(partition_of(url, self._partitions), []).append(url)
        self._outbox.clear()
        return {owner: json.dumps(urls).encode() for owner, urls in parted.items()}

    def save(self, position: int) -> None:
        state = json.dumps([[*self._waiting, *sorted(self._leased)], sorted(self._done)])

        def written() -> None:
            if self._process.is_alive:
                self._storage.all.setdefault(self._partition, []).append((position, state))
                self._storage.all[self._partition].sort()

        self._process.world.later(self._process.world.random.uniform(0.1, 2), written)

    def saved(self) -> bool:
        return True

    def wait(self) -> float:
        return 0.2

    def is_idle(self) -> bool:
        return not self._waiting and not self._leased

    def share(self, part: float) -> None:
        assert 0 < part <= 1

    def counts(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass

    def _admit(self, urls: Iterable[str]) -> None:
        for url in urls:
            if url not in self._done and url not in self._leased:
                self._waiting.setdefault(url)

    def _settle(self, url: str, found: list[str]) -> None:
        self._waiting.pop(url, None)
        self._done.add(url)
        own = [one for one in found if partition_of(one, self._partitions) == self._partition]
        self._admit(own)
        self._outbox += [one for one in found if one not in own]


class ModelFetch:
    """Requests to the sites, which take time (``lycosa.stages.Fetch``)."""

    def __init__(self, process: Process, sites: Sites, slots: int) -> None:
        self._process, self._sites, self._slots = process, sites, slots
        self._flying: dict[int, Record] = {}
        self._complete: deque[Record] = deque()
        self._number = 0
        self._fence = float("-inf")

    def set_fence(self, at: float) -> None:
        self._fence = at

    def free(self) -> int:
        return self._slots - self.in_flight()

    def in_flight(self) -> int:
        return len(self._flying) + len(self._complete)

    def submit(self, requests: list[Record]) -> None:
        process, random = self._process, self._process.world.random
        for request in requests:
            if random.random() < 0.1:
                process.sleep(random.choice((0.001, 0.3)))  # a thread is late
            self._number += 1
            number = self._number
            if process.clock() >= self._fence:
                self._complete.append(request)
                continue
            self._sites.start(request.url, process)
            self._flying[number] = request
            self._process.world.later(random.uniform(0.05, 1.5), functools.partial(self._answer, number))

    def _answer(self, number: int) -> None:
        if (request := self._flying.pop(number, None)) is not None and self._process.is_alive:
            self._sites.end(request.url, self._process)
            self._complete.append(Record(request.url, request.partition, self._sites.links[request.url]))

    def completed(self, max: int, within: float) -> list[Record]:
        if not self._complete:
            self._process.sleep(within)
        return [self._complete.popleft() for _ in range(min(max, len(self._complete)))]

    def cancel(self) -> None:
        for request in self._flying.values():
            self._sites.end(request.url, self._process)
        self._complete.extend(self._flying.values())
        self._flying.clear()


class ModelParse:
    """Outcomes are what was received (``lycosa.stages.Parse``)."""

    def parse(self, responses: list[Record]) -> list[Record]:
        return responses


class Divide:
    """Batches are lists (``lycosa.cluster.lane.Divide``)."""

    def split_requests(self, batch: list[Record], *, take: bool = False) -> dict[int, list[Record]]:
        parts: dict[int, list[Record]] = {}
        for record in batch:
            parts.setdefault(record.partition, []).append(record)
        return parts

    split_outcomes = split_requests

    def join_requests(self, batches: list[list[Record]]) -> list[Record]:
        return [record for batch in batches for record in batch]

    join_outcomes = join_requests


class ModelLoad:
    """A load on a thread of its process."""

    def __init__(self, process: Process, work: Callable[[], Loaded]) -> None:
        self._loaded: Loaded | Unavailable | None = None

        def run() -> None:
            try:
                self._loaded = work()
            except Unavailable as error:
                self._loaded = error

        process.start(run)

    def done(self) -> bool:
        return self._loaded is not None

    def result(self) -> Loaded:
        assert self._loaded is not None
        if isinstance(self._loaded, Unavailable):
            raise self._loaded
        return self._loaded

    def cancel(self) -> None:
        pass


class Worker:
    """A process with one lane: the real member, lane and loop over models."""

    def __init__(self, scenario: Scenario, name: str) -> None:
        self.process, self._scenario = Process(scenario.world, name), scenario
        self.client = Client(scenario.engine, scenario.network, self.process)
        self.control = Control()
        self.process.start(self._run)

    def _run(self) -> None:
        scenario, process = self._scenario, self.process

        def make(partition: int) -> ModelPart:
            return ModelPart(process, partition, scenario.engine.partitions, scenario.storage)

        member = Member(
            self.client,
            cast(Any, make),
            lambda work: ModelLoad(process, work),
            process.clock,
            partitions=scenario.engine.partitions,
            fence=FENCE,
            interval=0.1,
            snapshots=3.0,
        )
        divide: Any = Divide()
        frontier = LaneFrontier(member, divide)
        inner = ModelFetch(process, scenario.sites, slots=6)
        fetch = CommittedFetch(cast(Any, inner), member, divide, inner.set_fence)
        stages = Stages(cast(Any, frontier), fetch, cast(Any, ModelParse()), cast(Any, LaneLog(member, divide)))
        member.lane = MemberLane(member, frontier, fetch, stages, clock=process.clock, grace=2.0)
        for _ in run(stages, self.control, member.look):
            pass
        self.client.leave(member)


class Scenario:
    """One crawl, with trouble that a seed decides."""

    def __init__(self, seed: int, workers: int, partitions: int, sites: int = 12, pages: int = 5) -> None:
        self.world = World(seed)
        random = self.world.random
        self.engine = Engine(self.world, partitions)
        self.engine.committing = self.note
        self.network = Network(self.world, random.choice((0.0, 0.0, 0.02, 0.1)))
        self.sites, self.storage = Sites(self.world, sites, pages), Snapshots()
        self.workers: list[Worker] = []
        self.ended: list[Worker] = []
        self._names = 0
        self.is_over_now = False  # as the partitions tell
        opened = self.engine.begin(self.engine.begin_writer("submit"))
        assert opened is not None
        owner = partition_of(self.sites.seed, partitions)
        self.engine.topics["links", owner].append((json.dumps([self.sites.seed]).encode(), opened))
        self.engine.commit(opened)
        for _ in range(workers):
            self.begin()

    def note(self, transaction: Transaction) -> None:
        """A transaction is committed: its leases may be used."""
        for data in (data for records in transaction.journal.values() for data in records):
            if data.startswith(b'["leased"'):
                self.sites.leased.update(json.loads(data)[1])

    def begin(self) -> None:
        """Start a worker."""
        self._names += 1
        self.workers.append(Worker(self, f"w{self._names}"))

    def trouble(self, count: int, within: float) -> None:
        """Have so many things go wrong, at any time of the next seconds."""
        random = self.world.random
        for _ in range(count):
            self.world.later(
                random.uniform(0, within),
                random.choice(
                    (
                        self.kill,
                        self.suspend,
                        self.cut,
                        self.leave,
                        self.begin,
                        self.cut_and_suspend,
                        self.strike,
                        self.strike,
                        self.silence,
                        self.silence_and_suspend,
                    )
                ),
            )

    def _any(self) -> Worker | None:
        """A worker."""
        return self.world.random.choice(self.workers) if self.workers else None

    def kill(self) -> None:
        """Kill a worker; another one is started after a while."""
        if (worker := self._any()) is not None:
            self.workers.remove(worker)
            self.ended.append(worker)
            worker.process.kill()
            self.world.later(self.world.random.uniform(0, 15), self.begin)

    def leave(self) -> None:
        """Stop a worker; another one is started after a while."""
        if len(self.workers) > 1 and (worker := self._any()) is not None:
            self.workers.remove(worker)
            self.ended.append(worker)
            worker.control.stop() if self.world.random.random() < 0.7 else worker.control.abort()
            self.world.later(self.world.random.uniform(0, 15), self.begin)

    def strike(self) -> None:
        """Have something happen to a worker between two steps of a commit."""
        if (worker := self._any()) is not None:
            random, process = self.world.random, worker.process
            seconds = random.choice((2.5, 4, 9, 11, 12, 13, 14, 25))

            def suspend() -> None:
                process.suspended_until = self.world.now + seconds

            def cut() -> None:
                process.cut_until = self.world.now + seconds

            process.strike = random.choice((suspend, suspend, cut))

    def suspend(self) -> None:
        """Suspend a worker for a while."""
        if (worker := self._any()) is not None:
            worker.process.suspended_until = self.world.now + self.world.random.choice((0.5, 2.5, 4, 9, 14, 25))

    def cut(self) -> None:
        """Cut a worker off for a while; its requests reach the sites."""
        if (worker := self._any()) is not None:
            worker.process.cut_until = self.world.now + self.world.random.choice((0.5, 2.5, 4, 9, 14, 25))

    def silence(self) -> None:
        """Have the group not hear of a worker for a while; all else goes on."""
        if (worker := self._any()) is not None:
            worker.process.silent_until = self.world.now + self.world.random.uniform(5, 25)

    def silence_and_suspend(self) -> None:
        """Have a worker excluded for its silence while it is suspended between a commit and its requests."""
        if (worker := self._any()) is not None:
            random, process = self.world.random, worker.process
            process.silent_until = self.world.now + 15
            process.strike_from = self.world.now + SESSION + random.uniform(-1.5, 0.5)
            seconds = random.uniform(1.5, 2.9)

            def suspend() -> None:
                process.suspended_until = self.world.now + seconds

            process.strike = suspend

    def cut_and_suspend(self) -> None:
        """Cut a worker off, and suspend it for a while of that."""
        if (worker := self._any()) is not None:
            worker.process.cut_until = self.world.now + self.world.random.uniform(5, 25)
            worker.process.suspended_until = self.world.now + self.world.random.uniform(0, 25)

    def is_done(self) -> bool:
        """Whether every page was fetched, and recorded."""
        return (
            len(self.recorded()) == len(self.sites.links)
            if len(self.sites.fetched) == len(self.sites.links)
            else False
        )

    def look(self) -> None:
        """If the statuses say that the job is over, it has to be."""
        if self.is_told_over():
            self.is_over_now = True
            if not self.is_done():
                self.sites.violations.append(f"{self.world.now:.3f}: told as over, and is not")

    def is_told_over(self) -> bool:
        """Whether the committed statuses say that the job is over."""
        statuses, ends = {}, {}
        for partition in range(self.engine.partitions):
            if told := self.engine.committed("status", partition)[-1:]:
                statuses[partition] = Status.decode(told[0])
        for partition in range(self.engine.partitions):
            ends[partition] = len(self.engine.topics["links", partition])
        return is_over(statuses, ends)

    def recorded(self) -> Counter[str]:
        """Return how often each URL was recorded as done in the journals."""
        recorded: Counter[str] = Counter()
        for partition in range(self.engine.partitions):
            for data in self.engine.committed("journal", partition):
                if data.startswith(b"["):
                    kind, urls = json.loads(data)
                    if kind == "done":
                        recorded.update(url for url, _ in urls)
        return recorded

    def run(self, until: float = 600.0) -> None:
        """Crawl to the end, and look at what the ledger and the journals say."""
        self.world.every(lambda: 0.5, self.look)
        is_done = self.world.run(until, lambda: self.is_over_now)
        assert not self.sites.violations, self.sites.violations[:3]
        missing = self.sites.links.keys() - self.recorded().keys()
        assert is_done, f"after {self.world.now:.0f} s {len(missing)} of {len(self.sites.links)} are not recorded"
        twice = [url for url, count in self.recorded().items() if count > 1]
        assert not twice, f"recorded more than once: {twice[:5]}"
        repeats = sum(self.sites.fetched.values()) - len(self.sites.links)
        losses = sum(worker.client.losses for worker in self.workers + self.ended) + len(self.ended)
        assert repeats <= losses * 6, f"{repeats} repeats by {losses} losses of at most 6 leases"
        for worker in self.workers:
            worker.process.kill()
