"""Pages that were fetched before are parsed again, without a network: ``lycosa parse SOURCE… -o …``.

To sinks the sources are what the log of a crawl is: a position is one of all sources, one after the other, and each
sink commits its rows with the position. So a run that was stopped goes on where each of its outputs is, and each page
is in them once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from lycosa import _core
from lycosa.job import Job
from lycosa.records import Outcomes, Responses
from lycosa.sink import Sink
from lycosa.sources import Batch, Damage, Source

#: Batches that are parsed, or wait to be written, for each thread.
AHEAD = 2


class Sources:
    """Sources in their order."""

    def __init__(self, all_of_them: Sequence[Source]) -> None:
        """Read nothing yet."""
        self.all = list(all_of_them)
        self.damages: list[Damage] = []
        self._starts = [0]
        for source in self.all:
            # A source without positions would end where the one before it does.
            self._starts.append(self._starts[-1] + max(source.size, 1))

    @property
    def end(self) -> int:
        """The position after the last source."""
        return self._starts[-1]

    def read(self, position: int) -> Iterator[Batch]:
        """Yield responses from a position on, which is one that was yielded before, or 0."""
        for source, start, end in zip(self.all, self._starts[:-1], self._starts[1:], strict=True):
            if position >= end:
                continue
            for batch in source.read(max(position - start, 0)):
                self.damages += batch.damages
                is_over = batch.position >= source.size
                yield Batch(batch.responses, end if is_over else start + batch.position)


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    position: int = 0
    end: int = 0
    pages: int = 0
    damages: int = 0
    positions: dict[str, int] = field(default_factory=dict)


def parse_again(
    job: Job, sources: Sources, sinks: Sequence[Sink], threads: int, tell: Callable[[Progress], None]
) -> Progress:
    """Parse all sources into sinks that were checked and attached. Raises StorageError; all that is committed stays.

    threads: that parse. tell: is called after each batch.
    """
    positions = {sink.url: sink.open(0, sources.end) for sink in sinks}
    pending = dict.fromkeys(positions, 0)
    progress = Progress(min(positions.values()), sources.end, positions=positions)
    for outcomes, position in _parsed(job, sources, progress.position, threads):
        for sink in sinks:
            # Others may be further since the last run.
            if position <= positions[sink.url]:
                continue
            # A sink may empty what it gets.
            given = Outcomes.decode(outcomes.encode()) if len(sinks) > 1 else outcomes
            pending[sink.url] += sink.write(given, position) or 0
            if pending[sink.url] >= sink.commit_bytes:
                sink.commit(position)
                positions[sink.url], pending[sink.url] = position, 0
        progress.position, progress.damages = position, len(sources.damages)
        progress.pages += len(outcomes)
        tell(progress)
    for sink in sinks:
        sink.commit(sources.end)
        positions[sink.url] = sources.end
        sink.close()
    return progress


def _parsed(job: Job, sources: Sources, position: int, threads: int) -> Iterator[tuple[Outcomes, int]]:
    """Yield outcomes in the order of the sources."""

    def parse(responses: Responses) -> Outcomes:
        return _core.Parser(job).parse(responses).rows()

    waiting: deque[tuple[Future[Outcomes], int]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="lycosa-parse") as pool:
        try:
            for batch in sources.read(position):
                waiting.append((pool.submit(parse, batch.responses), batch.position))
                while len(waiting) >= AHEAD * threads:
                    future, at = waiting.popleft()
                    yield future.result(), at
            while waiting:
                future, at = waiting.popleft()
                yield future.result(), at
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
