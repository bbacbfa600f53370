"""``lycosa.crawl``: iteration, asynchronous iteration, places that are refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import lycosa
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
        (tmp_path / "pages.csv", ".parquet"),
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
    again = {page.url for page in lycosa.crawl(job=job, directory=tmp_path, max_pages=3, fresh=True)}
    assert before & again
