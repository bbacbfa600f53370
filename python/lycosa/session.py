"""The Python interface of a crawl: `lycosa.crawl` takes settings; iterating over its result yields outcomes."""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from lycosa import _core
from lycosa.errors import LycosaError, SettingError
from lycosa.loop import Control
from lycosa.records import Outcome, Outcomes, Request
from lycosa.sink import Output, Sink
from lycosa.stages import Change

if TYPE_CHECKING:
    import asyncio

    import pandas
    import polars
    import pyarrow

    from lycosa.middleware import Middleware
    from lycosa.plan import Plan
    from lycosa.running import Running
    from lycosa.settings import CrawlSettings
    from lycosa.signals import Signal, Signals

logger = logging.getLogger("lycosa")


def crawl(
    *seeds: str | Request,
    job: str | Path | None = None,
    directory: str | Path | None = None,
    output: Output | Sequence[Output] | None = None,
    fresh: bool = False,
    retry_failed: bool | str | Sequence[str] = False,
    stages: Change | None = None,
    middleware: Sequence[Middleware] = (),
    proxy_source: Callable[[], Iterable[str]] | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    **settings: Unpack[CrawlSettings],
) -> Crawl:
    """Prepare a crawl; iterate over the result, with ``for`` or ``async for``, to run it.

    seeds: absolute URLs, or requests with more than a URL: ``lycosa.Request(url, metadata={"id": 7})``. They replace
        those of the job file. A crawl that is resumed gets them in addition to its recorded seeds; a seed that is
        recorded already, done or failed, is fetched again.
    job: a job file (TOML).
    directory: the job directory: log, settings, positions of outputs. A crawl in it is resumed, with its recorded
        settings and outputs where none are given; differences are reported to the logger ``lycosa``.
        Default: a temporary directory that is removed when the crawl ends.
    output: what is written (docs/outputs.md), as paths or URLs; custom sinks (``lycosa.Sink``); functions, which are
        called with each batch of outcomes. They replace recorded outputs; an empty list
        writes none in this session, and recorded ones stay for the next.
    fresh: start over; replace an existing crawl and its outputs. Without seeds and job file: with the recorded
        settings.
    retry_failed: fetch failed URLs of a resumed crawl again: True for all but those that the site or the
        job forbids; or kinds of failures (docs/errors.md) and groups of them: ``["names", "connect-timeout"]``.
    stages: replaces embedded stages: ``lambda stages: replace(stages, fetch=MyFetch())``. Return values of custom
        stages are checked; StageError reports what is wrong with them, and nothing is lost.
    middleware: hooks (``lycosa.Middleware``) that see each batch of requests, in this order, and each batch of
        outcomes, in reverse order. Not recorded: pass them again when the crawl is resumed.
    proxy_source: called every ``proxies.refresh`` seconds, on a thread of its own; returns proxies, as lines of
        ``proxies.file``. Not recorded: pass it again when the crawl is resumed.
    progress: called with the report about once a second, on a thread of its own, and once at the end.
    settings: keys of the job, merged over the job file: ``max_pages=100``, ``politeness={"host_interval": 2}``.

    Raises SettingError for a bad setting or seed, and for a change of a fixed setting; JobDamaged and
    JobVersionError for a job directory that cannot be resumed: all before anything is written.
    """
    from lycosa.job import absolute_paths, merge, read_job
    from lycosa.plan import make_plan

    told = absolute_paths(read_job(Path(job)), Path(job).parent) if job is not None else {}
    merged = merge(told, absolute_paths(dict(settings), Path()))
    where = None if directory is None else Path(directory)
    outputs = [output] if isinstance(output, str | Path | Sink) or callable(output) else output
    plan = make_plan(
        merged,
        seeds=seeds,
        whole=job is not None,
        directory=where,
        outputs=outputs,
        fresh=fresh,
        retry_failed=retry_failed,
    )
    return Crawl(plan, progress, stages, middleware, proxy_source)


