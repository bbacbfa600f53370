"""Outputs from session to session: one that cannot be opened, ones that are not written, what is asked for again."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lycosa
import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet

#: Logs whose beginning is soon needed by nobody.
SMALL = {
    "store": {"segment_bytes": 1 << 20, "retain": "needed"},
    "frontier": {"snapshot_bytes": 1 << 20, "snapshot_interval": 0},
}


@pytest.fixture(scope="module")
def job() -> Iterator[str]:
    """A job for a simulated Internet that lives as long as the tests of this file."""
    with SimulatedInternet(hosts=10, pages=10, seed=2, speed=100) as net:
        yield str(net.job_file())


def urls(path: Path) -> list[str]:
    """The URLs in an output."""
    if path.suffix == ".parquet":
        column: list[str] = pyarrow.parquet.read_table(path, columns=["url"])["url"].to_pylist()
        return column
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]


def crawled(**arguments: Any) -> list[str]:
    """The URLs that a session gives, in order."""
    return [json.loads(line)["url"] for batch in lycosa.crawl(**arguments).batches() for line in lines(batch)]


def lines(batch: Any) -> list[bytes]:
    """A batch's rows, as standard output gets them."""
    found: list[bytes] = batch.rows().lines(["url"]).splitlines()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """What stands in a folder but for what each process makes: who has the log, its clock, what failed by the log."""
    made = {folder / "d" / "failed", folder / "d" / "log" / "lock", folder / "d" / "log" / "clock"}
    files = [path for path in folder.rglob("*") if path.is_file() and not made & {path, *path.parents}]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def failing(where: str, folder: Path) -> Path:
    """An output that cannot be opened: nothing can be made there, or something is in the way of its parts."""
    if where == "no place":
        return Path("/proc/x.parquet")
    (folder / "blocked.parquet.parts").write_text("mine")
    return folder / "blocked.parquet"


