"""A crawl in the simulated world: sites with a ledger, frontiers as plain models, workers that run the real code."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, cast

from lycosa.cluster.broker import StateLost, Transaction, Unavailable
from lycosa.cluster.lane import CommittedFetch, LaneFrontier, LaneLog, MemberLane
from lycosa.cluster.loading import Loaded, Loader
from lycosa.cluster.member import Member
from lycosa.cluster.status import Status, is_over
from lycosa.loop import Control, run
from lycosa.stages import Stages

from tests.unit.cluster.engine import SESSION, Client, End, Engine, Network
from tests.unit.cluster.world import RATE, Process, World

#: Seconds from one request of a site to the next.
INTERVAL = 1.0

#: Seconds for which an outcome may be taken back.
DISTANCE = 4.0

#: Seconds after the beginning of a commit in which requests may be started.
FENCE = 3.0


#: Steps of a part that may fail.
FAILING = ("take", "leased", "judge", "settled", "pages", "done", "accept", "save")


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
        self._new: list[tuple[int, str]] = []  # what was replayed as done, and where
        self._recent: deque[tuple[float, str]] = deque()  # what was done lately
        self._max_pages: int | None = None

    def load(self, end: int) -> tuple[int, bytes]:
        random = self._process.world.random
        for position, state in reversed(self._storage.all.get(self._partition, [])):
            is_oldest = position == self._storage.all[self._partition][0][0]
            if position <= end and (is_oldest or random.random() > 0.1):  # some are damaged
                waiting, done, beside = json.loads(state)
                self._waiting, self._done = dict.fromkeys(waiting), set(done)
                return position, beside.encode()
        return 0, b""

    def restore(self, data: bytes, position: int) -> None:
        kind, *what = json.loads(data)
        if kind == "accepted":
            self._admit(what[0])
        elif kind == "settled":
            done, taken = what
            for url, found in done:
                self._settle(url, found)
                self._new.append((position, url))
            for url in taken:
                self._reopen(url)

    def restored(self, is_given_back: bool, final: int) -> list[Record]:
        self._restored_at, random = self._process.clock(), self._process.world.random
        self._outbox.clear()
        doubtful = [url for position, url in self._new if position > final and url in self._done]
        self._new.clear()
        if is_given_back or random.random() < 0.5:
            return []
        return self._take_back(doubtful)

    def doubted_for(self) -> float | None:
        return self._process.world.random.choice((None, None, 1.0))

    def doubt(self) -> list[Record]:
        random = self._process.world.random
        return self._take_back([url for at, url in self._recent if random.random() < 0.1])

    def accept(self, links: bytes) -> bytes:
        self._step("accept")
        urls = json.loads(links)
        self._admit(urls)
        return json.dumps(["accepted", urls]).encode()

    def take(self, max: int) -> list[Record]:
        self._step("take")
        now = self._process.clock()
        taken: list[Record] = []
        for url in list(self._waiting):
            site = url.split("/")[0]
            if len(taken) < max and self.room()[0] > 0 and now >= self._due.get(site, self._restored_at + INTERVAL):
                self._due[site] = float("inf")  # until it is answered
                del self._waiting[url]
                self._leased.add(url)
                taken.append(Record(url, self._partition))
        return taken

    def leased(self, requests: list[Record]) -> bytes:
        self._step("leased")
        return json.dumps(["leased", [one.url for one in requests]]).encode()

    def judge(self, outcomes: list[Record]) -> list[Record]:
        self._step("judge")
        now, random = self._process.clock(), self._process.world.random
        while self._recent and now - self._recent[0][0] > DISTANCE - 1:
            self._recent.popleft()
        if self._recent and random.random() < 0.002:
            return outcomes + self._take_back([self._recent[-1][1]])
        return outcomes

    def settled(self, outcomes: list[Record]) -> list[bytes]:
        self._step("settled")
        done = [(one.url, one.found) for one in outcomes if one.found is not None]
        return [json.dumps(["settled", done, [one.url for one in outcomes if one.is_taken]]).encode()]

    def pages(self, outcomes: list[Record]) -> tuple[list[bytes], bool]:
        self._step("pages")
        taken = [one.url for one in outcomes if one.is_taken]
        rows = [one.url for one in outcomes if one.found is not None]
        return [json.dumps([rows, taken]).encode()], bool(taken)

    def done(self, outcomes: list[Record]) -> None:
        self._step("done")
        for one in outcomes:
            if one.is_taken:
                continue
            assert one.url in self._leased
            self._leased.remove(one.url)
            self._due[one.url.split("/")[0]] = self._process.clock() + INTERVAL
            if one.found is None:
                self._waiting[one.url] = None
            else:
                self._settle(one.url, one.found)
                self._recent.append((self._process.clock(), one.url))

    def tell(self) -> tuple[bytes, list[tuple[int, bytes]]]:
        return b"", []

    def outbox(self) -> list[tuple[int, bytes]]:
        parted: dict[int, list[str]] = {}
        for url in self._outbox:
            parted.setdefault(partition_of(url, self._partitions), []).append(url)
        self._outbox.clear()
        return [(owner, json.dumps(urls).encode()) for owner, urls in parted.items()]

    def save(self, position: int, beside: bytes) -> None:
        self._step("save")
        state = json.dumps([[*self._waiting, *sorted(self._leased)], sorted(self._done), beside.decode()])

        def written() -> None:
            if self._process.is_alive:
                kept = self._storage.all.setdefault(self._partition, [])
                kept.append((position, state))
                kept.sort()
                if len(kept) > 1:
                    self._storage.remove(self._partition, kept[-2][0])

        self._process.world.later(self._process.world.random.uniform(0.1, 2), written)

    def saved(self) -> bool:
        return True

    def wait(self) -> float:
        return 0.2

    def is_idle(self) -> bool:
        return not self._leased and (not self._waiting or self.room()[0] == 0)

    def set_max_pages(self, pages: int) -> None:
        self._max_pages = pages

    def room(self) -> tuple[int, int]:
        left = 1 << 30 if self._max_pages is None else self._max_pages - len(self._done) - len(self._leased)
        return max(left, 0), len(self._waiting)

    def share(self, part: float) -> None:
        assert 0 < part <= 1

    def counts(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass

    def _step(self, name: str) -> None:
        """Fail, if this step is to."""
        if self._process.failing == name:
            self._process.failing, self._process.has_failed = "", True
            raise Failed(name)

    def _take_back(self, urls: list[str]) -> list[Record]:
        """Take outcomes back."""
        taken = [url for url in dict.fromkeys(urls) if url in self._done]
        for url in taken:
            self._reopen(url)
        return [Record(url, self._partition, is_taken=True) for url in taken]

    def _reopen(self, url: str) -> None:
        """A URL waits again."""
        self._done.discard(url)
        self._waiting[url] = None
        self._recent = deque((at, one) for at, one in self._recent if one != url)

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
        self._loaded: Loaded | Unavailable | StateLost | None = None

        def run() -> None:
            try:
                self._loaded = work()
            except (Unavailable, StateLost) as error:
                self._loaded = error

        process.start(run)

    def done(self) -> bool:
        return self._loaded is not None

    def result(self) -> Loaded:
        assert self._loaded is not None
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded

    def cancel(self) -> bool:
        return False


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
            Loader(self.client, cast(Any, make), lambda work: ModelLoad(process, work), process.clock),
            process.clock,
            partitions=scenario.engine.partitions,
            fence=FENCE,
            interval=0.1,
            snapshots=3.0,
            distance=DISTANCE,
            max_pages=scenario.max_pages,
        )
        divide: Any = Divide()
        frontier = LaneFrontier(member, divide)
        inner = ModelFetch(process, scenario.sites, slots=6)
        fetch = CommittedFetch(cast(Any, inner), member, divide, inner.set_fence)
        stages = Stages(cast(Any, frontier), fetch, cast(Any, ModelParse()), cast(Any, LaneLog(member, divide)))
        member.lane = MemberLane(member, frontier, fetch, stages, clock=process.clock, grace=2.0)
        with contextlib.suppress(Failed):
            try:
                with member.dropping():
                    for _ in run(stages, self.control, member.look):
                        pass
            finally:
                self.client.leave(member)
        if self in scenario.workers and process.has_failed:
            scenario.workers.remove(self)
            scenario.ended.append(self)
            scenario.world.later(1.0, scenario.begin)


class Scenario:
    """One crawl, with trouble that a seed decides."""

    def __init__(
        self,
        seed: int,
        workers: int,
        partitions: int,
        sites: int = 12,
        pages: int = 5,
        max_pages: int | None = None,
    ) -> None:
        self.world, self.max_pages = World(seed), max_pages
        self.count = min(max_pages or sites * pages, sites * pages)  # pages that are to be recorded
        random = self.world.random
        self.engine = Engine(self.world, partitions)
        self.engine.committing = self.note
        self.network = Network(self.world, random.choice((0.0, 0.0, 0.02, 0.1)))
        self.sites, self.storage = Sites(self.world, sites, pages), Snapshots(self.engine)
        self.workers: list[Worker] = []
        self.ended: list[Worker] = []
        self._names = 0
        self.is_over_now = False  # as the partitions tell
        self.taken = 0  # outcomes that were taken back
        self.rows: Counter[str] = Counter()  # of the output
        self.is_written = False  # whether it has all of them, once
        self._read = dict.fromkeys(range(partitions), 0)  # up to which pages the output has them
        self.damaged: set[tuple[str, int, int]] = set()  # messages that nobody can read
        owner = partition_of(self.sites.seed, partitions)
        self.append("links", owner, json.dumps([self.sites.seed]).encode())
        for _ in range(workers):
            self.begin()

    def note(self, transaction: Transaction) -> None:
        """A transaction is committed: its leases may be used."""
        for data in (data for records in transaction.journal.values() for data in records):
            if data.startswith(b'["leased"'):
                self.sites.leased.update(json.loads(data)[1])
            elif data.startswith(b'["settled"'):
                self.taken += len(json.loads(data)[2])

    def append(self, topic: str, partition: int, data: bytes) -> int:
        """Append a message that no worker has written; returns the position behind it."""
        opened = self.engine.begin(self.engine.begin_writer("somebody"))
        assert opened is not None
        self.engine.topics[topic, partition].append((data, opened))
        self.engine.commit(opened)
        return len(self.engine.topics[topic, partition])

    def damage(self) -> None:
        """Append a message that nobody can read."""
        random = self.world.random
        topic, partition = random.choice(("links", "journal")), random.randrange(self.engine.partitions)
        self.damaged.add((topic, partition, self.append(topic, partition, b"nonsense")))

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
                        self.damage,
                        self.fail,
                    )
                ),
            )

    def fail(self) -> None:
        """Have something fail at a worker: a disk, or a defect of a stage."""
        if (worker := self._any()) is not None:
            worker.process.failing = self.world.random.choice(FAILING)

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
        return len(self.sites.fetched) >= self.count and len(self.recorded()) == self.count

    def look(self) -> None:
        """If the statuses say that the job is over, it has to be."""
        self.write()
        if not self.is_over_now and self.is_told_over():
            self.is_over_now = True
            if not self.is_done():
                self.sites.violations.append(f"{self.world.now:.3f}: told as over, and is not")

    def write(self) -> None:
        """Write what is released, as outputs do it."""
        for partition, start in self._read.items():
            released, taken = self.engine.released[partition], dict[str, int]()
            for place, (_, urls) in self._pages(partition, start, released.taken):
                taken.update(dict.fromkeys(urls, place))
            for place, (rows, _) in self._pages(partition, start, released.pages):
                self.rows.update(row for row in rows if taken.get(row, -1) <= place)
            self._read[partition] = max(start, released.pages)
        self.is_written = self.rows.total() == len(self.rows) == self.count

    def _pages(self, partition: int, start: int, end: int) -> list[tuple[int, tuple[list[str], list[str]]]]:
        """The committed pages of a partition: position, rows, and what is taken back."""
        records = self.engine.topics["pages", partition]
        pieces = range(start, min(end, len(records)))
        return [(at, json.loads(records[at][0])) for at in pieces if records[at][1].end is End.COMMITTED]

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
                if data.startswith(b'["settled"'):
                    _, done, taken = json.loads(data)
                    recorded.update(url for url, _ in done)
                    recorded.subtract(taken)
        return +recorded

    def run(self, until: float = 600.0) -> None:
        """Crawl to the end, and look at what the ledger and the journals say."""
        self.world.every(lambda: 0.5, self.look)
        is_done = self.world.run(until, lambda: self.is_over_now)
        assert not self.sites.violations, self.sites.violations[:3]
        count = len(self.recorded())
        assert is_done, f"after {self.world.now:.0f} s {count} of {self.count} are recorded"
        twice = [url for url, count in self.recorded().items() if count > 1]
        assert not twice, f"recorded more than once: {twice[:5]}"
        repeats = sum(self.sites.fetched.values()) - self.count - self.taken
        losses = sum(worker.client.losses for worker in self.workers + self.ended) + len(self.ended)
        assert repeats <= losses * 6, f"{repeats} repeats by {losses} losses of at most 6 leases"
        # What is recorded is in the output soon after, once.
        self.world.run(self.world.now + 120, lambda: self.is_written)
        recorded = self.recorded()
        wrong = [url for url in recorded | self.rows if self.rows[url] != 1 or recorded[url] != 1]
        assert len(recorded) == self.count
        assert not wrong, (
            f"{len(wrong)} URLs are not in the output once: {[(url, self.rows[url]) for url in wrong[:5]]}"
        )
        told = {(letter.topic, letter.partition, letter.position) for letter in self.engine.dead_letters}
        passed = {one for one in self.damaged if one[0] == "links" and one[2] <= self.engine.positions[one[1]]}
        assert passed <= told <= self.damaged, f"dead letters: {told}, and not {passed} of {self.damaged}"
        for worker in self.workers:
            worker.process.kill()
