"""A crawl from Python: settings in, pages out, files complete at the end."""

from __future__ import annotations

import contextlib
import importlib
import logging
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from lycosa import _core
from lycosa.errors import LycosaError, SettingError
from lycosa.loop import Control, run
from lycosa.records import Outcome, Outcomes, Request
from lycosa.sink import Sink
from lycosa.stages import Change

if TYPE_CHECKING:
    import asyncio

    import pandas
    import polars
    import pyarrow

    from lycosa.plan import Plan
    from lycosa.running import Running
    from lycosa.settings import CrawlSettings

logger = logging.getLogger("lycosa")


def crawl(
    *seeds: str | Request,
    job: str | Path | None = None,
    directory: str | Path | None = None,
    output: str | Path | Sink | Sequence[str | Path | Sink] | None = None,
    fresh: bool = False,
    retry_failed: bool | str | Sequence[str] = False,
    stages: Change | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    **settings: Unpack[CrawlSettings],
) -> Crawl:
    """Prepare a crawl; iterate over the result, with ``for`` or ``async for``, to run it.

    seeds: absolute URLs, or requests with more than a URL: ``lycosa.Request(url, metadata={"id": 7})``. They take
        the place of those in the job file. A crawl that is gone on with gets them beside those that it has; one that
        it has already, done or failed, is fetched again.
    job: a job file (TOML).
    directory: the job directory: log, settings, positions of outputs. A crawl that was begun there is gone on with,
        with its recorded settings and outputs where none are given; what differs is told to the logger ``lycosa``.
        Default: a temporary directory that goes when the crawl ends.
    output: files to write, ``.parquet`` or ``.jsonl``, as paths or ``file:`` URLs; what ends in ``/`` is a directory
        of Parquet files; or sinks of your own (``lycosa.Sink``). They take the place of recorded ones; an empty list
        writes none in this session, and recorded ones stay for the next.
    fresh: start over; replace a crawl and outputs that exist already. Without seeds and job file: with what was
        recorded.
    retry_failed: fetch again what has failed in a crawl that is gone on with: True for all but what the site or the
        job forbids; or kinds of failures (docs/errors.md) and groups of them: ``["names", "connect-timeout"]``.
    stages: gives other stages for embedded ones: ``lambda stages: replace(stages, fetch=MyFetch())``. What a stage
        of your own gives is checked; StageError says what is wrong with it, and nothing is lost.
    progress: called with the report about once a second, on a thread of its own, and once at the end.
    settings: keys of the job, laid over the job file: ``max_pages=100``, ``politeness={"host_interval": 2}``.

    Raises SettingError for a bad setting or seed, and for one that may not differ from the recorded one; JobDamaged
    and JobVersionError for a job directory that cannot be gone on with: all before anything is written.
    """
    from lycosa.job import absolute_paths, merge, read_job
    from lycosa.plan import make_plan

    told = absolute_paths(read_job(Path(job)), Path(job).parent) if job is not None else {}
    merged = merge(told, absolute_paths(dict(settings), Path()))
    where = None if directory is None else Path(directory)
    outputs = [output] if isinstance(output, str | Path | Sink) else output
    plan = make_plan(
        merged,
        seeds=seeds,
        whole=job is not None,
        directory=where,
        outputs=outputs,
        fresh=fresh,
        retry_failed=retry_failed,
    )
    return Crawl(plan, progress, stages)


