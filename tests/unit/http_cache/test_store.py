"""The files of a cache: bounded, whole after a kill, and each damaged alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lycosa.http_cache.rules import Stored
from lycosa.http_cache.store import ABANDONED, BLOCK, VARIANTS, Store

MANY = 1 << 30


def response(language: str | None = None, status: int = 200, at: float = 5.0) -> Stored:
    """A response, of a URL that has one for each language."""
    varied = () if language is None else (("accept-language", language),)
    return Stored(status, "OK", (("content-type", "text/html"), ("x-name", "ä")), varied, 4.0, at)


def bodies(store: Store, key: str) -> list[bytes | None]:
    """The bodies that are stored under a key."""
    return sorted((store.body(entry) for entry in store.find(key)), key=str)


def size_of(directory: Path) -> int:
    """The space that files take."""
    return sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in directory.rglob("*") if path.is_file())


def test_what_is_stored_is_found_by_the_next_process(tmp_path: Path) -> None:
    Store(tmp_path, MANY).put("a", response(), b"body")
    (entry,) = Store(tmp_path, MANY).find("a")
    assert entry.stored == response()
    assert Store(tmp_path, MANY).body(entry) == b"body"
    assert Store(tmp_path, MANY).find("b") == []


def test_a_url_has_a_response_for_each_value_that_vary_names_and_not_too_many(tmp_path: Path) -> None:
    store = Store(tmp_path, MANY)
    for number in range(VARIANTS + 3):
        store.put("a", response(str(number), at=number), str(number).encode())
    store.put("a", response("5", at=99), b"new")
    assert len(store.find("a")) == VARIANTS
    kept = set(bodies(store, "a"))
    assert b"new" in kept
    assert not kept & {b"0", b"1", b"2", b"5"}, "the oldest have made room"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "use", "drop", "again"]), st.integers(0, 9), st.integers(0, 4)), max_size=60
    )
)
def test_the_least_recently_used_make_room(steps: list[tuple[str, int, int]]) -> None:
    limit = 20 * BLOCK
    with TemporaryDirectory() as folder:
        store = Store(Path(folder), limit)
        model: OrderedDict[str, bytes] = OrderedDict()

        def size() -> int:
            return sum(len(body) // BLOCK + 1 for body in model.values()) * BLOCK

        for what, number, blocks in steps:
            key = f"http://a.com/{number}"
            if what == "again":
                store = Store(Path(folder), limit)
            elif what == "put":
                body = bytes([number]) * (blocks * BLOCK)
                more = (blocks + 1) * BLOCK
                if size() + more > limit:
                    while model and size() + more > limit * 9 // 10:
                        model.popitem(last=False)
                store.put(key, response(), body)
                model.pop(key, None)
                model[key] = body
            elif what == "drop":
                for entry in store.find(key):
                    store.remove(entry)
                model.pop(key, None)
            else:
                assert bodies(store, key) == ([model[key]] if key in model else [])
                if key in model:
                    model.move_to_end(key)
            assert size_of(Path(folder)) == size() <= limit
        assert {number: bodies(store, f"http://a.com/{number}") for number in range(10)} == {
            number: [model[f"http://a.com/{number}"]] if f"http://a.com/{number}" in model else []
            for number in range(10)
        }


def test_what_is_larger_than_the_cache_is_not_stored_and_replaces_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path, 4 * BLOCK)
    assert store.put("a", response(), b"small")
    assert store.put("b", response(), b"small")
    assert not store.put("a", response(), bytes(5 * BLOCK)), "and what it would have replaced is outdated"
    assert (bodies(store, "a"), bodies(store, "b")) == ([], [b"small"])


def test_what_is_not_kept_yet_takes_space_until_it_is_kept_or_dropped(tmp_path: Path) -> None:
    store = Store(tmp_path, 4 * BLOCK)
    store.put("kept", response(), b"small")
    written = [store.write(f"{number}", response(), b"small") for number in range(4)]
    assert bodies(store, "kept") == [], "it has made room"
    assert size_of(tmp_path) == 4 * BLOCK
    assert store.write("more", response(), b"small") is None, "there is nothing that could make room"
    first, second, *_ = written
    assert first is not None
    assert second is not None
    store.keep(first)
    assert bodies(store, "0") == [b"small"]
    store.drop(second)
    assert store.put("more", response(), b"small")
    assert (bodies(store, "0"), bodies(store, "more")) == ([b"small"], [b"small"])
    assert size_of(tmp_path) == 4 * BLOCK


def test_what_a_killed_process_has_written_takes_space(tmp_path: Path) -> None:
    Store(tmp_path, MANY).write("of a killed one", response(), bytes(2 * BLOCK))
    store = Store(tmp_path, 4 * BLOCK)
    assert not store.put("a", response(), bytes(BLOCK))
    assert store.put("a", response(), b"small")


def test_what_cannot_be_written_or_kept_takes_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    store = Store(tmp_path, 2 * BLOCK)
    for name in ("utime", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(f"os.{name}", full)
            for _ in range(3):
                with pytest.raises(OSError, match="No space left"):
                    store.put("a", response(), b"small")
    assert size_of(tmp_path) == 0
    assert store.put("a", response(), bytes(BLOCK))


def test_all_of_a_url_is_removed_whatever_tells_it_apart(tmp_path: Path) -> None:
    store = Store(tmp_path, MANY)
    of_url = ["GET http://a.com/", "GET http://a.com/ key", "GET http://a.com/ other key"]
    others = ["HEAD http://a.com/", "GET http://a.com/b", "GET http://a.com/b key"]
    for key in of_url + others:
        for language in ("en", "de"):
            store.put(key, response(language), f"{key} {language}".encode())
    assert {len(store.find(key)) for key in of_url + others} == {2}, "each is found by its own key"
    store.remove_all(of_url[0])
    assert [len(store.find(key)) for key in of_url + others] == [0, 0, 0, 2, 2, 2]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_miss_and_the_others_stay(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder), MANY)
        store.put("a", response(), b"whole")
        store.put("b", response(), b"other")
        (entry,) = store.find("a")
        content = bytearray(entry.path.read_bytes())
        if data.draw(st.booleans()):
            content = content[: data.draw(st.integers(0, len(content) - 1))]
        else:
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        entry.path.write_bytes(content)
        assert bodies(store, "a") in ([], [None])
        assert not entry.path.exists(), "it is removed"
        assert bodies(store, "b") == [b"other"]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "notes.txt").write_text("mine")
    store = Store(tmp_path, 2 * BLOCK)
    for number in range(9):
        store.put(str(number), response(), b"x")
    assert (tmp_path / "ab" / "notes.txt").read_text() == "mine"


WRITER = """
import sys
from pathlib import Path
from lycosa.http_cache.rules import Stored
from lycosa.http_cache.store import Store

