"""``lycosa.crawl``: iteration, asynchronous iteration, places that are refused."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lycosa
import pyarrow
import pyarrow.parquet
import pytest
from lycosa.simnet import SimulatedInternet


@pytest.fixture(scope="module")
def job() -> Iterator[str]:
    """A job for a simulated Internet that lives as long as the tests of this file."""
    with SimulatedInternet(hosts=10, pages=5, seed=3, speed=200) as net:
        yield str(net.job_file())


def test_pages_come_by_iteration(job: str) -> None:
    crawl = lycosa.crawl(job=job, max_pages=12)
    pages = [page for page in crawl if page.status is not None]
    assert len(pages) == 12 == crawl.report()["pages"]
    assert all(page.url.startswith("http://") for page in pages)


@pytest.mark.parametrize(
    ("method", "module"), [("arrow", "pyarrow"), ("to_pandas", "pandas"), ("to_polars", "polars")]
)
def test_a_table_whose_library_is_missing_is_refused_before_anything_is_fetched(
    job: str, method: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    crawl = lycosa.crawl(job=job, max_pages=12)
    with pytest.raises(lycosa.LycosaError, match=f"{module} is missing, .*: pip install"):
        getattr(crawl, method)()
    assert crawl.report() == {}
    monkeypatch.undo()
    assert len([page for page in crawl if page.status is not None]) == 12


def test_a_crawl_can_be_left_early_and_only_once_iterated(job: str) -> None:
    crawl = lycosa.crawl(job=job)
    for _ in crawl:
        break
    with pytest.raises(lycosa.SettingError, match="one iteration"):
        list(crawl)


def test_pages_come_by_asynchronous_iteration(job: str) -> None:
    async def collect() -> list[str]:
        return [page.url async for page in lycosa.crawl(job=job, max_pages=12)]

    assert len(asyncio.run(collect())) >= 12


def test_an_asynchronous_crawl_can_be_cancelled(job: str) -> None:
    crawl = lycosa.crawl(job=job, speed=1)  # a second between requests to a host: it would take long

    async def consume() -> None:
        async for _ in crawl:
            pass

    async def cancel() -> None:
        task = asyncio.create_task(consume())
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancel(), 10))


def test_outputs_hold_every_last_outcome_once(job: str, tmp_path: Path) -> None:
    crawl = lycosa.crawl(
        job=job, directory=tmp_path / "dir", output=[tmp_path / "a.jsonl", tmp_path / "dir" / "b.jsonl"]
    )
    pages = list(crawl)
    for path in (tmp_path / "a.jsonl", tmp_path / "dir" / "b.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        urls = [row["url"] for row in rows if row["redirect"] is None]
        assert sorted(urls) == sorted(page.url for page in pages)
        assert len(set(urls)) == len(urls)


def test_places_are_refused_before_anything_is_written(job: str, tmp_path: Path) -> None:
    existing = tmp_path / "existing.jsonl"
    existing.write_text("kept")
    for output, told in (
        (existing, "fresh to replace it"),
        (tmp_path / "pages.xml", ".parquet"),
        (tmp_path / "missing" / "pages.jsonl", "directory that exists"),
        (Path("/proc/pages.jsonl"), "/proc/pages.jsonl"),
    ):
        with pytest.raises(lycosa.LycosaError, match=told):
            list(lycosa.crawl(job=job, output=output))
    assert existing.read_text() == "kept"
    with pytest.raises(lycosa.SettingError, match="a directory"):
        lycosa.crawl(job=job, directory=existing)


def test_a_crawl_goes_on_where_it_was_left(job: str, tmp_path: Path) -> None:
    output = tmp_path / "pages.jsonl"
    first = lycosa.crawl(job=job, directory=tmp_path, output=output, max_pages=5)
    urls = {page.url for page in first}
    second = lycosa.crawl(job=job, directory=tmp_path, output=output)
    more = {page.url for page in second}
    assert not urls & more
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert {row["url"] for row in rows if row["redirect"] is None} == urls | more
    assert len({row["url"] for row in rows}) == len(rows)
    assert second.report()["pages"] > 5
    assert list(lycosa.crawl(job=job, directory=tmp_path, output=output)) == [], "nothing is left to do"


def test_a_crawl_starts_over_only_when_asked(job: str, tmp_path: Path) -> None:
    before = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, max_pages=3)}
    # Whole, since which hosts come first depends on when they were asked last, also by the crawl before.
    again = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, fresh=True)}
    assert len(before) >= 3
    assert before <= again


def rows_of(path: Path) -> list[str]:
    """The URLs in an output."""
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("damage", ["torn", "flipped"])
def test_what_a_damaged_end_of_the_log_held_is_fetched_again(
    damage: str, job: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lycosa")
    output = tmp_path / "pages.jsonl"
    before = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, output=output, max_pages=20)}
    (segment,) = (tmp_path / "log").glob("*.log")
    content = bytearray(segment.read_bytes())
    if damage == "torn":
        del content[-len(content) // 3 :]
    else:
        content[-len(content) // 3] ^= 0x10
    segment.write_bytes(content)
    again = {page.url for page in lycosa.crawl(job=job, directory=tmp_path)}
    assert before & again, "what was lost is fetched again"
    (told,) = [record for record in caplog.records if "set aside" in record.message]
    assert told.levelname == ("INFO" if damage == "torn" else "WARNING")
    assert len(list((tmp_path / "log").glob("torn-*"))) == 1
    urls = rows_of(output)
    assert len(set(urls)) == len(urls), "each record once, although the output was ahead of the log"
    assert before | again <= set(urls)


def test_an_output_may_be_added_on_resume_and_has_everything(job: str, tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    list(lycosa.crawl(job=job, directory=tmp_path / "d", output=first, max_pages=5))
    list(lycosa.crawl(job=job, directory=tmp_path / "d", output=[first, second]))
    assert rows_of(first) == rows_of(second)


def test_settings_are_recorded_and_laid_under_what_is_given(job: str, tmp_path: Path) -> None:
    list(lycosa.crawl(job=job, directory=tmp_path, max_pages=5))
    crawl = lycosa.crawl(directory=tmp_path, politeness={"retries": 7})
    assert crawl.plan.job.max_pages == 5
    assert crawl.plan.differences == ["politeness.retries: 2 → 7"]
    assert list(crawl) == []
    assert lycosa.crawl(directory=tmp_path).plan.job.politeness.retries == 7
    whole = lycosa.crawl(job=job, directory=tmp_path)
    assert whole.plan.job.politeness.retries == 2, "a job file says everything"


def test_a_log_of_before_there_were_records_is_gone_on_with(job: str, tmp_path: Path) -> None:
    output = tmp_path / "pages.jsonl"
    before = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, output=output, max_pages=5)}
    (tmp_path / "job.json").unlink()
    (tmp_path / "sinks" / "pages.jsonl.json").unlink()
    after = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, output=output)}
    assert not before & after
    urls = rows_of(output)
    assert before | after <= set(urls)
    assert len(set(urls)) == len(urls)
    assert (tmp_path / "job.json").exists()


def test_a_seed_is_recorded_once_however_often_a_crawl_goes_on(job: str, tmp_path: Path) -> None:
    list(lycosa.crawl(job=job, directory=tmp_path, max_pages=3))
    crawl = lycosa.crawl(job=job, directory=tmp_path, max_pages=3)
    list(crawl)
    end = crawl.report()["log_bytes"]
    again = lycosa.crawl(job=job, directory=tmp_path, max_pages=3)
    list(again)
    assert again.report()["log_bytes"] == end


def test_leaving_a_crawl_early_leaves_its_outputs_ready_to_go_on(job: str, tmp_path: Path) -> None:
    output = tmp_path / "pages.parquet"
    for _ in lycosa.crawl(job=job, directory=tmp_path, output=output):
        break
    list(lycosa.crawl(job=job, directory=tmp_path))
    urls = pyarrow.parquet.read_table(output, columns=["url"])["url"].to_pylist()
    assert len(set(urls)) == len(urls) > 20
    assert not (tmp_path / "pages.parquet.parts").exists()


STATES = ("waiting", "leased", "done", "failed", "refused")


def admitted(report: dict[str, Any]) -> int:
    """URLs that were admitted, by their states."""
    return sum(report["frontier"][state] for state in STATES)


def test_every_admitted_url_is_in_one_state_at_any_time(job: str, tmp_path: Path) -> None:
    crawl = lycosa.crawl(job=job, directory=tmp_path, max_pages=15)
    seen = [(report["frontier"]["known"], admitted(report)) for _ in crawl.batches() for report in [crawl.report()]]
    seen.append((crawl.report()["frontier"]["known"], admitted(crawl.report())))
    assert all(known == states for known, states in seen), seen
    again = lycosa.crawl(directory=tmp_path, max_pages=None)
    more = [(report["frontier"]["known"], admitted(report)) for _ in again.batches() for report in [again.report()]]
    assert more
    assert all(known == states for known, states in more), more


def test_a_report_tells_this_session_and_all(job: str, tmp_path: Path) -> None:
    first = lycosa.crawl(job=job, directory=tmp_path, max_pages=5)
    list(first)
    one = first.report()
    assert (one["sessions"], one["session"]["pages"], one["session"]["names"]) == (1, 5, one["names"])
    assert one["end"] == {
        "reason": "limit",
        "text": f"max_pages = 5 is reached; {one['frontier']['waiting']} URLs wait",
        "status": 0,
        "status_text": "exit status 0: all that was asked for until then has an answer",
        "resume": f"lycosa crawl --dir {tmp_path} --max-pages none",
    }
    second = lycosa.crawl(directory=tmp_path, max_pages=None)
    list(second)
    two = second.report()
    assert two["sessions"] == 2
    assert two["session"]["pages"] == two["pages"] - 5
    for total in ("seconds", "cpu_seconds"):
        assert two[total] == pytest.approx(one[total] + two["session"][total], abs=0.5)
    assert two["names"]["questions"] == one["names"]["questions"] + two["session"]["names"]["questions"]
    assert (two["end"]["reason"], two["end"]["resume"]) == ("finished", None)
    third = lycosa.crawl(directory=tmp_path)
    list(third)
    assert (third.report()["pages"], third.report()["session"]["pages"]) == (two["pages"], 0)


def test_a_crawl_that_is_left_early_says_so(job: str, tmp_path: Path) -> None:
    crawl = lycosa.crawl(job=job, directory=tmp_path)
    for _ in crawl:
        break
    assert (crawl.report()["end"]["reason"], crawl.report()["end"]["resume"]) == (
        "stopped",
        f"lycosa crawl --dir {tmp_path}",
    )


def test_what_is_fetched_again_is_chosen_by_kind_and_group(job: str, tmp_path: Path) -> None:
    list(lycosa.crawl(job=job, directory=tmp_path, max_pages=1))
    chosen = lycosa.crawl(directory=tmp_path, retry_failed=["names", "connect-timeout"]).plan.retry_failed
    assert chosen == [
        "name-not-found", "name-no-data", "name-server-failure", "name-timeout", "name-bad", "connect-timeout",
    ]  # fmt: skip
    everything = lycosa.crawl(directory=tmp_path, retry_failed=True).plan.retry_failed
    assert "read-timeout" in everything
    assert "robots-disallowed" not in everything, "the site's wish"
    assert lycosa.crawl(directory=tmp_path, retry_failed="robots").plan.retry_failed[0] == "robots-disallowed"
    timeouts = lycosa.crawl(directory=tmp_path, retry_failed="timeouts").plan.retry_failed
    assert timeouts == ["name-timeout", "connect-timeout", "timeout", "read-timeout"]
    for wrong in ("nams", ["connect-timeout", "tsl"]):
        with pytest.raises(lycosa.SettingError, match=r"retry_failed: .* did you mean (names|tls)"):
            lycosa.crawl(directory=tmp_path, retry_failed=wrong)


def test_a_seed_given_again_is_accepted_again_and_recorded_ones_are_not(job: str, tmp_path: Path) -> None:
    list(lycosa.crawl(job=job, directory=tmp_path, max_pages=3))
    seed = lycosa.crawl(directory=tmp_path).plan.seeds[0]
    assert lycosa.crawl(directory=tmp_path).plan.again == []
    plan = lycosa.crawl(seed, "http://new.example/", directory=tmp_path).plan
    assert plan.again == [seed, "http://new.example/"]
    assert plan.seeds[-1] == "http://new.example/"


def test_batches_are_tables_with_the_text_of_pages(job: str) -> None:
    for batch in lycosa.crawl(job=job, max_pages=5).batches():
        table = pyarrow.table(batch)
        assert table.num_rows == len(batch.rows()) == len(pyarrow.table(batch.rows())), "a batch may be read again"
        for row in table.to_pylist():
            text = row["body"].decode(row["charset"]) if row["charset"] else None
            assert row["text"] == text
    table = lycosa.crawl(job=job, max_pages=5).arrow()
    assert table.num_rows >= 5
    assert {"body", "text", "metadata"} <= set(table.column_names)


def test_progress_is_told_at_the_end_at_least(job: str) -> None:
    told: list[dict[str, Any]] = []
    crawl = lycosa.crawl(job=job, max_pages=5, progress=told.append)
    list(crawl)
    assert told[-1] == crawl.report()


def test_a_path_in_a_job_file_is_taken_from_the_files_folder(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "blocked.txt").write_text("blocked.example\n")
    (folder / "job.toml").write_text('user_agent = "me@example.org"\n[politeness]\nblock_list = "blocked.txt"\n')
    crawl = lycosa.crawl("http://a.example/", job=folder / "job.toml")
    assert crawl.plan.job.politeness.block_list == folder / "blocked.txt"
