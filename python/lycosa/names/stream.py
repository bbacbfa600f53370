"""Bulk resolution in an event loop: ``lycosa.resolve_stream``."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from lycosa._core import Resolutions
from lycosa.names.resolver import READ_NAMES, TAKE_ANSWERS, WAIT, Options, Resolver

#: Batches submitted before the loop has its turn: about a millisecond.
FEED_BATCHES = 4


class ResolveStream:
    """Batches of answers; made by ``lycosa.resolve_stream``."""

    def __init__(self, names: Iterable[str] | AsyncIterable[str], options: Options) -> None:
        """Nothing begins before the stream is entered or its first batch is asked for."""
        self._options = options
        # A thread of its own: those of the loop may all be in use by who waits for these answers.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lycosa-answers")
        self._starting: asyncio.Future[Resolver] | None = None
        self._take: asyncio.Future[Resolutions] | None = None
        self._source = _Source(names)
        self._place = 0
        self._closed = False

    def __aiter__(self) -> Self:
        """The stream."""
        return self

    async def __anext__(self) -> Resolutions:
        """The next batch, of one answer at least."""
        if self._closed:
            raise StopAsyncIteration
        resolver = await self._start()
        wake = self._source.wake
        # Cancelled at an await, the stream is as it was: what it waits for is its own and goes on.
        while True:
            wake.clear()
            if self._take is not None and self._take.done():
                answers, self._take = self._take.result(), None
                if len(answers):
                    self._feed(resolver)
                    return answers
            self._feed(resolver)
            if self._take is None:
                if resolver.pending():
                    loop = asyncio.get_running_loop()
                    self._take = loop.run_in_executor(self._thread, resolver.take, TAKE_ANSWERS, WAIT)
                    self._take.add_done_callback(lambda _: wake.set())
                elif self._source.ended:
                    await self.aclose()
                    self._source.check()
                    raise StopAsyncIteration
            await wake.wait()

    async def aclose(self) -> None:
        """End all that the stream has begun; answers that were not asked for are dropped."""
        if self._closed:
            return
        self._closed = True
        await self._source.close()
        loop = asyncio.get_running_loop()
        if self._starting is not None:
            with contextlib.suppress(Exception):
                resolver = await asyncio.shield(self._starting)
                await loop.run_in_executor(self._thread, resolver.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """The stream, started."""
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    def __del__(self) -> None:
        """Let the thread end that reads names for a stream that nobody closed."""
        self._source.stop()

    async def _start(self) -> Resolver:
        """The resolver; opening a cache may take its time."""
        if self._starting is None:
            loop = asyncio.get_running_loop()
            self._starting = loop.run_in_executor(self._thread, lambda: Resolver(**self._options))
        resolver = await asyncio.shield(self._starting)
        self._source.start()
        return resolver

    def _feed(self, resolver: Resolver) -> None:
        """Submit names as far as there are some and there is room, but for no longer than a loop may be held up."""
        for _ in range(FEED_BATCHES):
            room = resolver.room()
            names = self._source.some(min(room, READ_NAMES)) if room else []
            if not names:
                return
            try:
                self._place += resolver.submit(names, self._place)
            except TypeError as error:
                self._source.fail(error)
                return
        asyncio.get_running_loop().call_soon(self._source.wake.set)


class _Source:
    """Names from somewhere: ``READ_NAMES`` at most, read ahead by a thread or a task."""

    def __init__(self, names: Iterable[str] | AsyncIterable[str]) -> None:
        """Nothing is read yet."""
        self._names = names
        #: Says that there are names where there were none, or that there will be no more.
        self.wake = asyncio.Event()
        #: Filled by the reader, emptied by `some`.
        self._read: deque[str] = deque()
        #: Guards nothing but the wait for room and its end.
        self._changed = threading.Condition()
        self._drained = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._started = self._stopped = self._at_end = False
        self._error: Exception | None = None

    @property
    def ended(self) -> bool:
        """Whether all names have been read and given, or no more are wanted."""
        return self._at_end and (self._stopped or not self._read)

    def start(self) -> None:
        """Begin to read."""
        if self._started:
            return
        self._started = True
        if isinstance(self._names, AsyncIterable):
            self._task = asyncio.create_task(self._read_here(self._names))
        else:
            loop = asyncio.get_running_loop()
            arguments = (self._names, loop)
            threading.Thread(target=self._read_there, args=arguments, name="lycosa-read", daemon=True).start()

    def some(self, max: int) -> list[str]:
        """Those that have been read, at most so many."""
        if self._stopped:
            return []
        some = [self._read.popleft() for _ in range(min(max, len(self._read)))]
        if some:
            self._drained.set()
            with self._changed:
                self._changed.notify()
        return some

    def check(self) -> None:
        """Raise what the names raised."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Have the reading thread end with the name that it reads."""
        self._stopped = True
        with self._changed:
            self._changed.notify()

    def fail(self, error: Exception) -> None:
        """Read no more: something that was read is wrong."""
        self.stop()
        self._read.clear()
        self._error, self._at_end = error, True
        self.wake.set()

    async def close(self) -> None:
        """Read no more."""
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _read_here(self, names: AsyncIterable[str]) -> None:
        """Read in the loop; the task's body."""
        try:
            async for name in names:
                self._read.append(name)
                self.wake.set()
                while len(self._read) >= READ_NAMES:
                    self._drained.clear()
                    await self._drained.wait()
        except Exception as error:
            self._error = error
        self._at_end = True
        self.wake.set()

    def _read_there(self, names: Iterable[str], loop: asyncio.AbstractEventLoop) -> None:
        """Read on a thread, which this is the body of."""
        try:
            for name in names:
                self._read.append(name)
                if len(self._read) <= 1:
                    loop.call_soon_threadsafe(self.wake.set)
                if len(self._read) >= READ_NAMES:
                    with self._changed:
                        self._changed.wait_for(lambda: len(self._read) < READ_NAMES or self._stopped)
                if self._stopped:
                    return
        except Exception as error:
            self._error = error
        self._at_end = True
        # The loop may have ended before the names did.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self.wake.set)