store, number = Store(Path(sys.argv[1]), 1 << 30), 0
while True:
    store.put(f"http://a.com/{number % 50}", Stored(200, "", (), (), 1.0, 2.0), bytes([number % 256]) * 100_000)
    number += 1
    if number == 60:
        print("writes", flush=True)
"""


def test_a_killed_process_leaves_whole_responses_only(tmp_path: Path) -> None:
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        store = Store(tmp_path, MANY)
        found = [bodies(store, f"http://a.com/{number}") for number in range(50)]
        assert all(len(each) == 1 and each[0] and len(each[0]) == 100_000 for each in found)
        assert all(len(set(each[0] or b"")) == 1 for each in found)
    left = tmp_path / "ab" / "tmp-of-a-killed-one"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    os.utime(left, (time.time() - 2 * ABANDONED,) * 2)
    Store(tmp_path, MANY).put("a", response(), b"looks at the directory")
    assert not left.exists()


@pytest.mark.parametrize("stores", [1, 2], ids=["threads", "as of two processes"])
def test_threads_write_read_and_remove_at_the_same_time(tmp_path: Path, stores: int) -> None:
    limit, wrong = 30 * BLOCK, list[object]()
    shared = [Store(tmp_path, limit) for _ in range(stores)]

    def work(turn: int) -> None:
        store = shared[turn % stores]
        try:
            for number in range(150):
                key = f"http://a.com/{(number * 7 + turn) % 40}"
                store.put(key, response(), key.encode() * 100)
                wrong.extend(body for body in bodies(store, key) if body not in (None, key.encode() * 100))
                if number % 10 == 0:
                    for entry in store.find(key):
                        store.remove(entry)
        except Exception as error:
            wrong.append(repr(error).encode())

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert size_of(tmp_path) <= limit * stores
