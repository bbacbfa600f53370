"""Followers: each sink reads the log at its own pace, on a thread of its own, as far as the log is synced."""

from __future__ import annotations

import logging
import threading
import time

from lycosa.checked import checked
from lycosa.errors import LycosaError, OutputAway, StorageError, StorageFull
from lycosa.observe.turns import Turns
from lycosa.sink import Sink
from lycosa.stages import Follow, Log
from lycosa.store import patient
from lycosa.store.patient import Patience
from lycosa.store.replace import is_full
from lycosa.store.restart import gap
from lycosa.store.turn import Turn

logger = logging.getLogger("lycosa")

#: Interval, in seconds, at which a follower that has caught up checks for new records.
PAUSE = 0.2

#: Seconds after which an output that does not return is left behind at the end, and between looks at it.
LONGEST_CALL, LOOK = 300.0, 1.0

#: Further tries of an output that does not answer, at the end.
LAST_TRIES = 5


class Follower:
    """Feeds one sink from the log until it is closed."""

    def __init__(
        self,
        log: Log,
        sink: Sink,
        patience: Patience,
        outcome_bytes: int,
        max_body_bytes: int,
        turn: Turn,
    ) -> None:
        """Open the sink; raises StorageError or SettingError if that fails.

        outcome_bytes: maximum bytes of outcomes per read, beside the sink's own bound.
        max_body_bytes: bodies that are larger when decoded are left out.
        turn: of all outputs of a crawl, taken while outcomes are in memory. One outcome alone may exceed any
        share: as text, as a column and compressed again it takes several times the largest body.
        """
        self._log, self._sink, self._output = log, sink, sink.url
        self._bytes, self._max_body_bytes = min(sink.bytes, outcome_bytes), max_body_bytes
        self._patience, self._turn = patience, turn
        self._ending = threading.Event()
        #: Positions from and to which the log lacked records for this output when it was opened.
        self.gap: tuple[int, int] | None = None
        self._error: Exception | None = None
        #: The sink's position after its last commit, for other threads: only the sink's own thread calls the sink.
        self._committed = 0
        #: The log position up to which the sink was given rows, committed or not; for other threads, too.
        self.reached = 0
        #: What its thread does: queue, read, write, commit, idle, full disk.
        self.turns = Turns()
        self._tries, self._last_tries = 0, LAST_TRIES
        #: Why the output is not written now, while it is tried again; `None`: it is.
        self.away: str | None = None
        self._reader = self._patiently_open()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The name of the output."""
        return self._output

    def start(self) -> None:
        """Start to follow."""
        self._thread = threading.Thread(target=self._run, name="lycosa-sink", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the error that ended the sink's thread, if any."""
        if self._error is not None:
            raise self._error

    def position(self) -> int:
        """Return the log position up to which the output is committed."""
        return self._committed

    def close(self) -> None:
        """Follow to the end of the synced log, then complete the output; :meth:`check` raises if that failed.

        A sink that does not return is left behind after some minutes.
        """
        self._ending.set()
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(LOOK)
            stage, since = self.turns.stage, self.turns.since
            if stage in ("write", "commit") and time.monotonic() - since > LONGEST_CALL:
                text = f"{self._output} has not returned for {LONGEST_CALL:.0f} s, in {stage}"
                self._error = StorageError(f"{text}; its missing rows are in the log and are added next time")
                return

    def _run(self) -> None:
        """The thread's body."""
        try:
            while True:
                try:
                    self._follow()
                    return
                except OSError as error:
                    self._wait_for_room(error)
                except OutputAway as error:
                    self._wait_for_answer(error)
                self._reader = self._patiently_open(is_open=True)
        except BaseException as error:
            # Also SystemExit and a Rust library's PanicException, which would end the thread silently.
            self._error = self._explained(error)

    def _patiently_open(self, *, is_open: bool = False) -> Follow:
        """Open the sink at its last commit. is_open: it was before, so that it is waited for while it is away."""
        while True:
            try:
                first = self._log.first()
                with self._turn.taken():
                    opened = self._sink.open(first, self._log.committed())
                position = checked(Sink, self._sink, "open", opened)
                # A later commit belongs to a longer log that was cut.
                self._committed, self.reached = min(self._said(), position), position
            except OSError as error:
                # Not raised by a function with the error as an argument: its traceback would keep the log in use.
                if not is_full(error):
                    raise self._explained(error) from None
                self._wait_for_room(error)
                continue
            except OutputAway as error:
                if not is_open:
                    raise
                self._wait_for_answer(error)
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise self._explained(error) from None
            self.gap = gap(self._output, position, first)
            start = position if position > first else None
            return self._log.follow(start, self._sink.with_body, self._max_body_bytes)

    def _follow(self) -> None:
        """Write outcomes as they arrive."""
        sink, pending, since = self._sink, 0, time.monotonic()
        committed = -1
        while True:
            # Checked before reading: records from before the end are still read.
            ending = self._ending.is_set()
            before = self._reader.position()
            self.turns("queue")
            with self._turn.taken():
                self.turns("read")
                outcomes = self._reader.read(sink.rows, self._bytes)
                after = self._reader.position()
                self.turns("write")
                pending += checked(Sink, sink, "write", sink.write(outcomes, after)) or 0
                del outcomes
            self.reached = after
            now = time.monotonic()
            if pending >= sink.commit_bytes or now - since >= sink.commit_seconds:
                if after != committed:
                    self._commit(after)
                pending, since, committed = 0, now, after
                self._patience.written(self._output)
            if after == before:
                if ending:
                    break
                self.turns("idle")
                self._ending.wait(PAUSE)
        self.turns("queue")
        with self._turn.taken():
            self._commit(after)
            sink.close()
        self.turns("idle")
        self._patience.written(self._output)

    def _commit(self, position: int) -> None:
        """Commit, and store the committed position."""
        self.turns("commit")
        self._sink.commit(position)
        self._committed = self._said()
        self._is_back()

    def _said(self) -> int:
        """Return the sink's committed position."""
        return checked(Sink, self._sink, "committed", self._sink.committed()) or 0

    def _wait_for_answer(self, error: OutputAway) -> None:
        """Wait until the next try; raises the error if the crawl ends meanwhile and no more tries are left."""
        if self.away is None:
            logger.warning("%s; it is tried again, and its rows are in the log", error)
        self.away, self.reached = str(error), self._committed
        self._tries += 1
        self.turns("away")
        if self._ending.is_set():
            self._last_tries -= 1
            if self._last_tries < 0:
                text = f"{error}; its missing rows are in the log and are added next time"
                raise StorageError(text) from None
        self._sleep(patient.pause_after(self._tries))

    def _sleep(self, seconds: float) -> None:
        """Wait; at the end of the crawl a second at most."""
        if self._ending.wait(seconds):
            time.sleep(min(seconds, patient.FIRST_PAUSE))

    def _is_back(self) -> None:
        """Take note that the output was committed."""
        if self.away is not None:
            logger.info("output %s answers again", self._output)
        self.away, self._tries, self._last_tries = None, 0, LAST_TRIES

    def _wait_for_room(self, error: OSError) -> None:
        """Wait if the disk is full; raises any other error, and StorageFull if the crawl ends meanwhile."""
        if not is_full(error):
            raise error
        self.turns("full disk")
        if not self._patience.wait(self._output):
            raise StorageFull(
                f"the disk of {self._output} is full; its missing rows are in the log and are added next time"
            ) from None

    def _explained(self, error: BaseException) -> Exception:
        """Convert an error to a LycosaError with the sink's URL."""
        if isinstance(error, LycosaError):
            return error
        if isinstance(error, OSError) and error.strerror:
            text = error.strerror
        else:
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
        explained = StorageError(f"{self._output}: {text}")
        explained.__cause__ = error
        return explained
