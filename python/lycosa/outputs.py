"""A crawl's output files: opened all together or not at all, then followed, then completed."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from lycosa import _core
from lycosa.assemble import make_sink
from lycosa.errors import LycosaError, StorageError
from lycosa.memory import shares
from lycosa.plan import Plan
from lycosa.stages import Sink
from lycosa.store.directory import JobDirectory
from lycosa.store.follow import Follower
from lycosa.store.patient import Patience
from lycosa.store.replace import is_full


class Outputs:
    """The outputs that a session writes, and recorded ones that it leaves for the next session."""

    def __init__(self, plan: Plan, directory: JobDirectory, job_id: str) -> None:
        """Nothing is opened yet."""
        self._plan, self._directory = plan, directory
        self._sinks = [(output, make_sink(output, plan.job, directory, job_id)) for output in plan.outputs]
        self._unwritten = [make_sink(output, plan.job, directory, job_id) for output in plan.unwritten]
        self._followers: list[Follower] = []
        self._opened: list[_Opened] = []

    def open(self, log: _core.Log, patience: Patience, *, anew: bool) -> None:
        """Open all of them; :meth:`abandon` is to be called where that raises StorageError or SettingError.

        anew: what stands there is removed, and written again from the log.
        """
        job, turn = self._plan.job, threading.Lock()
        if anew:
            for sink in self._unwritten:
                sink.remove()
        # New ones first: where one of them cannot be opened, those that are there are not touched.
        for output, sink in sorted(self._sinks, key=lambda pair: Path(pair[0]).exists()):
            if anew:
                sink.remove()
            self._opened.append(_Opened(output, sink))
            follower = Follower(
                log,
                self._directory.log,
                Path(output),
                sink,
                list(job.store.fields),
                patience,
                shares(job).outputs // len(self._sinks),
                job.parse.max_decoded_bytes,
                turn,
            )
            self._followers.append(follower)

    def abandon(self) -> None:
        """Leave the files as they were before :meth:`open`; what :meth:`start` began is not ended."""
        for opened in self._opened:
            opened.undo()

    def start(self) -> None:
        """Begin to follow the log."""
        for follower in self._followers:
            follower.start()

    def check(self) -> None:
        """Raise what an output's thread died of, if one did."""
        for follower in self._followers:
            follower.check()

    def positions(self) -> list[int]:
        """Up to which position of the log each output is on the disk, also those that are not written now."""
        return [follower.position() for follower in self._followers] + [_committed(sink) for sink in self._unwritten]

    def gaps(self) -> list[tuple[str, tuple[int, int]]]:
        """Outputs that lack records, which the log had lost before they came: from which position to which."""
        pairs = zip(self._opened, self._followers, strict=True)
        return [(opened.output, follower.gap) for opened, follower in pairs if follower.gap is not None]

    def close(self) -> list[LycosaError]:
        """Follow to the log's end and complete the outputs; give what is in the way of it."""
        problems: list[LycosaError] = []
        for follower in self._followers:
            follower.close()
        for follower in self._followers:
            try:
                follower.check()
            except LycosaError as problem:
                problems.append(problem)
        return problems


class _Opened:
    """An output that is about to be opened, with what was there before."""

    def __init__(self, output: str, sink: Sink) -> None:
        self.output, self._path, self._sink = output, Path(output), sink
        self._existed = self._path.exists()
        self._was_file = self._path.is_file()
        self._is_new = not self._existed and sink.committed() is None

    def undo(self) -> None:
        """Remove what was not there; complete a file again that was taken apart to be gone on with."""
        with contextlib.suppress(OSError, LycosaError):
            if self._is_new:
                self._sink.remove()
                if self.output.endswith("/") and not self._existed:
                    self._path.rmdir()
            elif self._was_file:
                self._sink.close()


def check_creatable(outputs: list[str]) -> None:
    """Refuse outputs that cannot be created, by creating each that is not there and removing it again.

    Raises StorageError. A full disk is no reason: it is waited for. An output in a folder that is yet to be made is
    not looked at.
    """
    for output in outputs:
        path = Path(output)
        if path.exists() or not path.parent.is_dir():
            continue
        try:
            if output.endswith("/"):
                path.mkdir()
                path.rmdir()
            else:
                path.touch(exist_ok=False)
                path.unlink()
        except OSError as error:
            if not is_full(error):
                raise StorageError(f"{output}: {error.strerror or error}") from error


def _committed(sink: Sink) -> int:
    """An output's position; 0 where it is missing or cannot be read."""
    try:
        return sink.committed() or 0
    except LycosaError:
        return 0