@pytest.mark.parametrize("where", ["no place", "something in the way"])
def test_an_output_that_cannot_be_opened_leaves_the_job_as_it_was(where: str, job: str, tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "d" / "mine.parquet"
    crawled(job=job, directory=directory, output=output, max_pages=10)
    bad = failing(where, tmp_path)
    before = contents(tmp_path)
    outputs = [output, tmp_path / "new.jsonl", f"{tmp_path}/parts/", bad]
    with pytest.raises(lycosa.LycosaError, match=bad.name):
        crawled(directory=directory, output=outputs, max_pages=20)
    assert contents(tmp_path) == before
    assert not (tmp_path / "parts").exists()
    crawled(directory=directory, max_pages=20)
    assert len(set(urls(output))) == len(urls(output)) == 20


def test_the_log_is_free_as_soon_as_the_crawl_has_ended(job: str, tmp_path: Path) -> None:
    """Not only when Python's collector has found what refers to itself."""
    gc.collect()
    gc.disable()
    try:
        session = lycosa.crawl(job=job, directory=tmp_path / "d", max_pages=5)
        assert sum(len(batch.rows()) for batch in session.batches()) >= 5
        with pytest.raises(lycosa.LycosaError, match="not-here"):
            crawled(directory=tmp_path / "d", output=Path("/proc/not-here"))
        crawled(directory=tmp_path / "d", max_pages=10)
    finally:
        gc.enable()


@pytest.mark.parametrize("where", ["no place", "something in the way"])
def test_a_crawl_whose_first_output_cannot_be_opened_has_not_begun(where: str, job: str, tmp_path: Path) -> None:
    bad, output = failing(where, tmp_path), tmp_path / "new.jsonl"
    with pytest.raises(lycosa.LycosaError, match=bad.name):
        crawled(job=job, directory=tmp_path / "d", output=[output, bad], max_pages=5, scope="host")
    assert not output.exists()
    with pytest.raises(lycosa.SettingError, match="a crawl to resume"):
        lycosa.crawl(directory=tmp_path / "d")
    # As if nothing had been said before: the scope may be another one, and the output is free.
    assert sorted(crawled(job=job, directory=tmp_path / "d", output=output, max_pages=5)) == sorted(urls(output))


def test_a_crawl_is_not_replaced_by_one_whose_output_cannot_be_created(job: str, tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "pages.jsonl"
    crawled(job=job, directory=directory, output=output, max_pages=5)
    before = contents(tmp_path)
    with pytest.raises(lycosa.LycosaError, match=r"x\.parquet"):
        crawled(directory=directory, output="/proc/x.parquet", fresh=True)
    assert contents(tmp_path) == before


def test_a_session_that_could_not_begin_is_no_crash_and_nothing_is_fetched_again(job: str, tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "pages.parquet"
    first = crawled(job=job, directory=directory, output=output, max_pages=10)
    for where in ("no place", "something in the way"):
        with pytest.raises(lycosa.LycosaError):
            crawled(directory=directory, output=failing(where, tmp_path))
    second = crawled(directory=directory, output=[], max_pages=20)
    assert len(second) == 10
    third = crawled(directory=directory, max_pages=30)
    assert len(third) == 10
    assert sorted(urls(output)) == sorted({*first, *second, *third})


@pytest.mark.parametrize(
    ("left", "is_asked_again"),
    [({}, False), ({"confirmed": 0, "streams": True}, False), ({"confirmed": 0}, True)],
    ids=["ended by itself before", "gave all to standard output", "gave nothing to anybody"],
)
def test_what_was_given_is_not_asked_for_again_after_a_crash(
    left: dict[str, Any], is_asked_again: bool, job: str, tmp_path: Path
) -> None:
    first = crawled(job=job, directory=tmp_path, max_pages=10)
    record = tmp_path / "job.json"
    told = json.loads(record.read_text())
    # A session that was killed; in the first case before it asked for anything.
    record.write_text(json.dumps({**told, "last_run": None, **left}))
    crawl = lycosa.crawl(directory=tmp_path, max_pages=20)
    second = [page.url for page in crawl]
    assert (crawl.report()["reopened"] > 0) == is_asked_again
    assert is_asked_again or not set(first) & set(second)


def test_outputs_that_a_session_does_not_write_stay_recorded_and_catch_up(tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "mine.jsonl"
    with SimulatedInternet(hosts=40, pages=20, seed=3, speed=300) as net:
        crawled(job=net.job_file(), directory=directory, output=output, max_pages=20, **SMALL)
        before = output.read_bytes()
        crawl = lycosa.crawl(directory=directory, output=[], max_pages=None)
        assert crawl.plan.differences[-1].startswith(f"output: {output}: not written in this session")
        others = [page.url for page in crawl]
        assert output.read_bytes() == before
        kept = len(list((directory / "log").glob("*.log")))
        assert kept > 6, "the output has not passed them"
        crawled(directory=directory)
    assert len(set(urls(output))) == len(urls(output)), "each URL once"
    assert set(others) <= set(urls(output))
    # A snapshot is complete some batches after the position that it has.
    assert len(list((directory / "log").glob("*.log"))) <= 4, "nobody needs the others any more"


def test_a_sink_of_ones_own_has_a_scheme_of_its_own(job: str) -> None:
    class Own(lycosa.Sink):
        pass

    with pytest.raises(lycosa.SettingError, match="a scheme of its own"):
        lycosa.crawl(job=job, output=Own("sqlite:///pages.db"))


@pytest.mark.parametrize("name", ["pages-10:30.jsonl", "pages-10:30.parquet", "file:x.jsonl", "parts:/"])
def test_a_colon_in_a_name_is_no_scheme(name: str, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = crawled(job=job, directory=".", output=f"./{name}", max_pages=5)
    record = json.loads((tmp_path / "job.json").read_text())
    assert record["outputs"] == [name]
    second = crawled(directory=".", max_pages=10)
    assert len(second) == 5
    column = [url for path in output_files(tmp_path / name) for url in urls(path)]
    assert sorted(column) == sorted(first + second)


def output_files(output: Path) -> list[Path]:
    """The files of an output."""
    return sorted(output.glob("*.parquet")) if output.is_dir() else [output]


def test_a_sink_of_ones_own_is_known_by_its_url_wherever_the_process_is(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    class Mine(lycosa.Sink):
        """Notes what it is given."""

        def write(self, outcomes: lycosa.Outcomes, position: int) -> None:
            given.extend(outcome.url for outcome in outcomes)

    directory = tmp_path / "d"
    for number, url in enumerate(["mine:pages", "mine://pages.jsonl", "mine"]):
        given.clear()
        monkeypatch.chdir(tmp_path)
        crawled(job=job, directory=directory, output=Mine(url), max_pages=5, fresh=number > 0)
        assert json.loads((directory / "job.json").read_text())["outputs"] == [url]
        with pytest.raises(lycosa.SettingError, match=f"output: '{url}' is a custom sink"):
            lycosa.crawl(directory=directory)
        monkeypatch.chdir("/")
        crawled(directory=directory, output=[], max_pages=8)
        crawled(directory=directory, output=Mine(url), max_pages=10)
        assert len(given) == len(set(given)) == 10


def test_a_crawl_that_is_replaced_replaces_also_the_outputs_that_are_not_written(job: str, tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "mine.parquet"
    crawled(job=job, directory=directory, output=output, max_pages=5)
    second = crawled(directory=directory, output=[], fresh=True)
    assert not output.exists(), "it was the other crawl's"
    crawled(directory=directory)
    assert sorted(urls(output)) == sorted(second)
