"""Lanes: the loop on several threads, each with a shard of the frontier, a fetch and a parser; one log.

Nothing is shared between lanes but the log, the clocks of hosts and addresses, and the links that one finds for
another (``lycosa.frontier.shards``): so cores add up.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Generator, Sequence

from lycosa.frontier.shards import Shard
from lycosa.loop import Control, run
from lycosa.records import Outcomes
from lycosa.stages import Fetch, Stages

logger = logging.getLogger("lycosa")

#: Batches that wait for the caller, at most, for each lane: a slow caller slows the lanes.
WAITING = 2

#: Seconds between two looks at whether a lane that waits for the caller is to end, or at what a caller waits for.
LOOK = 0.05


class Fetches:
    """What concerns the fetches of all lanes: reports, and the end. Each lane submits to its own."""

    def __init__(self, lanes: Sequence[Stages]) -> None:
        """lanes: whose fetches."""
        self._all: list[Fetch] = [lane.fetch for lane in lanes]

    def in_flight(self) -> int:
        """Requests submitted and not completed."""
        return sum(fetch.in_flight() for fetch in self._all)

    def cancel(self) -> None:
        """End everything in flight at once."""
        for fetch in self._all:
            fetch.cancel()


class LaneControl(Control):
    """How a lane is told to end: by the crawl's control, or by the end of another lane."""

    def __init__(self, control: Control) -> None:
        """control: the crawl's."""
        self._control, self.is_closed = control, False

    @property
    def stopping(self) -> bool:  # type: ignore[override]  # read only
        """Whether no new work is taken."""
        return self.is_closed or self._control.stopping

    @property
    def is_held(self) -> bool:
        """Whether nothing more is taken for now."""
        return self._control.is_held

    @property
    def aborting(self) -> bool:  # type: ignore[override]  # read only
        """Whether what is in flight is cancelled."""
        return self.is_closed or self._control.aborting


def run_lanes(
    lanes: Sequence[Stages], control: Control, look: Callable[[], None] | None = None
) -> Generator[Outcomes, None, None]:
    """Crawl on a thread a lane; yield each batch once it is confirmed. However it ends, all lanes end with it.

    An error of one lane ends the others. The first error is raised. look: called again and again, in this thread.
    """
    own = LaneControl(control)
    batches: queue.Queue[Outcomes | None] = queue.Queue(WAITING * len(lanes))
    errors: list[BaseException] = []
    is_left = threading.Event()

    def hand_over(batch: Outcomes | None) -> None:
        while not is_left.is_set():
            try:
                batches.put(batch, timeout=LOOK)
            except queue.Full:
                continue
            return

    def crawl(lane: Stages) -> None:
        try:
            for batch in run(lane, own):
                hand_over(batch)
        except BaseException as error:
            errors.append(error)
            own.is_closed = control.is_over = True
        finally:
            if isinstance(lane.frontier, Shard):
                lane.frontier.leave()
            hand_over(None)

    threads = [
        threading.Thread(target=crawl, args=(lane,), name=f"lycosa-lane-{number}")
        for number, lane in enumerate(lanes)
    ]
    try:
        for thread in threads:
            thread.start()
        # Also after an error: what is confirmed is the caller's.
        for _ in threads:
            while (batch := _next(batches, look)) is not None:
                yield batch
    except BaseException:
        control.is_over = True
        raise
    finally:
        own.is_closed = True
        is_left.set()
        for thread in threads:
            if thread.ident is not None:  # it has started
                thread.join()
    if errors:
        first, *others = errors
        errors.clear()
        # Lanes often fail for one reason.
        for text in dict.fromkeys(f"{type(error).__name__}: {error}" for error in others if str(error) != str(first)):
            logger.warning("another lane failed, too: %s", text)
        try:
            raise first
        finally:
            del first, others  # their tracebacks refer to this frame


def _next(batches: queue.Queue[Outcomes | None], look: Callable[[], None] | None) -> Outcomes | None:
    """Wait for the next batch, or the end of a lane."""
    while look is not None:
        look()
        try:
            return batches.get(timeout=LOOK)
        except queue.Empty:
            continue
    return batches.get()
