"""The log as Python sees it: positions, followers, errors by meaning, export, one URL's story."""

from __future__ import annotations

import json
import os
import resource
import threading
import time
from pathlib import Path

import pytest
from lycosa import _core
from lycosa.errors import JobDamaged, JobInUse, JobVersionError, SettingError, StorageError
from lycosa.fetch import ScriptedFetch
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages
from lycosa.store.snapshots import Snapshots

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html; charset=utf-8")]
PAGES = {
    "/": (200, HTML, b'<a href="/a">a</a> <a href="/b" rel="nofollow">b</a> <a href="http://192.0.2.1/">far</a>'),
    "/a": (200, HTML, b'<a href="/b">b</a> <a href="/old">old</a>'),
    "/old": (301, [("Location", "/b")], b""),
    "/b": (200, HTML, b"<title>b</title>"),
}
MIB = 1 << 20


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a small crawl; nobody has it open."""
    directory = tmp_path / "job" / "log"
    job = make_job({"seeds": [f"{SITE}/"], "politeness": {"host_interval": 0, "address_interval": 0}})
    writer = _core.Log(directory, MIB, commit_interval=0)
    fetch = ScriptedFetch(lambda url: PAGES.get(url.removeprefix(SITE), (404, [], b"")))
    stages = Stages(frontier=_core.Frontier(job, _core.Names(job)), fetch=fetch, parse=_core.Parser(job), log=writer)
    writer.append_seeds(list(job.seeds))
    stages.frontier.add(list(job.seeds))
    for _ in run(stages, Control()):
        pass
    writer.sync()
    assert writer.committed() == writer.end()
    return directory


def segment(log: Path) -> Path:
    """The file of the only segment."""
    (path,) = log.glob("*.log")
    return path


def urls(outcomes: _core.Outcomes) -> list[str]:
    """The URLs of outcomes."""
    return [json.loads(line)["url"].removeprefix(SITE) for line in outcomes.lines(["url"]).splitlines()]


def test_a_follower_goes_on_where_it_was(log: Path) -> None:
    reader = _core.LogReader(log)
    seen = []
    while (outcomes := reader.read(1, MIB)) or reader.position() < segment(log).stat().st_size:
        seen += urls(outcomes)
        reader = _core.LogReader(log, reader.position())
    assert sorted(seen) == ["/", "/a", "/b", "/old"]


def test_a_body_that_was_not_read_is_an_error_and_not_empty(log: Path) -> None:
    outcomes = _core.LogReader(log, with_body=False).read(10, MIB)
    page = next(outcome for outcome in outcomes if outcome.status == 200)
    for body in ("body", "wire_body"):
        with pytest.raises(StorageError, match="the body is in the log at position"):
            getattr(page, body)


def test_a_batch_that_fits_on_the_disk_in_part_is_recorded_later_and_nothing_of_it_twice(tmp_path: Path) -> None:
    writer = _core.Log(tmp_path / "log", 64 * MIB, commit_interval=3600)
    pages = [_core.Request(f"{SITE}/{page}").respond(200, body=bytes(700_000)) for page in range(8)]
    outcomes = _core.Parser(make_job({"seeds": [SITE]})).parse(_core.Responses(pages))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, unlimited[1]))
    try:
        for _ in range(2):
            with pytest.raises(StorageError, match="File too large"):
                writer.append(outcomes)
            assert (len(outcomes), 0 < writer.summary()["pages"] < 8) == (8, True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    writer.append(outcomes)
    assert urls(_core.LogReader(tmp_path / "log").read(100, 64 * MIB)) == [f"/{page}" for page in range(8)]
    assert writer.summary()["pages"] == 8


def test_space_that_is_reserved_for_the_log_is_given_back(tmp_path: Path) -> None:
    writer = _core.Log(tmp_path / "log", 64 * MIB, commit_interval=3600)
    pages = [_core.Request(f"{SITE}/{page}").respond(200, body=bytes(700_000)) for page in range(8)]
    writer.append(_core.Parser(make_job({"seeds": [SITE]})).parse(_core.Responses(pages)))
    del writer
    found = segment(tmp_path / "log").stat()
    assert found.st_blocks * 512 < found.st_size + MIB


def test_followers_of_a_live_log_see_what_is_on_the_disk(log: Path) -> None:
    end = segment(log).stat().st_size
    writer = _core.Log(log, MIB, commit_interval=3600)
    follower, anybody = writer.follow(end), _core.LogReader(log, end)
    writer.append_seeds([f"{SITE}/new"])
    assert writer.committed() == end < writer.end()
    for reader, reached in ((follower, end), (anybody, writer.end())):
        reader.read(10, MIB)
        assert reader.position() == reached
    writer.sync()
    follower.read(10, MIB)
    assert follower.position() == writer.committed() == writer.end()


def test_a_position_that_the_log_does_not_hold_is_told(log: Path) -> None:
    with pytest.raises(StorageError, match=r"position 99999999 is not in the log: it has 0 to \d+"):
        _core.LogReader(log, 99_999_999)
    with pytest.raises(StorageError, match="no log in this directory"):
        _core.LogReader(log.parent)
    with pytest.raises(SettingError, match=r"columns: 'colour' is not allowed; allowed: one of url, "):
        _core.LogReader(log).read(10, MIB).lines(["colour"])


def test_segments_go_when_they_are_passed(log: Path) -> None:
    writer = _core.Log(log, 1)
    end = writer.end()
    writer.append_seeds([f"{SITE}/new"])
    assert (writer.first(), writer.retain(end - 1), writer.retain(end)) == (0, 0, 1)
    assert writer.first() == end
    with pytest.raises(StorageError, match="is not in the log"):
        _core.LogReader(log, 16)


def test_a_log_that_is_being_written_is_told_with_its_process(log: Path) -> None:
    writer = _core.Log(log, MIB)
    with pytest.raises(JobInUse, match=f"process {os.getpid()} is writing this log; wait until it has ended"):
        _core.Log(log, MIB)
    assert writer.torn() is None


def test_a_log_of_another_version_is_told_apart_from_a_damaged_one(log: Path) -> None:
    path, whole = segment(log), segment(log).read_bytes()
    path.write_bytes(whole[:8] + b"\x09" + whole[9:])
    told = r"a log of version 9; this version reads 2 to 3; go on with the version .* `lycosa job export DIR FILE`"
    with pytest.raises(JobVersionError, match=told):
        _core.Log(log, MIB)
    path.write_bytes(b"?" + whole[1:])
    told = rf"damaged at position 0; `lycosa job export {log.parent} FILE` reads what can be read"
    with pytest.raises(JobDamaged, match=told):
        _core.Log(log, MIB)


def test_what_a_crash_tore_is_set_aside_and_told(log: Path) -> None:
    path, whole = segment(log), segment(log).read_bytes()
    path.write_bytes(whole[:-3])
    writer = _core.Log(log, MIB)
    torn = writer.torn()
    assert torn is not None
    position, size, has_records = torn
    assert not has_records
    assert position == writer.end() == len(whole) - 3 - size
    assert (log / f"torn-{position:020}").read_bytes() == whole[position:-3]


def test_damage_is_told_and_can_be_passed(log: Path) -> None:
    path, whole = segment(log), bytearray(segment(log).read_bytes())
    whole[60] ^= 1
    path.write_bytes(whole)
    reader = _core.LogReader(log)
    with pytest.raises(JobDamaged):
        reader.read(1, MIB)
    assert reader.skip_damage() > 16
    assert sorted(urls(reader.read(100, MIB))) == ["/", "/a", "/b", "/old"], "only the seed's record is lost"


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_an_export_is_imported_the_same(log: Path, tmp_path: Path, name: str) -> None:
    file, copy = tmp_path / name, tmp_path / "copy"
    exported = _core.export_log(log, file)
    counts = {"entries": 11, "seeds": 1, "pages": 4, "robots": 1, "leases": 5}
    assert exported == {**counts, "skipped": 0, "complete": True}
    assert (file.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert _core.import_log(file, copy) == exported
    assert segment(copy).read_bytes() == segment(log).read_bytes()
    with pytest.raises(StorageError, match="not empty"):
        _core.import_log(file, copy)


def test_a_line_that_is_no_record_is_told_by_number(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"kind": "seed", "url": "http://a.com/"}\n{"kind": "cat", "url": "http://a.com/"}\n')
    with pytest.raises(
        StorageError, match=r"bad\.jsonl: line 2: kind is \"cat\"; allowed: seed, page, robots, lease, end"
    ):
        _core.import_log(file, tmp_path / "new")


def test_the_story_of_a_url(log: Path) -> None:
    told = _core.story(log, f"{SITE}:80/b#top", "host", None, "tester/1.0")
    assert (told["url"], told["seeds"], told["found_more"], told["skipped"]) == (f"{SITE}/b", [], 0, 0)
    ways = [(found["page"].removeprefix(SITE), found["depth"], found["refused"]) for found in told["found"]]
    assert ways == [("/", 1, "nofollow"), ("/a", 2, None)]
    assert [found["page"].removeprefix(SITE) for found in told["redirected"]] == ["/old"]
    (outcome,) = told["outcomes"]
    assert (outcome["status"], outcome["depth"], outcome["retry"]) == (200, 2, False)
    assert outcome["lease"] > 0
    (robots,) = told["robots"]
    assert (robots["url"], robots["status"], robots["verdict"]) == (f"{SITE}/robots.txt", 404, "allows it")
    assert robots["position"] < told["found"][0]["position"] < outcome["position"]
    assert outcome["at"] > 1.7e9


def test_the_story_of_a_url_that_was_never_admitted(log: Path) -> None:
    by_scope = _core.story(log, "http://192.0.2.1/", "host", None, "tester/1.0")
    assert [found["refused"] for found in by_scope["found"]] == ["scope"]
    assert by_scope["outcomes"] == []
    by_depth = _core.story(log, f"{SITE}/a", "host", 0, "tester/1.0")
    assert [found["refused"] for found in by_depth["found"]] == ["depth"]
    unknown = _core.story(log, f"{SITE}/unknown", "host", None, "tester/1.0")
    assert (unknown["found"], unknown["outcomes"]) == ([], [])
    with pytest.raises(SettingError, match="url: 'nowhere' is not allowed"):
        _core.story(log, "nowhere", "host", None, "tester/1.0")
    with pytest.raises(SettingError, match="scope: 'all' is not allowed; allowed: host, domain or any"):
        _core.story(log, f"{SITE}/", "all", None, "tester/1.0")


def test_who_asks_a_busy_log_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    log = _core.Log(tmp_path / "log", 256 * MIB)
    seeds = [f"{SITE}/{number:03000}" for number in range(50_000)]
    appending = threading.Thread(target=log.append_seeds, args=(seeds,))
    asking = [threading.Thread(target=ask) for ask in (log.summary, log.end)]
    appending.start()
    while segment(tmp_path / "log").stat().st_size < MIB:
        time.sleep(0.001)
    # The log is being written now: its lock is held until the end.
    begin = last = time.monotonic()
    for thread in asking:
        thread.start()
    longest = 0.0
    while appending.is_alive():
        time.sleep(0.001)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    for thread in (appending, *asking):
        thread.join()
    assert last - begin > 0.02, "it was busy for as long as that can be told"
    assert longest < (last - begin) / 2, "this thread ran meanwhile"


def test_a_log_that_is_read_again_has_the_same_numbers(log: Path, tmp_path: Path) -> None:
    job = make_job({"seeds": [f"{SITE}/"]})
    before, frontier = _core.Log(log, MIB), _core.Frontier(job, _core.Names(job))
    assert Snapshots(frontier, before, place=str(tmp_path), log_bytes=1, seconds=0).restore() > 0
    summary = before.summary()
    bodies = sum(len(body) for _, _, body in PAGES.values())
    assert (summary["pages"], summary["redirects"], summary["bytes"]) == (len(PAGES) - 1, 1, bodies)
