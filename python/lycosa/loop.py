"""The loop: one URL's way through the stages, and nothing else.

frontier → fetch → parse → log → frontier. A batch is what is ready now, never a barrier. A request is recorded
before it is sent, so that after a crash the hosts whose responses were lost are known. An outcome is judged, then
recorded, then confirmed: a confirmed lease is in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from lycosa.records import Outcomes
from lycosa.stages import Stages

#: Maximum number of outcomes per batch: large enough that Python's cost per page is small, small enough that
#: the first of them is not late.
BATCH = 256

#: Maximum wait for outcomes, in seconds.
LONGEST_WAIT = 0.05


class Control:
    """Stops a running crawl; may be used from any thread and from signal handlers."""

    def __init__(self) -> None:
        """Start with no request to stop."""
        self.stopping = False
        self.aborting = False
        #: Whether nothing more is taken for now; asked in each turn.
        self.holds: Callable[[], bool] | None = None
        self.is_over = False  # by an error, or because the caller has left: nobody waits for disk space any more

    def stop(self) -> None:
        """Take no new work; finish the requests in flight."""
        self.stopping = True

    @property
    def is_held(self) -> bool:
        """Whether nothing more is taken for now: an output is too far behind."""
        return self.holds is not None and self.holds()

    def abort(self) -> None:
        """End at once: requests in flight are cancelled, and their URLs stay waiting."""
        self.stopping = self.aborting = True


def run(stages: Stages, control: Control, look: Callable[[], None] | None = None) -> Generator[Outcomes, None, None]:
    """Crawl until the frontier is idle or ``control`` stops it; yield each batch once it is confirmed.

    look: called in each turn.
    """
    frontier, fetch, parse, log, turn = stages.frontier, stages.fetch, stages.parse, stages.log, stages.turns
    turn("frontier")
    while not frontier.idle():
        if look is not None:
            look()
        is_held = control.is_held
        if not control.stopping and not is_held:
            requests = frontier.take(fetch.free())
            turn("log")
            log.append_leases(requests)
            turn("fetch")
            fetch.submit(requests)
        elif control.stopping and (control.aborting or fetch.in_flight() == 0):
            break
        # A stopping crawl takes nothing more: it waits for outcomes only.
        within = LONGEST_WAIT if control.stopping or is_held else frontier.wait()
        turn("fetch")
        responses = fetch.completed(BATCH, within)
        turn("parse")
        parsed = parse.parse(responses)
        turn("frontier")
        outcomes = frontier.judge(parsed)
        if len(outcomes) == 0:
            continue
        turn("log")
        log.append(outcomes)
        turn("frontier")
        frontier.done(outcomes)
        turn("caller")
        yield outcomes
        turn("frontier")
    turn("fetch")
    fetch.cancel()