class Crawl:
    """One crawl. It runs while it is iterated over; it can be iterated over once."""

    def __init__(
        self,
        plan: Plan,
        progress: Callable[[dict[str, Any]], object] | None = None,
        stages: Change | None = None,
    ) -> None:
        """Nothing is written before the iteration."""
        self.plan, self._stages = plan, stages
        self._progress = progress
        self.control = Control()
        self._report: dict[str, Any] = {}
        self._running: Running | None = None
        self._used = False

    def __iter__(self) -> Iterator[Outcome]:
        """Run, and give each URL's last outcome: a page, or a failure (``outcome.error``)."""
        with contextlib.closing(self.batches()) as batches:
            for batch in batches:
                yield from batch.last()

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        """Run on a worker thread, and give pages to the event loop; leaving the loop ends the crawl."""
        import asyncio  # only here: the command starts without it

        batches = self.batches()
        step: asyncio.Future[Outcomes | None] | None = None
        try:
            while True:
                step = asyncio.ensure_future(asyncio.to_thread(next, batches, None))
                # Shielded: a generator that runs on a thread cannot be cancelled, only waited for.
                batch = await asyncio.shield(step)
                if batch is None:
                    return
                for outcome in batch.last():
                    yield outcome
        finally:
            if step is not None and not step.done():
                self.control.abort()
                with contextlib.suppress(Exception):
                    await step
            await asyncio.to_thread(batches.close)

    def batches(self) -> Generator[Outcomes, None, None]:
        """Run, and give batches of outcomes as they are confirmed: for many pages a second."""
        if self._used:
            raise SettingError("crawl", "iterated over twice", "one iteration; call lycosa.crawl again")
        self._used = True
        from lycosa.running import Running
        from lycosa.store.directory import JobDirectory

        with contextlib.ExitStack() as stack:
            directory = self.plan.directory
            if directory is None:
                temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-"))
                directory = JobDirectory(Path(temporary))
            running = self._running = Running(self.plan, directory, self.control, self._stages)
            if self._progress is not None:
                stack.enter_context(told_every_second(self.report, self._progress))
            try:
                running.start()
                for batch in run(running.stages, self.control):
                    running.check()
                    yield batch
            except BaseException as error:
                for problem in self._finish(running, error):
                    logger.warning("%s", problem)
                raise
            for problem in self._finish(running, None):
                raise problem

    def _finish(self, running: Running, error: BaseException | None) -> list[LycosaError]:
        """End what runs and keep its report; give what is wrong with the outputs."""
        problems = running.finish(error)
        self._report, self._running = running.report(), None
        return problems

    def stop(self) -> None:
        """Take no new URLs; the iteration ends when what is in flight has ended. For any thread."""
        self.control.stop()

    def abort(self) -> None:
        """End the iteration at once; what is in flight is cancelled. For any thread."""
        self.control.abort()

    def report(self) -> dict[str, Any]:
        """What happened so far, in numbers; complete after the iteration. docs/outputs.md says what they are.

        Counts are over the crawl's whole life, those of this session under ``session``; ``end`` says why it ended.
        """
        running = self._running
        return running.report() if running is not None else self._report

    def arrow(self) -> pyarrow.Table:
        """Run, and give this session's outcomes as a pyarrow table: docs/outputs.md has the columns, `text` too."""
        _need("pyarrow", "'lycosa[parquet]'")
        import pyarrow

        tables = [pyarrow.table(batch) for batch in self.batches()]
        return pyarrow.concat_tables(tables or [pyarrow.table(Outcomes().columns(_core.FIELDS))])

    def to_pandas(self) -> pandas.DataFrame:
        """Run, and give this session's outcomes as a pandas table; LycosaError at once without pandas, pyarrow."""
        _need("pandas", "pandas")
        return self.arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Run, and give this session's outcomes as a Polars table; LycosaError at once without Polars."""
        _need("polars", "polars")
        import polars

        return polars.concat(
            [polars.DataFrame(batch) for batch in self.batches()]
            or [polars.DataFrame(Outcomes().columns(_core.FIELDS))]
        )


def _need(module: str, package: str) -> None:
    """Refuse a table whose library is missing, before anything is fetched."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise LycosaError(f"{module} is missing, which makes this table: pip install {package}") from None


@contextlib.contextmanager
def told_every_second(
    report: Callable[[], dict[str, Any]], progress: Callable[[dict[str, Any]], object]
) -> Iterator[None]:
    """Tell somebody the report about once a second, on a thread, and once at the end."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(1.0):
            progress(report())
        progress(report())

    thread = threading.Thread(target=tell, name="lycosa-told", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
