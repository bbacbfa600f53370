"""A deterministic world: virtual time, processes that sleep, are suspended or killed, and clocks that differ.

Each process is a greenlet: the code under test runs in it as it is, and whatever would block sleeps here instead.
The same seed gives the same schedule.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

#: The largest difference of a clock's rate.
RATE = 0.0005


#: How often a thread that is to end may do something else before it does.
THROWS = 100


class World:
    """Virtual time and what is to happen in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.now = 0.0
        self._serial = itertools.count()
        self._events: list[tuple[float, int, Callable[[], Any]]] = []
        self.main = getcurrent()
        self.errors: list[BaseException] = []
        self.processes: list[Process] = []

    def later(self, delay: float, call: Callable[[], Any]) -> None:
        """Call something after some seconds."""
        heapq.heappush(self._events, (self.now + delay, next(self._serial), call))

    def every(self, period: Callable[[], float], call: Callable[[], Any]) -> None:
        """Call something again and again."""

        def again() -> None:
            call()
            self.later(period(), again)

        self.later(period(), again)

    def run(self, until: float, is_over: Callable[[], bool]) -> bool:
        """Let time pass up to a time, or until something is so; returns whether it is."""
        while self._events and self._events[0][0] <= until:
            self.now, _, call = heapq.heappop(self._events)
            call()
            if self.errors:
                raise self.errors[0]
            if is_over():
                return True
        return is_over()

    def close(self) -> None:
        """End all processes. A thread that waits for ever would keep this world, since no collector finds it."""
        self._events.clear()
        for process in self.processes:
            process.end()


class Process:
    """A process with a clock of its own. ``threads`` are greenlets; those of a killed process run no more."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        world.processes.append(self)
        self._offset = world.random.uniform(0, 1_000_000)
        self._rate = 1 + world.random.uniform(-RATE, RATE)
        self.is_alive = True
        self.suspended_until = self.cut_until = self.silent_until = 0.0
        self.strike: Callable[[], None] | None = None  # what happens to it in the midst of a commit,
        self.strike_from = 0.0  # from this time on
        self.failing = ""  # the step that fails next
        self.has_failed = False
        self._threads: list[greenlet] = []

    def clock(self) -> float:
        """Return the time by its clock."""
        return self._offset + self.world.now * self._rate

    def true(self, at: float) -> float:
        """Return the world's time at which its clock shows a time."""
        return (at - self._offset) / self._rate

    @property
    def is_well(self) -> bool:
        """Whether it runs and is heard, and has for a while."""
        return self.is_alive and self.world.now > max(self.suspended_until, self.cut_until, self.silent_until) + 15

    @property
    def is_cut(self) -> bool:
        """Whether no message comes or goes."""
        return self.world.now < self.cut_until

    @property
    def is_suspended(self) -> bool:
        """Whether it does not run."""
        return self.world.now < self.suspended_until

    def start(self, work: Callable[[], Any]) -> None:
        """Run something as a thread of this process."""

        def run() -> None:
            try:
                work()
            except GreenletExit:
                pass
            except BaseException as error:
                self.world.errors.append(error)

        thread = greenlet(run, self.world.main)
        self._threads.append(thread)
        self._wake(thread, 0.0)

    def sleep(self, seconds: float) -> None:
        """Let time pass for the calling thread."""
        self._wake(getcurrent(), seconds / self._rate)
        self.world.main.switch()

    def kill(self) -> None:
        """End at once: no thread of it runs again."""
        self.is_alive = False
        for thread in self._threads:
            if not thread.dead and thread:
                thread.throw(GreenletExit)

    def end(self) -> None:
        """End all threads, whatever they do about it."""
        for _ in range(THROWS):
            self.kill()
        self._threads.clear()

    def _wake(self, thread: greenlet, delay: float) -> None:
        """Go on with a thread after some seconds, or once the process runs again."""

        def wake() -> None:
            if not self.is_alive or thread.dead:
                return
            if self.is_suspended:
                self._wake(thread, self.suspended_until - self.world.now)
            else:
                thread.switch()

        self.world.later(delay, wake)
