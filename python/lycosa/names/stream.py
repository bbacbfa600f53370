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

#: Batches submitted before the event loop runs again: about a millisecond.
FEED_BATCHES = 4


class ResolveStream:
    """An asynchronous iterator over batches of answers; see ``lycosa.resolve_stream``."""

    def __init__(self, names: Iterable[str] | AsyncIterable[str], options: Options) -> None:
        """Start nothing before the stream is entered or its first batch is awaited."""
        self._options = options
        # A thread of its own: tasks that wait for these answers may occupy all threads of the loop.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lycosa-answers")
        self._starting: asyncio.Future[Resolver] | None = None
        self._take: asyncio.Future[Resolutions] | None = None
        self._source = _Source(names)
        self._place = 0
        self._closed = False

    def __aiter__(self) -> Self:
        """Return the stream."""
        return self

    async def __anext__(self) -> Resolutions:
        """Return the next batch, of at least one answer."""
        if self._closed:
            raise StopAsyncIteration
        resolver = await self._start()
        wake = self._source.wake
        # A cancelled await does not change the stream: the pending take belongs to it and continues.
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
        """Close the stream; answers that were not taken are dropped."""
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
        """Start and return the stream."""
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    def __del__(self) -> None:
        """Stop the thread that reads names, if the stream was not closed."""
        self._source.stop()

    async def _start(self) -> Resolver:
        """Return the resolver; created on a thread, since opening a cache may be slow."""
        if self._starting is None:
            loop = asyncio.get_running_loop()
            self._starting = loop.run_in_executor(self._thread, lambda: Resolver(**self._options))
        resolver = await asyncio.shield(self._starting)
        self._source.start()
        return resolver

    def _feed(self, resolver: Resolver) -> None:
        """Submit available names while there is capacity, but not longer than the loop may be blocked."""
        for _ in range(FEED_BATCHES):
            free = resolver.free()
            names = self._source.some(min(free, READ_NAMES)) if free else []
            if not names:
                return
            try:
                self._place += resolver.submit(names, self._place)
            except TypeError as error:
                self._source.fail(error)
                return
        asyncio.get_running_loop().call_soon(self._source.wake.set)


class _Source:
    """The names to resolve, at most ``READ_NAMES`` of them read ahead by a thread or a task."""

    def __init__(self, names: Iterable[str] | AsyncIterable[str]) -> None:
        """Read nothing yet."""
        self._names = names
        #: Set when new names have arrived, or there will be no more.
        self.wake = asyncio.Event()
        #: Filled by the reader, emptied by `some`.
        self._read: deque[str] = deque()
        #: Only for the wait for capacity and its end.
        self._changed = threading.Condition()
        self._drained = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._started = self._stopped = self._at_end = False
        self._error: BaseException | None = None

    @property
    def ended(self) -> bool:
        """Whether all names have been read and returned, or reading was stopped."""
        return self._at_end and (self._stopped or not self._read)

    def start(self) -> None:
        """Start to read."""
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
        """Return at most ``max`` of the names that have been read."""
        if self._stopped:
            return []
        some = [self._read.popleft() for _ in range(min(max, len(self._read)))]
        if some:
            self._drained.set()
            with self._changed:
                self._changed.notify()
        return some

    def check(self) -> None:
        """Raise the exception of the names' iterable, if any."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the reading thread after its current name."""
        self._stopped = True
        with self._changed:
            self._changed.notify()

    def fail(self, error: Exception) -> None:
        """Stop reading because of an invalid name."""
        self.stop()
        self._read.clear()
        self._error, self._at_end = error, True
        self.wake.set()

    async def close(self) -> None:
        """Stop reading."""
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _read_here(self, names: AsyncIterable[str]) -> None:
        """Read in the event loop; the task's body."""
        try:
            async for name in names:
                self._read.append(name)
                self.wake.set()
                while len(self._read) >= READ_NAMES:
                    self._drained.clear()
                    await self._drained.wait()
        except asyncio.CancelledError as error:
            # Without `close`, the iterable itself was cancelled: whoever waits for its names is told.
            if not self._stopped:
                self._error = error
        except Exception as error:
            self._error = error
        self._at_end = True
        self.wake.set()

    def _read_there(self, names: Iterable[str], loop: asyncio.AbstractEventLoop) -> None:
        """Read on a thread; the thread's body."""
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
        # The loop may be closed before all names are read.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self.wake.set)
