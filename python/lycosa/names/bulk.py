"""Resolves millions of names in bounded memory: ``lycosa.resolve`` and ``lycosa.resolve_stream``."""

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

#: If reading a batch of names takes more seconds, the next batches are smaller.
SLOW = 0.01


def resolve(names: Iterable[str], **options: Unpack[Options]) -> Iterator[Resolution]:
    """Resolve names; yield an answer for each, in the order in which answers arrive.

    ``place`` of an answer is its name's index in ``names``, from 0. Names are read as capacity allows, so that
    ``names`` may be infinite; while it blocks, no answers are returned. Its exception is raised after the
    answers to the names before. Options and exceptions are those of `lycosa.names.Resolver`.

    >>> for answer in lycosa.resolve(["example.com", "example.org"]):  # doctest: +SKIP
    ...     print(answer.name, answer.status, answer.addresses)
    """
    _check_names(names)
    return _answers(Resolver(**options), iter(names))


def _answers(resolver: Resolver, names: Iterator[str]) -> Iterator[Resolution]:
    """Feed the resolver and yield its answers."""
    with resolver:
        place, size, ended = 0, 1, False
        failure: Exception | None = None
        while not ended or resolver.pending():
            while not ended and (free := resolver.free()):
                begin = time.monotonic()
                batch: list[str] = []
                try:
                    batch.extend(islice(names, min(size, free)))  # keeps what was read before an error
                except Exception as error:
                    failure = error
                ended = not batch or failure is not None
                place += resolver.submit(batch, place)
                # With a slow iterable, no name waits for the next.
                if time.monotonic() - begin > SLOW:
                    size = 1
                    break
                size = min(2 * size, READ_NAMES)
            # With a slow iterable, read the next name instead of waiting for answers.
            yield from resolver.take(TAKE_ANSWERS, 0.0 if size == 1 and not ended and resolver.free() else WAIT)
        if failure is not None:
            raise failure


def resolve_stream(names: Iterable[str] | AsyncIterable[str], **options: Unpack[Options]) -> ResolveStream:
    """Resolve names in an event loop; returns a stream of batches of answers.

    Names may come from any iterable, which is read on another thread, or from an asynchronous one. The loop is never
    blocked, and names are read only as capacity allows. ``place`` of an answer is its name's index, from 0.
    Waiting for a batch may be cancelled: no answer is lost, and the next batch can be awaited. Use ``async with`` if
    the loop may be left early: it closes the stream. An exception of ``names`` is raised after the answers to the
    names before. Options and exceptions are those of `lycosa.names.Resolver`.

    >>> async with lycosa.resolve_stream(names) as stream:  # doctest: +SKIP
    ...     async for answers in stream:
    ...         for answer in answers:
    ...             print(answer.name, answer.status, answer.addresses)
    """
    # Imported here, since programs without an event loop do not need it.
    from lycosa.names.stream import ResolveStream

    _check_names(names)
    return ResolveStream(names, options)


def _check_names(names: object) -> None:
    """Raise SettingError for a text, since each of its characters would be a name."""
    if isinstance(names, str | bytes):
        raise SettingError("names", names, "a list or another iterable of names")
