"""A parse stage whose work is done by other workers: responses go to them, and outcomes come back.

Without I/O: ``relay_topics.py`` has the way through Kafka. A response stays in this worker until its outcome has
come, so that nothing is lost with a parser, or with a message: what does not come back is parsed here.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from lycosa import _core
from lycosa.cluster.broker import LARGEST
from lycosa.cluster.loading import UNREADABLE
from lycosa.errors import LycosaError
from lycosa.records import Outcomes, Responses
from lycosa.stages import Parse

logger = logging.getLogger("lycosa")

#: Responses of one message, and their bytes, at most: more of them would be parsed one after the other while other
#: parsers wait.
PIECE, PIECE_BYTES = 16, 1 << 19

#: Batches that came back unparsed and are parsed in one turn, at most: the lane commits between turns.
TURN = 4

#: Bytes of a single response that is sent, at most: its outcome is larger by its links.
MOST = LARGEST // 2

#: Seconds after which responses whose outcomes have not come are parsed here.
PATIENCE = 30.0


class Channel(Protocol):
    """The way to the parsers and back."""

    def send(self, number: int, message: bytes) -> bool:
        """Send responses under a number; returns whether that was possible. Never blocks."""

    def received(self) -> list[tuple[int, bytes]]:
        """Return what has come: numbers, and outcomes; empty bytes: they cannot be parsed there. Never blocks."""


@dataclass(slots=True)
class _Batch:
    """Responses that are being parsed elsewhere."""

    responses: Responses
    size: int  # of their message
    sent_at: float


class RelayedParse:
    """See ``lycosa.stages.Parse``: an outcome comes in a later call than its response."""

    def __init__(self, own: Parse, channel: Channel, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """own: parses what nobody else does. most: bytes of responses that are elsewhere, at most."""
        self._own, self._channel, self._most, self._clock = own, channel, most, clock
        self._waiting: dict[int, _Batch] = {}  # by number, in order
        self._back: deque[Responses] = deque()  # what nobody else has parsed
        self._number = self._size = 0  # bytes of what waits
        # Until somebody has answered, all is parsed here, so that a crawl without parsers goes on at its own speed. A
        # copy of a response is sent now and then, and what comes of it is an answer, nothing more.
        self._answered_at: float | None = None
        self._trial: tuple[int, float] | None = None  # number of the copy, and when it was sent
        self.away = self.here = 0  # responses that were parsed elsewhere, and here

    def pending(self) -> int:
        """Return the number of responses that are being parsed elsewhere, or have come back unparsed."""
        return sum(len(batch.responses) for batch in self._waiting.values()) + sum(map(len, self._back))

    def parse(self, responses: Responses) -> Outcomes:
        """Send responses away, and return the outcomes that have come."""
        done = list(self._received())
        self._take_back_late()
        mine = [batch for piece in _pieces(responses) for batch in self._send(piece)]
        mine += [self._back.popleft() for _ in range(min(TURN, len(self._back)))]
        for batch in mine or [Responses()]:  # what had no memory before comes with an empty batch
            self.here += len(batch)
            done.append(self._own.parse(batch))
        return _core.join_outcomes(done)

    def recall(self) -> None:
        """Wait for nobody: the next calls parse what is elsewhere."""
        self._back += [self._pop(number).responses for number in list(self._waiting)]

    def forget(self) -> None:
        """Forget what is elsewhere."""
        self._waiting.clear()
        self._back.clear()
        self._size = 0

    def _pop(self, number: int) -> _Batch:
        """Wait for a batch no longer."""
        batch = self._waiting.pop(number)
        self._size -= batch.size
        return batch

    def _send(self, responses: Responses) -> list[Responses]:
        """Send responses, in halves if they are too large; returns those that are to be parsed here."""
        if self._answered_at is None:
            self._try(responses)
            return [responses]
        if self._size >= self._most:
            return [responses]
        try:
            message = responses.encode()
        except (LycosaError, ValueError):  # too large to be a message
            return [responses]
        if len(message) > PIECE_BYTES and len(responses) > 1:
            half = len(responses) // 2
            return [*self._send(_part(responses, 0, half)), *self._send(_part(responses, half, len(responses)))]
        if len(message) > MOST:
            return [responses]
        self._number += 1
        if not self._channel.send(self._number, message):
            return [responses]
        self._waiting[self._number] = _Batch(responses, len(message), self._clock())
        self._size += len(message)
        return []

    def _try(self, responses: Responses) -> None:
        """Send a copy of a response, unless one is away, to see whether somebody answers."""
        if self._trial is not None:
            return
        try:
            message = _part(responses, 0, 1).encode()
        except (LycosaError, ValueError):  # too large to be a message
            return
        if len(message) <= MOST:
            self._number += 1
            self._trial = (self._number, self._clock())
            self._channel.send(self._number, message)

    def _received(self) -> Iterator[Outcomes]:
        """Yield the outcomes that have come."""
        self._give_up_trial()
        for number, message in self._channel.received():
            is_trial = self._trial is not None and number == self._trial[0]
            if not is_trial and number not in self._waiting:
                continue  # it was parsed here, or comes again
            try:
                outcomes = Outcomes.decode(message)
            except UNREADABLE as error:
                logger.warning("outcomes of a parser cannot be read; their responses are parsed here: %s", error)
                outcomes = Outcomes()
            if is_trial:
                # One that cannot parse it is asked again when this one would be given up.
                if len(outcomes) == 1:
                    self._trial, self._answered_at = None, self._clock()
                continue
            batch = self._pop(number)
            if len(outcomes) == len(batch.responses):
                self._answered_at = self._clock()
                self.away += len(outcomes)
                yield outcomes
            else:
                self._back.append(batch.responses)

    def _give_up_trial(self) -> None:
        """Wait no longer for an answer to a copy: one that comes later says nothing of now."""
        if self._trial is not None and self._trial[1] <= self._clock() - PATIENCE:
            self._trial = None

    def _take_back_late(self) -> None:
        """Take back the responses whose outcomes have not come."""
        limit = self._clock() - PATIENCE
        for number, batch in list(self._waiting.items()):
            if batch.sent_at > limit:
                return
            self._back.append(self._pop(number).responses)
            # A message may be lost with a parser; if nothing has come since it was sent, all parsers may be gone.
            if self._answered_at is not None and self._answered_at <= batch.sent_at:
                self._answered_at = None
                logger.warning("no parser answers; responses are parsed here until one does")


def _pieces(responses: Responses) -> Iterator[Responses]:
    """Yield responses in batches of at most ``PIECE``."""
    if 0 < len(responses) <= PIECE:
        yield responses
        return
    for start in range(0, len(responses), PIECE):
        yield _part(responses, start, start + PIECE)


def _part(responses: Responses, start: int, end: int) -> Responses:
    """The responses from one place to another."""
    return responses.select([start <= place < end for place in range(len(responses))])
