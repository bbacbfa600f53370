"""Millions of names in bounded memory: ``lycosa.resolve`` and ``lycosa.resolve_stream``."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Unpack

from lycosa._core import Resolution
from lycosa.errors import SettingError
from lycosa.names.resolver import READ_NAMES, TAKE_ANSWERS, WAIT, Options, Resolver

if TYPE_CHECKING:
    from lycosa.names.stream import ResolveStream

#: Seconds that reading a batch of names may take before the next batches are smaller.
SLOW = 0.01


def resolve(names: Iterable[str], **options: Unpack[Options]) -> Iterator[Resolution]:
    """Resolve names; give an answer for each, in the order in which they come.

    ``place`` of an answer is its name's place in ``names``, from 0. Names are read as there is room for them, so that
    ``names`` may be endless; while it lets its reader wait, no answers are given. What it raises is raised after the
    answers to the names before. The options are those of `lycosa.names.Resolver`, and so are the errors.

    >>> for answer in lycosa.resolve(["example.com", "example.org"]):  # doctest: +SKIP
    ...     print(answer.name, answer.status, answer.addresses)
    """
    _check_names(names)
    return _answers(Resolver(**options), iter(names))


def _answers(resolver: Resolver, names: Iterator[str]) -> Iterator[Resolution]:
    """Feed the resolver and give its answers."""
    with resolver:
        place, size, ended = 0, 1, False
        failure: Exception | None = None
        while not ended or resolver.pending():
            while not ended and (room := resolver.room()):
                begin = time.monotonic()
                batch: list[str] = []
                try:
                    batch.extend(islice(names, min(size, room)))  # what was read before an error is kept
                except Exception as error:
                    failure = error
                ended = not batch or failure is not None
                place += resolver.submit(batch, place)
                # Nor is one name to wait for the next.
                if time.monotonic() - begin > SLOW:
                    size = 1
                    break
                size = min(2 * size, READ_NAMES)
            # Who gives names slowly is asked for the next one rather than waited with.
            yield from resolver.take(TAKE_ANSWERS, 0.0 if size == 1 and not ended and resolver.room() else WAIT)
        if failure is not None:
            raise failure


def resolve_stream(names: Iterable[str] | AsyncIterable[str], **options: Unpack[Options]) -> ResolveStream:
    """Resolve names in an event loop; give batches of answers as they come.

    Names may come from any iterable, which is read on another thread, or from an asynchronous one. Nothing blocks the
    loop, and no more names are read than there is room for. ``place`` of an answer is its name's place, from 0.
    Waiting for a batch may be cancelled: no answer is lost, and the next batch can be asked for. Who may leave the
    loop early writes ``async with``, which ends everything that the stream has begun. What ``names`` raises is raised
    after the answers to the names before. The options are those of `lycosa.names.Resolver`, and so are the errors.

    >>> async with lycosa.resolve_stream(names) as stream:  # doctest: +SKIP
    ...     async for answers in stream:
    ...         for answer in answers:
    ...             print(answer.name, answer.status, answer.addresses)
    """
    # Here, since programs without an event loop have no use for it.
    from lycosa.names.stream import ResolveStream

    _check_names(names)
    return ResolveStream(names, options)


def _check_names(names: object) -> None:
    """Raise SettingError for a text, each of whose characters would be a name."""
    if isinstance(names, str | bytes):
        raise SettingError("names", names, "a list of names, or something else that gives one after the other")
