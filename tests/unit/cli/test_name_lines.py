"""Names, one a line: in whatever chunks a file comes, the same names with the same numbers."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from lycosa._core import NameBatch, NameLines
from lycosa.cli.name_lines import LineReader
from lycosa.names import Resolver

LONGEST = 4_096  # bytes of a line that are looked at

#: Bytes of which lines are made: ends, spaces, letters, what is no UTF-8, a byte order mark.
PIECES = some.sampled_from(
    [b"\n", b"\n", b" ", b"\t", b"\r", b"\x1c", b"a", b"b", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf"]
)


def taken(batches: list[NameBatch]) -> list[tuple[int, str]]:
    """The names of batches with the numbers of their lines, as a resolver takes them."""
    with Resolver(resolvers=["127.0.0.1:9"], concurrency=50_000) as resolver:
        for batch in batches:
            assert resolver.submit_lines(batch) == 0
            assert len(batch) == 0
        answers: list[tuple[int, str]] = []
        while resolver.pending():
            answers += [(answer.place, answer.name) for answer in resolver.take(50_000, within=1.0)]
    return sorted(answers)


def model(content: bytes) -> tuple[list[tuple[int, str]], int, int]:
    """What the lines are, their number, and how many are blank."""
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    texts = [
        line[:LONGEST].decode("utf-8-sig" if place == 0 else "utf-8", "replace").strip()
        for place, line in enumerate(lines)
    ]
    names = [(place, text) for place, text in enumerate(texts, start=1) if text]
    return names, len(lines), len(lines) - len(names)


@given(some.lists(PIECES, max_size=60).map(b"".join), some.integers(1, 20))
def test_wherever_chunks_end_the_lines_are_the_same(content: bytes, size: int) -> None:
    lines = NameLines()
    batches = [lines.feed(content[begin : begin + size]) for begin in range(0, len(content), size)]
    batches.append(lines.end())
    names, count, blank = model(content)
    assert (sum(map(len, batches)), lines.lines, lines.blank) == (len(names), count, blank)


def test_names_bear_the_numbers_of_their_lines() -> None:
    lines = NameLines()
    content = b"\xef\xbb\xbf192.0.2.1\r\n\n  192.0.2.2\t\n \n\x1c192.0"
    names = taken([lines.feed(content), lines.feed(b".2.3"), lines.end()])
    assert names == [(1, "192.0.2.1"), (3, "192.0.2.2"), (5, "192.0.2.3")]
    assert (lines.lines, lines.blank) == (5, 2)


def test_of_a_line_no_more_is_kept_than_is_looked_at() -> None:
    lines = NameLines()
    for _ in range(100):
        assert len(lines.feed(b"a" * 100_000)) == 0
    assert taken([lines.feed(b"a\n192.0.2.1\n")]) == [(1, "a" * LONGEST), (2, "192.0.2.1")]


def test_what_finds_no_space_stays_in_the_batch() -> None:
    batch = NameLines().feed(b"192.0.2.1\n192.0.2.2\n192.0.2.3\n")
    with Resolver(resolvers=["127.0.0.1:9"], concurrency=2) as resolver:
        assert resolver.submit_lines(batch) == 1
        assert resolver.submit_lines(batch) == 1, "nothing was fetched"
        first: list[tuple[int, str]] = []
        while len(first) < 2:
            first += [(answer.place, answer.name) for answer in resolver.take(2, within=1.0)]
        assert resolver.submit_lines(batch) == 0
        (last,) = resolver.take(1, within=10.0)
    assert sorted(first) == [(1, "192.0.2.1"), (2, "192.0.2.2")]
    assert (last.place, last.name) == (3, "192.0.2.3")


def test_a_pipe_whose_lines_come_late_gives_those_that_are_there() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb", buffering=0) as pipe:
        reader = LineReader(file)
        with pytest.raises(TimeoutError):
            reader.next(0.0)
        pipe.write(b"a.example\nb.exa")
        read = reader.next(10.0)
        assert read is not None
        assert (len(read.names), read.position) == (1, 15)
        pipe.write(b"mple")
        pipe.close()
        read = reader.next(10.0)
        assert read is not None
        assert (len(read.names), read.position) == (1, 19)
        assert reader.next(10.0) is None
        assert (reader.lines, reader.blank) == (2, 0)


def test_what_cannot_be_read_is_raised_where_names_are_wanted(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with open(os.devnull, "rb") as null:
        os.dup2(descriptor, null.fileno())
        os.close(descriptor)
        reader = LineReader(null)
        with pytest.raises(IsADirectoryError):
            reader.next(10.0)


def test_a_file_that_is_closed_ends_its_reader_silently(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_bytes(b"a.example\n" * 1_000_000)  # more than is read ahead
    before = set(threading.enumerate())
    with path.open("rb") as file:
        reader = LineReader(file)
        assert reader.next(9.0) is not None
        (thread,) = set(threading.enumerate()) - before
    while thread.is_alive():
        with contextlib.suppress(TimeoutError):
            reader.next(0.01)
    thread.join()  # an exception in it would fail the test


def test_a_file_that_is_closed_between_two_steps_of_its_reader_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "names"
    path.write_bytes(b"a.example\n")
    with path.open("rb") as file:

        def read_closed(*_: object) -> bytes:
            file.close()
            raise OSError(9, "Bad file descriptor")

        monkeypatch.setattr("lycosa.cli.name_lines.os.read", read_closed)
        reader = LineReader(file)
        with pytest.raises(TimeoutError):
            reader.next(0.2)
