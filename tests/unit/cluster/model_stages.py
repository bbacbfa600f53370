"""Fetch, parse and loading of a simulated crawl."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable

from lycosa.cluster.broker import StateLost, Unavailable
from lycosa.cluster.loading import Loaded

from tests.unit.cluster.model_sites import Record, Sites
from tests.unit.cluster.world import Process


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
