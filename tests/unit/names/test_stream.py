"""Bulk resolution in an event loop: nothing blocks it, nothing is lost, nothing is left behind."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

import lycosa
import pytest
from lycosa.errors import SettingError

if TYPE_CHECKING:
    from lycosa.names.stream import ResolveStream

    from tests.conftest import DnsServer


async def places(stream: ResolveStream) -> list[int]:
    """The places of all answers, sorted."""
    return sorted([answer.place async for answers in stream for answer in answers])


async def asynchronous(names: list[str]) -> AsyncIterator[str]:
    """Names that come when they like."""
    for number, name in enumerate(names):
        if number % 100 == 0:
            await asyncio.sleep(0.001)
        yield name


NAMES = [f"w{number % 700}.example" for number in range(3_000)]


@pytest.mark.parametrize("kind", ["list", "generator", "asynchronous"])
def test_every_input_is_answered_once(kind: str, dns: DnsServer) -> None:
    sources = {"list": NAMES, "generator": iter(NAMES), "asynchronous": asynchronous(NAMES)}
    stream = lycosa.resolve_stream(sources[kind], resolvers=[dns.address], concurrency=200)  # type: ignore[arg-type]
    assert asyncio.run(places(stream)) == list(range(len(NAMES)))


def test_no_names_give_no_answers(dns: DnsServer) -> None:
    assert asyncio.run(places(lycosa.resolve_stream([], resolvers=[dns.address]))) == []


def test_the_loop_runs_on_while_names_and_answers_are_slow(start_dns: Callable[..., DnsServer]) -> None:
    def slow_names() -> Iterator[str]:
        for name in NAMES[:5]:
            time.sleep(0.1)  # blocks its own thread only
            yield name

    async def story() -> tuple[float, int]:
        longest, count, last = 0.0, 0, time.monotonic()

        async def watch() -> None:
            nonlocal longest, last
            while True:
                await asyncio.sleep(0.005)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()

        watcher = asyncio.create_task(watch())
        async with lycosa.resolve_stream(slow_names(), resolvers=[start_dns(delay=0.1).address]) as stream:
            async for answers in stream:
                count += len(answers)
        watcher.cancel()
        return longest, count

    longest, count = asyncio.run(story())
    assert count == 5
    assert longest < 0.09


def test_waiting_may_be_cancelled_and_gone_on_with(start_dns: Callable[..., DnsServer]) -> None:
    async def story() -> tuple[int, list[int]]:
        timeouts = 0
        found: list[int] = []
        async with lycosa.resolve_stream(NAMES[:40], resolvers=[start_dns(delay=0.01).address]) as stream:
            while True:
                try:
                    answers = await asyncio.wait_for(anext(stream), 0.004)
                except TimeoutError:
                    timeouts += 1
                except StopAsyncIteration:
                    return timeouts, sorted(found)
                else:
                    found += [answer.place for answer in answers]
        raise AssertionError

    timeouts, found = asyncio.run(story())
    assert timeouts > 3
    assert found == list(range(40))


def test_endless_names_are_read_as_there_is_space_and_left_behind_clean(dns: DnsServer) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        for number in itertools.count():
            read += 1
            yield f"e{number}.example"

    async def story() -> int:
        answered = 0
        async with lycosa.resolve_stream(endless(), resolvers=[dns.address], concurrency=100) as stream:
            async for answers in stream:
                answered += len(answers)
                await asyncio.sleep(0.01)  # a slow consumer
                if answered > 2_000:
                    break
        return answered

    before = threading.active_count()
    answered = asyncio.run(story())
    # What was answered, what was in flight, and what was read ahead.
    assert read <= answered + 100 + 1_000 + 100
    until = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_the_task_that_waits_may_be_cancelled(start_dns: Callable[..., DnsServer]) -> None:
    async def consume(server: DnsServer) -> None:
        async with lycosa.resolve_stream(asynchronous(NAMES), resolvers=[server.address]) as stream:
            async for _ in stream:
                pass

    async def story() -> float:
        task = asyncio.create_task(consume(start_dns(delay=0.05)))
        await asyncio.sleep(0.2)
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        return time.monotonic() - begin

    assert asyncio.run(story()) < 1


def test_what_names_raise_comes_after_the_answers_before_it(dns: DnsServer) -> None:
    def failing() -> Iterator[str]:
        yield from NAMES[:3]
        raise OSError("the disk is gone")

    async def failing_later() -> AsyncIterator[str]:
        for name in failing():
            yield name

    async def story(names: object) -> int:
        count = 0
        stream = lycosa.resolve_stream(names, resolvers=[dns.address])  # type: ignore[arg-type]
        while count < 3:
            count += len(await anext(stream))
        with pytest.raises(OSError, match="the disk is gone"):
            await anext(stream)
        return count

    assert asyncio.run(story(failing())) == 3
    assert asyncio.run(story(failing_later())) == 3


def test_names_that_are_cancelled_by_others_end_the_stream(dns: DnsServer) -> None:
    async def cancelled() -> AsyncIterator[str]:
        yield "a.example"
        raise asyncio.CancelledError("by the source of the names")

    async def story() -> int:
        stream = lycosa.resolve_stream(cancelled(), resolvers=[dns.address])
        count = len(await anext(stream))
        with pytest.raises(asyncio.CancelledError, match="by the source"):
            await anext(stream)
        return count

    assert asyncio.run(asyncio.wait_for(story(), 10)) == 1


def test_bad_input_is_told(dns: DnsServer) -> None:
    with pytest.raises(SettingError, match="rate"):
        asyncio.run(places(lycosa.resolve_stream(NAMES, rate=0)))
    with pytest.raises(TypeError):
        asyncio.run(places(lycosa.resolve_stream([1], resolvers=[dns.address])))  # type: ignore[list-item]
    endless = itertools.chain(["w.example"] * 1_000, itertools.repeat(1))
    with pytest.raises(TypeError):
        asyncio.run(places(lycosa.resolve_stream(endless, resolvers=[dns.address])))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="names"):
        lycosa.resolve_stream("www.example")
