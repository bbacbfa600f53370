"""Messages of pages: what outputs get of what a worker has recorded."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from lycosa import _core
from lycosa.errors import StorageError
from lycosa.records import Outcome, Outcomes

from tests.unit.cluster.pages import page, taken_back

#: More than any body of these tests.
LARGEST = 1 << 20


def written(directory: Path, outcomes: list[Outcome], inline: int = LARGEST) -> tuple[list[bytes], bool]:
    """The messages of outcomes."""
    return _core.PageWriter(directory, "worker", inline, LARGEST).encode(Outcomes(outcomes))


def reader(directory: Path) -> _core.PageReader:
    """A reader of messages."""
    return _core.PageReader(directory, True, LARGEST)


def bodies(rows: Outcomes) -> list[tuple[str, bytes]]:
    """URL and body of each row."""
    return [(row["url"], row["body"]) for row in pyarrow.table(rows.columns(["url", "body"])).to_pylist()]


def test_rows_come_back_with_their_bodies(tmp_path: Path) -> None:
    (message,), takes_back = written(tmp_path, [page("http://a.test/", b"one"), page("http://a.test/2", b"two")])
    rows, missing = reader(tmp_path).rows(message, 1)
    assert (bodies(rows), missing, takes_back) == (
        [("http://a.test/", b"one"), ("http://a.test/2", b"two")],
        0,
        False,
    )
    assert list(tmp_path.iterdir()) == []


def test_large_bodies_are_files(tmp_path: Path) -> None:
    (message,), _ = written(tmp_path, [page("http://a.test/", b"x" * 100), page("http://a.test/2", b"y" * 101)], 100)
    (file,) = (tmp_path / "worker").iterdir()
    assert file.read_bytes() == b"y" * 101
    rows, missing = reader(tmp_path).rows(message, 1)
    assert [body for _, body in bodies(rows)] == [b"x" * 100, b"y" * 101]
    folder = tmp_path / "worker"
    folder.rename(tmp_path / "aside")
    folder.write_text("no directory any more")
    with pytest.raises(StorageError, match="Not a directory"):
        reader(tmp_path).rows(message, 1)
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    file.unlink()
    rows, missing = reader(tmp_path).rows(message, 1)
    assert (len(rows), missing) == (2, 1), "it was removed, as it may be after cluster.pages_retention"


def test_a_message_is_complete_after_some_bytes(tmp_path: Path) -> None:
    pages = [page(f"http://a.test/{number}", b"x" * 1_000) for number in range(10)]
    messages, _ = _core.PageWriter(tmp_path, "worker", LARGEST, 4_000).encode(Outcomes(pages))
    assert 2 <= len(messages) <= 5
    counts = [len(reader(tmp_path).rows(message, 1)[0]) for message in messages]
    assert sum(counts) == 10


def test_what_is_taken_back_is_no_row(tmp_path: Path) -> None:
    first, second = page("http://a.test/", b"portal"), page("http://a.test/", b"site")
    messages = [written(tmp_path, outcomes) for outcomes in ([first], [taken_back(first)], [second])]
    assert [takes_back for _, takes_back in messages] == [False, True, False]
    read = reader(tmp_path)
    for position, ((message,), _) in enumerate(messages, 1):
        read.learn(message, position)
    rows = [read.rows(message, position)[0] for position, ((message,), _) in enumerate(messages, 1)]
    assert [bodies(some) for some in rows] == [[], [], [("http://a.test/", b"site")]]
    (message,), _ = written(tmp_path, [first, taken_back(first), second])
    assert bodies(reader(tmp_path).rows(message, 9)[0]) == [("http://a.test/", b"site")]


def test_what_is_taken_back_twice_is_a_row_once(tmp_path: Path) -> None:
    tries = [page("http://a.test/", body) for body in (b"one", b"two", b"three")]
    batches = [[tries[0]], [taken_back(tries[0])], [tries[1]], [taken_back(tries[1])], [tries[2]]]
    messages = [written(tmp_path, outcomes)[0][0] for outcomes in batches]
    read = reader(tmp_path)
    for position, message in enumerate(messages, 1):
        read.learn(message, position)
    rows = [bodies(read.rows(message, position)[0]) for position, message in enumerate(messages, 1)]
    assert rows == [[], [], [], [], [("http://a.test/", b"three")]]


def test_damaged_messages_are_refused(tmp_path: Path) -> None:
    (message,), _ = written(tmp_path, [page("http://a.test/", b"one")])
    for damaged in (message[:-1], b"nonsense", message[:20] + b"\xff" + message[21:]):
        with pytest.raises(ValueError, match="record"):
            reader(tmp_path).rows(damaged, 1)


def test_files_elsewhere_are_not_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "bodies", tmp_path / "secret"
    outside.write_bytes(b"y" * 101)
    (message,), _ = written(inside, [page("http://a.test/", b"y" * 101)], 100)
    (file,) = (inside / "worker").iterdir()
    file.unlink()
    file.symlink_to(outside)
    assert reader(inside).rows(message, 1)[1] == 1, "a link that leads out of the directory is no body"
