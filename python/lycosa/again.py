"""Pages that were fetched before are parsed again, without a network: ``lycosa parse SOURCE… -o …``.

To sinks the sources are what the log of a crawl is: positions grow with each batch, and each sink commits its rows
with the position. So a run that was stopped goes on where each of its outputs is, and each page
is in them once.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lycosa import _core
from lycosa.errors import OutputAway
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.records import Outcomes, Responses
from lycosa.sink import Sink
from lycosa.sources import Damage, Source
from lycosa.store.follow import FIRST_PAUSE, LONGEST_PAUSE
from lycosa.store.patient import Patience
from lycosa.store.replace import is_full

logger = logging.getLogger("lycosa")

#: The disk that may be full, as in messages.
PLACE = "the outputs"

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
        #: The position behind the last batch whose damages are known.
        self._known = 0
        #: Which part of all was read.
        self.part = 0.0

    @property
    def end(self) -> int:
        """The position after the last source."""
        return len(self.all) << BATCHES

    def read(self, position: int) -> Generator[tuple[Responses, int], None, None]:
        """Yield responses from a position on, which was yielded before or is 0, with the position behind them."""
        for number, source in enumerate(self.all):
            begin = number << BATCHES
            # What was read before is read again, and passed over, since not all sources have places to begin at.
            if position >= begin + (1 << BATCHES):
                continue
            for count, batch in enumerate(source.read(), 1):
                self.part = (number + min(batch.part, 1.0)) / len(self.all)
                if begin + count > position:
                    if begin + count > self._known:
                        self.damages += batch.damages
                        self._known = begin + count
                    yield batch.responses, begin + count


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    part: float = 0.0
    pages: int = 0
    damages: int = 0
    positions: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Output:
    """An output of a run: its sink, and what of the sources it has."""

    sink: Sink
    end: int
    committed: int = 0
    pending: int = 0
    since: float = 0.0

    def open(self) -> None:
        """Go on behind what is committed: the rest is dropped, and given again."""
        self.committed = self.sink.open(0, self.end)
        self.pending, self.since = 0, time.monotonic()

    def write(self, outcomes: Outcomes, position: int) -> bool:
        """Write rows; returns whether so much is not committed that it should be."""
        self.pending += self.sink.write(outcomes, position) or 0
        is_old = time.monotonic() - self.since >= self.sink.commit_seconds
        return is_old or self.pending >= self.sink.commit_bytes

    def commit(self, position: int) -> None:
        """Commit what was written."""
        self.sink.commit(position)
        self.committed, self.pending, self.since = position, 0, time.monotonic()


class Run:
    """Parses sources into sinks that were checked and attached: reads, parses and writes side by side."""

    def __init__(self, job: Job, sources: Sources, sinks: Sequence[Sink], tell: Callable[[Progress], None]) -> None:
        """Open the sinks; raises StorageError. tell: is called after each batch."""
        self._job, self._sources, self._tell = job, sources, tell
        self._outputs = [Output(sink, sources.end) for sink in sinks]
        self._progress = Progress()
        #: The position behind the last batch that was counted, and how often in a row the run was begun again.
        self._counted, self._tries = 0, 0
        self._patience = Patience(lambda: False)
        self._open()

    def parse(self) -> Progress:
        """Parse all; raises StorageError: what is committed stays.

        While an output is away, or a disk full, it waits; then it goes on where each output is.
        """
        is_open = True
        while True:
            try:
                if not is_open:
                    self._open()
                self._pass()
            except (OutputAway, OSError) as error:
                is_open = False
                self._wait(error)
            else:
                return self._progress

    def _open(self) -> None:
        """Open all sinks where they are."""
        for output in self._outputs:
            output.open()
            self._progress.positions[output.sink.url] = output.committed

    def _pass(self) -> None:
        """Parse what is behind the first output, and give it to those that do not have it."""
        with_links = any(output.sink.with_links for output in self._outputs)
        begin = min(output.committed for output in self._outputs)
        with contextlib.closing(_ahead(_parsed(self._job, self._sources, begin, with_links))) as batches:
            for outcomes, position in batches:
                self._count(len(outcomes), position)
                # Others may be further since the last run.
                behind = [output for output in self._outputs if position > output.committed]
                for output in behind:
                    # A sink may empty what it gets.
                    given = Outcomes.decode(outcomes.encode()) if output is not behind[-1] else outcomes
                    if output.write(given, position):
                        self._commit(output, position)
                self._tell(self._progress)
        for output in self._outputs:
            self._commit(output, self._sources.end)
            output.sink.close()

    def _count(self, pages: int, position: int) -> None:
        """Count pages, those that are parsed again once."""
        self._progress.part, self._progress.damages = self._sources.part, len(self._sources.damages)
        if position > self._counted:
            self._progress.pages += pages
            self._counted = position

    def _commit(self, output: Output, position: int) -> None:
        """Commit an output: it answers, and has space."""
        output.commit(position)
        self._progress.positions[output.sink.url] = position
        self._patience.written(PLACE)
        if self._tries > 0:
            logger.warning("outputs answer again")
            self._tries = 0

    def _wait(self, error: OutputAway | OSError) -> None:
        """Wait until the next try; raises an error that does not pass by itself."""
        if isinstance(error, OutputAway):
            if self._tries == 0:
                logger.warning("%s; it is tried again; Ctrl-C ends it, and the same command goes on", error)
            time.sleep(min(FIRST_PAUSE * 2**self._tries, LONGEST_PAUSE))
            self._tries += 1
        elif not is_full(error):
            raise error
        else:
            self._patience.wait(PLACE)


def _parsed(
    job: Job, sources: Sources, position: int, with_links: bool
) -> Generator[tuple[Outcomes, int], None, None]:
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


def _ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """Yield items that a thread of its own makes meanwhile."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="lycosa-parse")
    try:
        waiting = deque(thread.submit(next, items, None) for _ in range(AHEAD))
        while (item := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(next, items, None))
            yield item
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
        items.close()
