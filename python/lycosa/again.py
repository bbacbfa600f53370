"""Pages that were fetched before are parsed again, without a network: ``lycosa parse SOURCE… -o …``.

To sinks the sources are what the log of a crawl is: positions grow with each batch, and each sink commits its rows
with the position. So a run that was stopped goes on where each of its outputs is, and each page
is in them once.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lycosa import _core
from lycosa.errors import OutputAway
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.records import Outcomes, Responses
from lycosa.sink import Sink
from lycosa.sources import Damage, Source
from lycosa.store.patient import Patience, pause_after
from lycosa.store.replace import is_full

logger = logging.getLogger("lycosa")

#: Seconds for which a run that is to end is waited for: until its batch is written.
LAST = 5.0

#: Bits of a position for the batches of a source: 500 records each.
BATCHES = 40

#: Batches that are read, and that are parsed, before they are needed.
AHEAD = 2

Item = TypeVar("Item")


class Sources:
    """Sources in their order. A position is the number of a source, and that of batches of it."""

    def __init__(
        self,
        all_of_them: Sequence[Source],
        known: Sequence[tuple[int, Damage]] = (),
        note: Callable[[int, Damage], None] = lambda number, damage: None,
    ) -> None:
        """Read nothing yet. known: damages of earlier runs, with the number of their source. note: gets new ones."""
        self.all, self._note = list(all_of_them), note
        # A source may be spelled otherwise than in an earlier run.
        self._known = {(number, damage.position, damage.text) for number, damage in known}
        #: What could not be read, each once, however often it is read again.
        self.damages = [damage for _, damage in known]
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
                for damage in batch.damages:
                    self._add(number, damage)
                if begin + count > position:
                    yield batch.responses, begin + count

    def _add(self, number: int, damage: Damage) -> None:
        """Note a damage, unless it is known."""
        known = (number, damage.position, damage.text)
        if known not in self._known:
            self._note(number, damage)
            self._known.add(known)
            self.damages.append(damage)


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    part: float = 0.0
    pages: int = 0
    damages: int = 0
    positions: dict[str, int] = field(default_factory=dict)


class Written:
    """An output of a run: its sink, and how much of the sources it has."""

    def __init__(self, sink: Sink, end: int, patience: Patience) -> None:
        """Open nothing yet. end: of the sources."""
        self.sink, self._end, self._patience = sink, end, patience
        self.committed = self._pending = 0
        self._since = time.monotonic()
        #: How often in a row it has not answered, and whether it has all.
        self.tries, self.is_done = 0, False

    def open(self) -> None:
        """Go on behind what is committed: the rest is dropped, and given again. A full disk is waited for."""
        while True:
            try:
                self.committed = self.sink.open(0, self._end)
                break
            except OSError as error:
                self.wait(error)
        self._pending, self._since = 0, time.monotonic()

    def write(self, outcomes: Outcomes, position: int) -> bool:
        """Write rows; returns whether so much is not committed that it should be."""
        self._pending += self.sink.write(outcomes, position) or 0
        is_old = time.monotonic() - self._since >= self.sink.commit_seconds
        return is_old or self._pending >= self.sink.commit_bytes

    def commit(self, position: int) -> None:
        """Commit what was written."""
        self.sink.commit(position)
        self.committed, self._pending, self._since = position, 0, time.monotonic()
        self._patience.written(self.sink.url)
        if self.tries > 0:
            logger.warning("output %s answers again", self.sink.url)
            self.tries = 0

    def wait(self, error: OSError) -> None:
        """Wait for space on a full disk; raises any other error, and what ends the run meanwhile."""
        if not is_full(error):
            raise error
        if not self._patience.wait(self.sink.url):
            raise KeyboardInterrupt


class Run:
    """Parses sources into sinks that were checked and attached: reads, parses and writes side by side."""

    def __init__(self, job: Job, sources: Sources, sinks: Sequence[Sink], tell: Callable[[Progress], None]) -> None:
        """Open the sinks; raises StorageError. tell: is called after each batch, in a thread of the run."""
        self._job, self._sources, self._tell = job, sources, tell
        self._ended = threading.Event()
        patience = Patience(self._ended.is_set)
        self._outputs = [Written(sink, sources.end, patience) for sink in sinks]
        self._progress = Progress()
        #: The position behind the last batch that was counted, and the output that is used.
        self._counted, self._used = 0, self._outputs[0]
        self._open()

    def parse(self) -> Progress:
        """Parse all; raises StorageError: what is committed stays.

        While an output is away, or a disk full, it waits; then it goes on where each output is. It is done in another
        thread, since a library that waits for a store would not let Ctrl-C through.
        """
        done = Future[Progress]()
        threading.Thread(target=self._work, args=(done,), name="lycosa-parse", daemon=True).start()
        try:
            return done.result()
        except KeyboardInterrupt:
            self._ended.set()
            with contextlib.suppress(BaseException):
                done.exception(LAST)
            raise

    def _work(self, done: Future[Progress]) -> None:
        """The thread's body."""
        try:
            done.set_result(self._parse())
        except BaseException as error:
            done.set_exception(error)

    def _parse(self) -> Progress:
        """Parse all, however often outputs are away."""
        is_open = True
        while True:
            try:
                if not is_open:
                    self._open()
                self._pass()
                return self._progress
            except OutputAway as error:
                is_open = False
                self._wait(error)
            except OSError as error:
                is_open = False
                self._used.wait(error)

    def _open(self) -> None:
        """Open all sinks where they are."""
        for output in self._using(self._missing()):
            output.open()
            self._progress.positions[output.sink.url] = output.committed

    def _pass(self) -> None:
        """Parse what is behind the first output, and give it to those that do not have it."""
        with_links = any(output.sink.with_links for output in self._outputs)
        begin = min(output.committed for output in self._missing())
        with contextlib.closing(_ahead(_parsed(self._job, self._sources, begin, with_links))) as batches:
            for outcomes, position in batches:
                if self._ended.is_set():
                    raise KeyboardInterrupt
                self._count(len(outcomes), position)
                # Others may be further since the last run.
                behind = [output for output in self._outputs if position > output.committed]
                for output in self._using(behind):
                    # A sink may empty what it gets.
                    given = Outcomes.decode(outcomes.encode()) if output is not behind[-1] else outcomes
                    if output.write(given, position):
                        self._commit(output, position)
                self._tell(self._progress)
        for output in self._using(self._missing()):
            self._commit(output, self._sources.end)
            output.sink.close()
            output.is_done = True

    def _missing(self) -> list[Written]:
        """Outputs that do not have all yet."""
        return [output for output in self._outputs if not output.is_done]

    def _using(self, outputs: Sequence[Written]) -> Iterator[Written]:
        """Yield outputs: an error is that of the last one."""
        for self._used in outputs:
            yield self._used

    def _count(self, pages: int, position: int) -> None:
        """Count pages, those that are parsed again once."""
        self._progress.part, self._progress.damages = self._sources.part, len(self._sources.damages)
        if position > self._counted:
            self._progress.pages += pages
            self._counted = position

    def _commit(self, output: Written, position: int) -> None:
        """Commit an output."""
        output.commit(position)
        self._progress.positions[output.sink.url] = position

    def _wait(self, error: OutputAway) -> None:
        """Wait until the next try of the output that is away."""
        output = self._used
        if output.tries == 0:
            logger.warning("%s; it is tried again; Ctrl-C ends it, and the same command goes on", error)
        output.tries += 1
        if self._ended.wait(pause_after(output.tries)):
            raise KeyboardInterrupt


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
