"""A crawl in the simulated world: workers that run the real code, and what happens to them."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from typing import Any, cast

from lycosa.cluster.broker import Transaction
from lycosa.cluster.lane import CommittedFetch, LaneFrontier, LaneLog, MemberLane
from lycosa.cluster.loading import Loader
from lycosa.cluster.member import Member
from lycosa.cluster.status import Status, is_over
from lycosa.loop import Control, run
from lycosa.stages import Stages

from tests.unit.cluster.engine import SESSION, Client, End, Engine, Network
from tests.unit.cluster.model_part import DISTANCE, FAILING, ModelPart
from tests.unit.cluster.model_sites import Failed, Sites, Snapshots, partition_of
from tests.unit.cluster.model_stages import Divide, ModelFetch, ModelLoad, ModelParse
from tests.unit.cluster.world import Process, World

#: Seconds after the beginning of a commit in which requests may be started.
FENCE = 3.0


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
        self.excluded = 0  # workers that were excluded, and did not know it at the end
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

    def told(self, topic: str) -> Counter[str]:
        """Return how often each message of one partition to another is in a topic."""
        records = (self.engine.committed(topic, partition) for partition in range(self.engine.partitions))
        return Counter(data.decode() for some in records for data in some if data.startswith(b'["heard"'))

    def run(self, until: float = 600.0) -> None:
        """Crawl to the end, and look at what the ledger and the journals say."""
        try:
            self._run(until)
        finally:
            self.world.close()

    def _run(self, until: float) -> None:
        """The same, without ending what runs still."""
        self.world.every(lambda: 0.5, self.look)
        is_done = self.world.run(until, lambda: self.is_over_now)
        assert not self.sites.violations, self.sites.violations[:3]
        count = len(self.recorded())
        assert is_done, f"after {self.world.now:.0f} s {count} of {self.count} are recorded"
        twice = [url for url, count in self.recorded().items() if count > 1]
        assert not twice, f"recorded more than once: {twice[:5]}"
        repeats = sum(self.sites.fetched.values()) - self.count - self.taken
        losses = sum(worker.client.losses for worker in self.workers + self.ended) + len(self.ended)
        self.excluded = sum(worker.client.is_excluded for worker in self.workers)
        losses += self.excluded
        assert repeats <= losses * 6, f"{repeats} repeats by {losses} losses of at most 6 leases"
        assert self.told("links"), "no partition has told another one anything"
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
