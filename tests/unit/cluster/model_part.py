"""The frontier of one partition as a plain model."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from tests.unit.cluster.model_sites import INTERVAL, Failed, Record, Snapshots, partition_of
from tests.unit.cluster.world import Process

#: Seconds for which an outcome may be taken back.
DISTANCE = 4.0
#: Steps of a part that may fail.
FAILING = ("take", "leased", "judge", "settled", "pages", "done", "accept", "save")


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
        # Messages to other partitions are numbered: as the real ones, they have to come once and in order.
        self._has_news, self._sent, self._heard = False, dict[int, int](), dict[int, int]()

    def load(self, end: int) -> tuple[int, bytes]:
        random = self._process.world.random
        for position, state in reversed(self._storage.all.get(self._partition, [])):
            is_oldest = position == self._storage.all[self._partition][0][0]
            if position <= end and (is_oldest or random.random() > 0.1):  # some are damaged
                waiting, done, sent, heard, beside = json.loads(state)
                self._waiting, self._done = dict.fromkeys(waiting), set(done)
                self._sent, self._heard = dict(sent), dict(heard)
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
        elif kind == "told":
            (receiver,) = what
            self._sent[receiver] = self._sent.get(receiver, 0) + 1
        elif kind == "heard":
            self._hear(*what)

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
        if urls[:1] == ["heard"]:
            self._hear(*urls[1:])
            return links
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
        self._has_news = True
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
        if not self._has_news:
            return b"", []
        self._has_news = False
        # Each in turn.
        receiver = (self._partition + sum(self._sent.values())) % self._partitions
        self._sent[receiver] = number = self._sent.get(receiver, 0) + 1
        message = json.dumps(["heard", self._partition, number]).encode()
        return json.dumps(["told", receiver]).encode(), [(receiver, message)]

    def outbox(self) -> list[tuple[int, bytes]]:
        parted: dict[int, list[str]] = {}
        for url in self._outbox:
            parted.setdefault(partition_of(url, self._partitions), []).append(url)
        self._outbox.clear()
        return [(owner, json.dumps(urls).encode()) for owner, urls in parted.items()]

    def save(self, position: int, beside: bytes) -> None:
        self._step("save")
        told = [*self._sent.items()], [*self._heard.items()]
        state = json.dumps([[*self._waiting, *sorted(self._leased)], sorted(self._done), *told, beside.decode()])

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

    def _hear(self, sender: int, number: int) -> None:
        """Another partition has told something."""
        expected = self._heard.get(sender, 0) + 1
        assert number == expected, f"{self._partition} heard message {number} of {sender}, not {expected}"
        self._heard[sender] = number

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
