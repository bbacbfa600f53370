"""A crawl's outputs: opened all together or not at all, then followed, then completed."""

from __future__ import annotations

from lycosa.assemble import attach_sink
from lycosa.errors import LycosaError
from lycosa.memory import shares
from lycosa.plan import Plan
from lycosa.sink import Sink
from lycosa.stages import Log
from lycosa.store.directory import JobDirectory
from lycosa.store.follow import Follower
from lycosa.store.patient import Patience
from lycosa.store.turn import Turn


class Outputs:
    """The outputs that a session writes, and the recorded ones that it does not write."""

    def __init__(self, plan: Plan, directory: JobDirectory, job_id: str) -> None:
        """Open nothing yet."""
        self._plan, self._sinks, self._unwritten = plan, plan.outputs, plan.unwritten
        for sink in [*self._sinks, *self._unwritten]:
            attach_sink(sink, plan.job, directory, job_id)
        self._followers: list[Follower] = []
        self._opened: list[Sink] = []

    def open(self, log: Log, patience: Patience, *, anew: bool) -> None:
        """Open all of them; if that raises StorageError or SettingError, call :meth:`abandon`.

        anew: existing outputs are removed, and written again from the log.
        """
        job, turn = self._plan.job, Turn()
        if anew:
            for sink in self._unwritten:
                sink.remove()
        # New ones first: if one of them cannot be opened, existing ones are not touched.
        for sink in sorted(self._sinks, key=lambda sink: sink.exists()):
            if anew:
                sink.remove()
            self._opened.append(sink)
            share = shares(job).outputs // len(self._sinks)
            follower = Follower(log, sink, patience, share, job.parse.max_decoded_bytes, turn)
            self._followers.append(follower)

    def abandon(self) -> None:
        """Restore the outputs from before :meth:`open`; does not stop what :meth:`start` started."""
        for sink in self._opened:
            sink.undo()

    def start(self) -> None:
        """Start to follow the log."""
        for follower in self._followers:
            follower.start()

    def check(self) -> None:
        """Raise the error that ended an output's thread, if any."""
        for follower in self._followers:
            follower.check()

    def positions(self) -> list[int]:
        """Return the committed position of each output, including those that this session does not write."""
        return [follower.position() for follower in self._followers] + [_committed(sink) for sink in self._unwritten]

    def behind(self, end: int) -> int:
        """Return how many bytes of the log, at most, an output has not been given. end: of the log."""
        return max((end - follower.reached for follower in self._followers), default=0)

    def away(self) -> dict[str, str]:
        """Return the outputs that do not answer, and why."""
        return {one.url: one.away for one in self._followers if one.away is not None}

    @property
    def followers(self) -> list[Follower]:
        """Who writes the outputs of this session."""
        return self._followers

    def gaps(self) -> list[tuple[str, tuple[int, int]]]:
        """Return the outputs, by recorded name, that lack records the log had removed: from and to which position."""
        pairs = zip(self._opened, self._followers, strict=True)
        return [(sink.job.name, follower.gap) for sink, follower in pairs if follower.gap is not None]

    def close(self) -> list[LycosaError]:
        """Follow to the log's end and complete the outputs; returns the errors that prevent it."""
        problems: list[LycosaError] = []
        for follower in self._followers:
            follower.close()
        for follower in self._followers:
            try:
                follower.check()
            except LycosaError as problem:
                problems.append(problem)
        return problems


def _committed(sink: Sink) -> int:
    """Return an output's position, 0 if it is missing or cannot be read."""
    try:
        return sink.committed() or 0
    except LycosaError:
        return 0
