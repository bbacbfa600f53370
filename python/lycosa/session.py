"""A crawl from Python: settings in, pages out, files complete at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.crawl import Control, run
from lycosa.errors import SettingError
from lycosa.records import Page, Pages

if TYPE_CHECKING:
    from lycosa.job import Job


def crawl(
    *seeds: str,
    job: str | Path | None = None,
    directory: str | Path | None = None,
    output: str | Path | Sequence[str | Path] = (),
    fresh: bool = False,
    **settings: Any,
) -> Crawl:
    """Prepare a crawl; iterate over the result, with ``for`` or ``async for``, to run it.

    seeds: absolute URLs; they take the place of those in the job file.
    job: a job file (TOML).
    directory: where the log is kept; one that has a log already is gone on with. Default: a temporary directory that
        goes when the crawl ends.
    output: files to write, ``.parquet`` or ``.jsonl``.
    fresh: start over; replace a log and outputs that exist already.
    settings: keys of the job, laid over the job file: ``max_pages=100``, ``politeness={"host_interval": 2}``.

    Raises SettingError for a bad setting or seed, before anything is written.
    """
    from lycosa.job import make_job, merge, read_job

    merged = merge(read_job(Path(job)) if job is not None else {}, settings)
    if seeds:
        merged["seeds"] = seeds
    outputs = [output] if isinstance(output, str | Path) else output
    where = None if directory is None else Path(directory)
    return Crawl(make_job(merged), directory=where, outputs=[Path(path) for path in outputs], fresh=fresh)


class Crawl:
    """One crawl. It runs while it is iterated over; it can be iterated over once."""

    def __init__(self, job: Job, *, directory: Path | None, outputs: list[Path], fresh: bool) -> None:
        """Check everything that can be checked without writing."""
        self.job = job
        self.outputs = outputs
        self.control = Control()
        self._seeds = job.checked_seeds()
        self._directory = directory
        self._fresh = fresh
        self._report: dict[str, Any] = {}
        self._live: _Live | None = None
        self._used = False
        _check_places(directory, outputs, fresh)

    def __iter__(self) -> Iterator[Page]:
        """Run, and give each URL's last outcome: a page, or a failure (``page.error``)."""
        with contextlib.closing(self.batches()) as batches:
            for batch in batches:
                yield from batch.last()

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Run on a worker thread, and give pages to the event loop; leaving the loop ends the crawl."""
        batches = self.batches()
        step: asyncio.Future[Pages | None] | None = None
        try:
            while True:
                step = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
                # Shielded: a generator that runs on a thread cannot be cancelled, only waited for.
                batch = await asyncio.shield(step)
                if batch is None:
                    return
                for page in batch.last():
                    yield page
        finally:
            if step is not None and not step.done():
                self.control.abort()
                with contextlib.suppress(Exception):
                    await step
            await asyncio.to_thread(batches.close)

    def batches(self) -> Generator[Pages, None, None]:
        """Run, and give batches of outcomes as they are confirmed: for many pages a second."""
        if self._used:
            raise SettingError("crawl", "iterated over twice", "one iteration; call lycosa.crawl again")
        self._used = True
        with contextlib.ExitStack() as stack:
            directory = self._directory
            if directory is None:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-")))
            live = self._live = _Live(self.job, directory, self.outputs, self._fresh)
            try:
                live.start(self._seeds)
                for batch in run(live.stages, self.control):
                    live.check()
                    yield batch
            finally:
                self._report = live.finish()
                self._live = None

    def stop(self) -> None:
        """Take no new URLs; the iteration ends when what is in flight has ended. For any thread."""
        self.control.stop()

    def abort(self) -> None:
        """End the iteration at once; what is in flight is cancelled. For any thread."""
        self.control.abort()

    def report(self) -> dict[str, Any]:
        """What happened so far, in numbers; complete after the iteration."""
        live = self._live
        return live.report() if live is not None else self._report


class _Live:
    """The parts of a crawl that runs."""

    def __init__(self, job: Job, directory: Path, outputs: list[Path], fresh: bool) -> None:
        from lycosa.assemble import assemble, make_sink
        from lycosa.store.follow import Follower

        log_directory = directory / "log"
        if fresh:
            # Only what a log consists of: the folder may be somebody's for other things as well.
            for segment in log_directory.glob("[0-9]" * 20 + ".log"):
                segment.unlink()
        self._started, self._cpu = time.monotonic(), time.process_time()
        self._outputs, self._directory = outputs, directory
        self.stages, self._names = assemble(job, log_directory)
        # All sinks are open before the first of their threads starts.
        sinks = [make_sink(output, job) for output in outputs]
        self._followers = [Follower(log_directory, sink, list(job.store.fields)) for sink in sinks]

    def start(self, seeds: list[str]) -> None:
        """Record and accept the seeds."""
        self.stages.log.append_seeds(seeds)
        self.stages.frontier.add(seeds)

    def check(self) -> None:
        """Raise what a sink died of."""
        for follower in self._followers:
            follower.check()

    def finish(self) -> dict[str, Any]:
        """Bring everything to its end; give the report."""
        self.stages.fetch.cancel()
        self.stages.log.sync()
        for follower in self._followers:
            follower.close()
        return self.report()

    def report(self) -> dict[str, Any]:
        """Numbers of all stages."""
        return {
            **self.stages.log.summary(),
            "seconds": time.monotonic() - self._started,
            "cpu_seconds": time.process_time() - self._cpu,
            "in_flight": self.stages.fetch.in_flight(),
            "frontier": self.stages.frontier.counts(),
            "names": self._names.statistics(),
            "log": str(self._directory / "log"),
            "log_bytes": self.stages.log.end(),
            "outputs": [str(output) for output in self._outputs],
        }


def has_log(directory: Path | None) -> bool:
    """Whether a directory holds the log of an earlier crawl."""
    return directory is not None and any((directory / "log").glob("*.log"))


def _check_places(directory: Path | None, outputs: list[Path], fresh: bool) -> None:
    """Refuse places that cannot be written, or that hold something already, before anything is written."""
    from lycosa.assemble import check_output

    if directory is not None:
        if directory.exists() and not directory.is_dir():
            raise SettingError("directory", directory, "a directory")
        _check_writable("directory", directory)
    for output in outputs:
        check_output(output)
        # A crawl that goes on writes its outputs again, from the log's beginning.
        if output.exists() and not fresh and not has_log(directory):
            raise SettingError("output", output, "a file that does not exist yet, or fresh to replace it")
        if not output.parent.is_dir() and output.parent != directory:
            raise SettingError("output", output, "a file in a directory that exists")
        _check_writable("output", output)


def _check_writable(name: str, path: Path) -> None:
    """Refuse a path whose nearest existing part cannot be written to."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        raise SettingError(name, path, "a place that can be written to")
