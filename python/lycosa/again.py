"""Pages that were fetched before are parsed again, without a network: ``lycosa parse SOURCE… -o …``.

To sinks the sources are what the log of a crawl is: positions grow with each batch, and each sink commits its rows
with the position. So a run that was stopped goes on where each of its outputs is, and each page
is in them once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lycosa import _core
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.records import Outcomes, Responses
from lycosa.sink import Sink
from lycosa.sources import Damage, Source

#: Bits of a position for the batches of a source: 500 records each.
BATCHES = 40

#: Batches that are read, and that are parsed, before they are needed.
AHEAD = 2

Item = TypeVar("Item")


class Sources:
    """Sources in their order. A position is the number of a source, and that of batches of it."""

    def __init__(self, all_of_them: Sequence[Source]) -> None:
        """Read nothing yet."""
        self.all = list(all_of_them)
        self.damages: list[Damage] = []
        #: Which part of all was read.
        self.part = 0.0

    @property
    def end(self) -> int:
        """The position after the last source."""
        return len(self.all) << BATCHES

    def read(self, position: int) -> Iterator[tuple[Responses, int]]:
        """Yield responses from a position on, which was yielded before or is 0, with the position behind them."""
        for number, source in enumerate(self.all):
            begin = number << BATCHES
            # What was read before is read again, and passed over, since not all sources have places to begin at.
            if position >= begin + (1 << BATCHES):
                continue
            for count, batch in enumerate(source.read(), 1):
                self.part = (number + min(batch.part, 1.0)) / len(self.all)
                if begin + count > position:
                    self.damages += batch.damages
                    yield batch.responses, begin + count


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    part: float = 0.0
    pages: int = 0
    damages: int = 0
    positions: dict[str, int] = field(default_factory=dict)


def parse_again(job: Job, sources: Sources, sinks: Sequence[Sink], tell: Callable[[Progress], None]) -> Progress:
    """Parse all sources into sinks that were checked and attached. Raises StorageError; all that is committed stays.

    Reading, parsing and writing are done side by side. tell: is called after each batch.
    """
    positions = {sink.url: sink.open(0, sources.end) for sink in sinks}
    pending, since = dict.fromkeys(positions, 0), dict.fromkeys(positions, time.monotonic())
    progress = Progress(positions=positions)
    with_links = any(sink.with_links for sink in sinks)
    for outcomes, position in _ahead(_parsed(job, sources, min(positions.values()), with_links)):
        progress.part, progress.damages = sources.part, len(sources.damages)
        progress.pages += len(outcomes)
        # Others may be further since the last run.
        behind = [sink for sink in sinks if position > positions[sink.url]]
        for sink in behind:
            # A sink may empty what it gets.
            given = Outcomes.decode(outcomes.encode()) if sink is not behind[-1] else outcomes
            pending[sink.url] += sink.write(given, position) or 0
            is_old = time.monotonic() - since[sink.url] >= sink.commit_seconds
            if is_old or pending[sink.url] >= sink.commit_bytes:
                sink.commit(position)
                positions[sink.url], pending[sink.url], since[sink.url] = position, 0, time.monotonic()
        tell(progress)
    for sink in sinks:
        sink.commit(sources.end)
        positions[sink.url] = sources.end
        sink.close()
    return progress


def _parsed(job: Job, sources: Sources, position: int, with_links: bool) -> Iterator[tuple[Outcomes, int]]:
    """Yield outcomes, and the position behind each batch of them."""
    memory = shares(job)
    # One parser of all: it learns the templates of sites while it parses.
    parser = _core.Parser(divided(job, memory), memory.batch, memory.decoding, links=with_links)
    for responses, behind in _ahead(sources.read(position)):
        left, done = len(responses), list[Outcomes]()
        while left > 0:
            # It keeps what has no memory yet, and parses that before the next batch.
            outcomes = parser.parse(responses if not done else Responses())
            left -= len(outcomes)
            done.append(outcomes.rows())
        yield _core.join_outcomes(done), behind


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items that a thread of its own makes meanwhile."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="lycosa-parse")
    try:
        waiting = deque(thread.submit(next, items, None) for _ in range(AHEAD))
        while (item := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(next, items, None))
            yield item
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