class Crawl:
    """One crawl. It runs while it is iterated over; it can be iterated over once."""

    def __init__(
        self,
        plan: Plan,
        progress: Callable[[dict[str, Any]], object] | None = None,
        stages: Change | None = None,
        middleware: Sequence[Middleware] = (),
        proxies: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        """Write nothing yet: the crawl starts with the iteration."""
        self.plan, self._stages, self._middleware = plan, stages, tuple(middleware)
        self._proxies = proxies
        self._progress = progress
        self.control = Control()
        self._report: dict[str, Any] = {}
        self._running: Running | None = None
        self._used = False
        self._signals: Signals | None = None

    def on(self, signal: type[Signal], callback: Callable[[Signal], object]) -> None:
        """Call a function with each `PageFetched`, `HostSlowed`, `JobPaused` or `JobResumed`.

        It is called in the thread that iterates. Subscribe before the iteration. An exception of the function is told
        to the logger ``lycosa``, and the crawl goes on. Raises SettingError for another signal, and once the crawl
        has begun.
        """
        if self._used:
            raise SettingError("on", "called after the crawl has begun", "before the iteration")
        from lycosa.signals import Signals  # only for crawls that send some

        self._signals = self._signals or Signals()
        self._signals.on(signal, callback)

    def __iter__(self) -> Iterator[Outcome]:
        """Run, and yield each URL's last outcome: a page, or a failure (``outcome.error``)."""
        with contextlib.closing(self.batches()) as batches:
            for batch in batches:
                yield from batch.last()

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        """Run on a worker thread, and yield outcomes to the event loop; leaving the loop ends the crawl."""
        import asyncio  # only here, so that the command starts without it

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
        """Run, and yield batches of outcomes as they are confirmed: faster than single outcomes."""
        if self._used:
            raise SettingError("crawl", "iterated over twice", "one iteration; call lycosa.crawl again")
        self._used = True
        from lycosa.running import Running
        from lycosa.store.directory import JobDirectory

        with contextlib.ExitStack() as stack:
            directory = self.plan.directory
            if directory is None:
                import tempfile  # only here, so that the command starts without it

                temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-"))
                directory = JobDirectory(Path(temporary))
            hooks = (self._stages, self._middleware, self._proxies)
            running = self._running = Running(self.plan, directory, self.control, *hooks)
            if self._progress is not None:
                stack.enter_context(told_every_second(self.report, self._progress))
            try:
                running.start()
                for batch in running.batches(self._signals):
                    running.check()
                    if self._signals is not None:
                        self._signals.fetched(batch)
                    yield batch
            except BaseException as error:
                self.control.is_over = True
                for problem in self._finish(running, error):
                    logger.warning("%s", problem)
                raise
            for problem in self._finish(running, None):
                raise problem

    def _finish(self, running: Running, error: BaseException | None) -> list[LycosaError]:
        """End the run and store its report; returns the problems with the outputs."""
        problems = running.finish(error)
        self._report, self._running = running.report(), None
        return problems

    def stop(self) -> None:
        """Take no new URLs; the iteration ends when all requests in flight have ended. For any thread."""
        self.control.stop()

    def abort(self) -> None:
        """End the iteration at once; requests in flight are cancelled. For any thread."""
        self.control.abort()

    def report(self) -> dict[str, Any]:
        """Return the report so far; complete after the iteration. docs/outputs.md describes it.

        Counts are over the crawl's whole life, those of this session under ``session``; ``end`` says why it ended.
        """
        running = self._running
        return running.report() if running is not None else self._report

    def arrow(self) -> pyarrow.Table:
        """Run, and return this session's outcomes as a pyarrow table with all columns of docs/outputs.md."""
        _need("pyarrow", "'lycosa[parquet]'")
        import pyarrow

        tables = [pyarrow.table(batch) for batch in self.batches()]
        return pyarrow.concat_tables(tables or [pyarrow.table(Outcomes().columns(_core.FIELDS))])

    def to_pandas(self) -> pandas.DataFrame:
        """Run, and return this session's outcomes as a pandas table; LycosaError at once without pandas, pyarrow."""
        _need("pandas", "pandas")
        return self.arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Run, and return this session's outcomes as a Polars table; LycosaError at once without Polars."""
        _need("polars", "polars")
        import polars

        return polars.concat(
            [polars.DataFrame(batch) for batch in self.batches()]
            or [polars.DataFrame(Outcomes().columns(_core.FIELDS))]
        )


def _need(module: str, package: str) -> None:
    """Raise LycosaError if a table's library is missing, before anything is fetched."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise LycosaError(f"{module} is missing, but this table needs it: pip install {package}") from None


@contextlib.contextmanager
def told_every_second(
    report: Callable[[], dict[str, Any]], progress: Callable[[dict[str, Any]], object]
) -> Iterator[None]:
    """Call ``progress`` with the report about once a second, on a thread, and once at the end."""
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
