"""A running crawl: its stages, outputs and record, from opening the job directory to completing the outputs."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import logging
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lycosa import _core
from lycosa.assemble import assemble, open_log, recorded_name
from lycosa.end import End, end_of
from lycosa.errors import LycosaError
from lycosa.loop import Control, run
from lycosa.memory import told
from lycosa.observe.balance import balance
from lycosa.observe.cpu import cpu_by_stage
from lycosa.observe.observer import Observer, check_sums, write_reports
from lycosa.outputs import Outputs
from lycosa.plan import Plan
from lycosa.records import Outcomes, Request, Requests
from lycosa.stages import Change
from lycosa.store.directory import Counts, JobDirectory, LastRun, Record, Totals, now
from lycosa.store.patient import Patience
from lycosa.store.restart import with_gap
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.job import Job
    from lycosa.middleware import Middleware
    from lycosa.proxies.sources import Source
    from lycosa.signals import Looks, Signals

logger = logging.getLogger("lycosa")

#: Seconds between two removals of unneeded log files, and between two updates of the session's totals in the record.
RETAIN = 10.0

#: Seconds between two looks of a crawl in shards at its sinks, snapshots and doubts.
CHECK = 0.02

#: Counts of the log that a report also has for the session.
COUNTED = ("pages", "redirects", "retries", "robots", "bytes", "links")

#: Maximum number of URLs that are opened again per batch.
REOPENED = 1_000

#: Seeds given again that are looked up per batch: each batch may have to read the log.
SEEDS_AT_ONCE = 100_000

#: Maximum number of failing hosts in a report.
FAILING = 10


class FailingHost(NamedTuple):
    """A failing host with waiting URLs."""

    host: str
    kind: str
    waiting: int
    until: float  # earliest end of its retries, in seconds since 1970


#: How long an outcome may be taken back because of a captive portal: seconds of job time, and the minimum in seconds
#: of machine time. Outputs stay this far behind the log.
TAKEN_BACK, SHORTEST_DISTANCE = 15.0, 1.5


def distance(job: Job) -> float:
    """Return how many seconds outputs stay behind the log."""
    return max(TAKEN_BACK / job.speed, SHORTEST_DISTANCE)


class Running:
    """A crawl's stages, outputs and record."""

    def __init__(
        self,
        plan: Plan,
        directory: JobDirectory,
        control: Control,
        change: Change | None = None,
        middleware: Sequence[Middleware] = (),
        proxies: Source | None = None,
    ) -> None:
        """Open everything; raises StorageError if that fails, and then leaves the job as it was.

        directory: the plan's, or a temporary one. change: replaces embedded stages. middleware: sees requests and
        outcomes. proxies: one more source of proxies.
        """
        job = plan.job
        # Before anything is removed or recorded.
        for sink in plan.outputs:
            sink.check_creatable()
        if plan.fresh:
            directory.clear()
        # Before the log has content: a log with content but no record is older than records.
        goes_on, is_new = directory.has_records(), plan.record is None
        self._started, self._cpu = time.monotonic(), time.process_time()
        self._plan, self._directory, self._control = plan, directory, control
        self._log = open_log(job, directory)
        outputs = tuple(recorded_name(sink, directory) for sink in plan.outputs or plan.unwritten)
        record = plan.record or Record.make(job.model_dump(mode="json"), outputs)
        self._before = record.totals
        # The log may end earlier than it did: a crash of the machine tore it.
        begun = dataclasses.replace(record, confirmed=min(record.confirmed, self._log.end()))
        given = _text_of(_merged(begun.requests, plan.requests)) if plan.requests else begun.requests
        self._record = dataclasses.replace(
            begun, outputs=outputs, last_run=None, streams=plan.streams, requests=given
        )
        self._middleware = middleware
        self._patience = Patience(lambda: control.stopping or control.is_over)
        self._end: End | None = None
        self._outputs = Outputs(plan, directory, record.id)
        try:
            if is_new:
                # Before the outputs, which have its id, so that they are recognised after a crash.
                self._write_record()
            assembled = assemble(job, directory, self._log, self._patience, change, middleware, proxies)
            self.stages, self._names, self._snapshots = assembled.stages, assembled.names, assembled.snapshots
            self._lanes, self._keeper, self._traces = assembled.lanes, assembled.keeper, assembled.traces
            self._recorded: dict[str, Any] = self.stages.log.summary()  # before this session
            self._tell(goes_on)
            self._outputs.open(self.stages.log, self._patience, anew=plan.fresh or (is_new and goes_on))
            self._keep_gaps()
            if goes_on:
                self._doubt_last(record)
            self.stages.log.keep_distance(distance(job))
            if not is_new:
                # Only now, so that a session that could not start changes nothing and is not taken for a crash.
                self._write_record()
            looked_at = (job, self._lanes, self._outputs, self.stages.frontier, self._log.end)
            self._observer = Observer(*looked_at, self._patience.full, self.report)
            self._observer.serve()
        except BaseException:
            self._outputs.abandon()
            if is_new:
                with contextlib.suppress(OSError):
                    directory.record_file.unlink(missing_ok=True)
            raise
        control.holds = self._observer.is_held
        # All outputs are open before the first of their threads starts.
        self._outputs.start()
        if self._keeper is not None:
            self._keeper.start()
        self._retain_at, self._check_at = time.monotonic() + RETAIN, 0.0
        self._observer.start()

    def start(self) -> None:
        """Record and accept the seeds, then record the settings; opens failed URLs again if the plan says so."""
        plan, record = self._plan, self._record
        known = set(record.settings.get("seeds", [])) if record.seeded else set()
        settings = {**plan.job.model_dump(mode="json"), "seeds": plan.seeds}
        requests = _requests_of(record.requests) if record.requests else Requests()
        by_request = {request.url for request in requests} - known
        # A seed that is given again is accepted again: it is fetched again even if it failed or is done.
        again = {seed for seed in plan.again if isinstance(seed, str)}
        accepted = [seed for seed in plan.seeds if seed not in known or seed in again]
        accepted = [seed for seed in accepted if seed not in by_request]
        self.stages.log.append_seeds(accepted)
        self.stages.frontier.add(accepted)
        self.stages.log.append_requests(requests)
        self.stages.frontier.add_requests(requests)
        # After the seed's record: `lycosa why` finds by it why the URL was opened again.
        self._reopen_seeds(plan.again if record.seeded else [])
        self.stages.log.sync()
        # Only now, so that they are accepted again after a crash. Counts this session, even if it is killed.
        self._record = dataclasses.replace(self._with_numbers(), settings=settings, seeded=True, requests="")
        self._write_record()
        if plan.retry_failed:
            self._reopen_failed(plan.retry_failed)

    def batches(self, signals: Signals | None = None) -> Generator[Outcomes, None, None]:
        """Run the loop, on a thread a lane where the frontier has shards; yield each batch once it is confirmed.

        signals: of pauses and slower hosts.
        """
        looks = self._look_for(signals)
        look = None if looks is None else looks.look
        if len(self._lanes) > 1:
            from lycosa.lanes import run_lanes  # only for shards

            batches = run_lanes(self._lanes, self._control, look)
        else:
            batches = run(self.stages, self._control, look)
        with contextlib.closing(batches):
            for batch in batches:
                yield self._settle(batch)
        if looks is not None:
            looks.look_now()  # the last outcomes may have ended a pause

    def _settle(self, outcomes: Outcomes) -> Outcomes:
        """Show outcomes that are recorded to middleware; returns them."""
        for each in self._middleware:
            try:
                each.settled(outcomes)
            except Exception:
                logger.exception("middleware %s.settled raised an exception; the crawl goes on", type(each).__name__)
        return outcomes

    def _look_for(self, signals: Signals | None) -> Looks | None:
        """Return what looks for pauses and slower hosts, if somebody listens."""
        if signals is None:
            return None
        from lycosa.signals import HostSlowed, JobPaused, JobResumed, Looks

        if not signals.wanted(HostSlowed, JobPaused, JobResumed):
            return None
        slowed = self.stages.frontier.slowed if signals.wanted(HostSlowed) else tuple
        looks = Looks(signals, self.pauses, slowed)
        self._patience.meanwhile = looks.look_while_blocked  # a full disk blocks the loop
        return looks

    def pauses(self) -> dict[str, float | None]:
        """Return why the job pauses now, and since when, in seconds since the epoch; `None`: that is not known."""
        found: dict[str, float | None] = {}
        for each in self.stages.frontier.suspensions():
            found[str(each["cause"])] = float(each["since"])
        if self._keeper is not None and self._keeper.dry_since is not None:
            found["proxies"] = self._keeper.dry_since
        if str(self._directory.path) in self._patience.full():
            found["disk"] = None
        if self._observer.held:
            found["outputs"] = None
        return found

    def check(self) -> None:
        """Raise the error of a failed sink; write a snapshot when it is due; remove unneeded log files.

        Called between batches. In one piece, frontier and log agree then; shards are brought to that for a snapshot.
        """
        if len(self._lanes) > 1:
            # Each look takes the locks of all shards.
            if time.monotonic() < self._check_at:
                return
            self._check_at = time.monotonic() + CHECK
        self._outputs.check()
        self.stages.log.doubt(self.stages.frontier.doubted_since())
        self._snapshots.save_if_due()
        if time.monotonic() >= self._retain_at:
            # Counts first, so that they cover everything that is removed from the log.
            self._keep_numbers()
            self._retain()
            self._retain_at = time.monotonic() + RETAIN

    def finish(self, error: BaseException | None = None) -> list[LycosaError]:
        """End everything; returns the errors that keep the outputs from being complete.

        error: the exception that ended the run, if any.
        """
        problems: list[LycosaError] = []
        self._observer.leave_lanes()
        if self._keeper is not None:
            self._keeper.stop()
        try:
            self.stages.fetch.cancel()
        except LycosaError as problem:
            problems.append(problem)
        try:
            # Delayed responses have no outcome: their URLs wait. Outcomes recorded before may be a portal's, too.
            self.stages.log.append(self._settle(self.stages.frontier.doubt_held()))
            self.stages.log.sync()
        except LycosaError as problem:
            problems.append(problem)
        try:
            self._snapshots.wait(lambda: self._control.aborting)
        except LycosaError as problem:
            problems.append(problem)
        self.stages.log.keep_distance(0)
        problems += self._outputs.close()
        self._observer.stop()
        frontier, counts = self.stages.frontier, self.stages.frontier.counts()
        summary = self.stages.log.summary()
        self._end = end_of(
            counts,
            summary["failures"],
            answers=summary["pages"] + summary["redirects"],
            max_pages=self._plan.job.max_pages,
            stopped=self._control.stopping,
            suspended=[str(told["cause"]) for told in self.stages.frontier.suspensions() if told["over"]],
            error=error or next(iter(problems), None),
            directory=None if self._plan.directory is None else self._directory.path,
        )
        check_sums(counts, summary)
        end = self._end
        last = LastRun(now(), frontier.idle(), counts["waiting"], end.reason, end.text, end.status_text)
        try:
            self._retain()
            if self._plan.directory is not None:
                record = dataclasses.replace(self._with_numbers(), last_run=last, streams=False)
                self._directory.write(dataclasses.replace(record, confirmed=self._log.end()))
                write_reports(self.report(), self._directory.path)
        except (LycosaError, OSError) as error:
            # Not worth failing for. As text: who keeps the line would keep the log open by the error's frames.
            logger.warning("%s: %s", self._directory.path, str(error))
        self._control.holds = None
        self._observer.close()
        if self._traces is not None:
            self._traces.close()
        return problems

    def report(self) -> dict[str, Any]:
        """Return the counts of all stages over the crawl's whole life; those of this session under ``session``."""
        frontier, summary, totals = self.stages.frontier.counts(), self.stages.log.summary(), self._totals()
        return {
            **summary,
            "sessions": totals.sessions,
            "seconds": totals.seconds,
            "cpu_seconds": totals.cpu_seconds,
            "names": totals.names,
            "session": {
                **{name: summary[name] - self._recorded[name] for name in COUNTED},
                "seconds": time.monotonic() - self._started,
                "cpu_seconds": time.process_time() - self._cpu,
                "cpu_by_stage": cpu_by_stage(
                    [lane.turns for lane in self._lanes],
                    [one.turns for one in self._outputs.followers],
                    self._cpu,
                ),
                "names": self._names.statistics(),
            },
            "balance": balance(frontier, summary),
            "end": None if self._end is None else self._end._asdict(),
            "in_flight": self.stages.fetch.in_flight(),
            "frontier": frontier,
            "suspensions": self.stages.frontier.suspensions(),
            "failing": [FailingHost(*host)._asdict() for host in self.stages.frontier.failing(FAILING)],
            "log": str(self._directory.log),
            "log_bytes": self.stages.log.end(),
            "outputs": [sink.url for sink in self._plan.outputs],
            "output_positions": {one.url: one.position() for one in self._outputs.followers},
            "outputs_away": self._outputs.away(),
            "held": self._observer.held,
            "stuck": [one._asdict() for one in self._observer.stuck()],
            "price": self._plan.job.observe.price,
            "full_disks": self._patience.full(),
            "proxies": None if self._keeper is None else self._keeper.report(),
        }

    def _doubt_last(self, record: Record) -> None:
        """Take back doubtful outcomes of the session before, before outputs continue: they leave them out.

        If that session died: pages that no output has. If it ended by itself: only robots.txt rules; its other
        records are confirmed. An imported log has had no session.
        """
        if record.last_run is None and record.totals.sessions > 0:
            given = self._log.end() if record.streams else self._record.confirmed
            self._record = dataclasses.replace(self._record, confirmed=given)
            doubted = self.stages.frontier.doubt_last(max([given, *self._outputs.positions()]))
            self.stages.log.append(self._settle(doubted))
            return
        self.stages.frontier.confirm_last()
        if record.last_run is None or not record.last_run.idle:
            self.stages.log.append(self._settle(self.stages.frontier.doubt_last()))

    def _tell(self, goes_on: bool) -> None:
        """Log what is resumed, and how it differs."""
        path = self._directory.path
        if torn := self._log.torn():
            position, size, has_records = torn
            if has_records:
                text = "%s: the log is damaged at position %d, or the power failed: %d bytes, with whole records, "
                text += "set aside as torn-%020d; their URLs are fetched again"
                logger.warning(text, path, position, size, position)
            else:
                text = "%s: the log's end was torn by a crash: %d bytes set aside as torn-%020d"
                logger.info(text, path, size, position)
        begun, here = self._record.public_suffix_list, _core.public_suffix_list()
        if begun != here:
            text = "%s: started with the Public Suffix List of %s, resumed with that of %s: hosts may change domains"
            logger.info(text, path, begun["date"], here["date"])
        if why := self._names.fallen_back:
            logger.warning("names.cache_file: %s; names are cached in memory", why)
        logger.info("%s", told(self._plan.job))
        for line in self._plan.differences:
            logger.info("%s", line)
        if goes_on:
            pages, waiting = self.stages.log.summary()["pages"], self.stages.frontier.counts()["waiting"]
            text = "resuming the crawl in %s: %s, %s waiting; --fresh starts over"
            logger.info(text, path, counted(pages, "page"), f"{waiting:,}")

    def _reopen_seeds(self, seeds: list[str | Request]) -> None:
        """Open seeds again that were given again; waiting and new ones are fetched anyway."""
        opened = 0
        for begin in range(0, len(seeds), SEEDS_AT_ONCE):
            some = [
                seed if isinstance(seed, Request) else Request(seed) for seed in seeds[begin : begin + SEEDS_AT_ONCE]
            ]
            settled = self.stages.frontier.settled_of(Requests(some))
            opened += self._reopen(self.stages.log.ended(settled)) if len(settled) else 0
        if opened:
            logger.info("opened again: %s", counted(opened, "seed"))

    def _reopen_failed(self, kinds: list[str]) -> None:
        """Open failed URLs again."""
        from lycosa.resume import reopened

        before = self.stages.log.summary()["failures"]
        found, opened = self.stages.log.failed(kinds), 0
        while len(outcomes := found.read(REOPENED)):
            opened += self._reopen(outcomes)
        self.stages.log.sync()
        after = self.stages.log.summary()["failures"]
        unknown = sum(after.get(kind, 0) for kind in kinds)
        logger.info("opened again: %s", reopened(opened, before, after, unknown))
        if unknown:
            which = "which they are is not known, since the log's beginning is gone"
            logger.warning("not opened again: %s that had failed; %s", counted(unknown, "URL"), which)

    def _reopen(self, outcomes: Outcomes) -> int:
        """Enqueue settled URLs again, and record that; returns how many."""
        opened = self.stages.frontier.reopen(outcomes)
        self.stages.log.append(opened)
        return len(opened)

    def _totals(self) -> Totals:
        """Return the totals of all sessions until now."""
        before, names = self._before, self._names.statistics()
        return Totals(
            before.sessions + 1,
            before.seconds + time.monotonic() - self._started,
            before.cpu_seconds + time.process_time() - self._cpu,
            {name: before.names.get(name, 0) + count for name, count in names.items()},
        )

    def _keep_gaps(self) -> None:
        """Store which outputs lack records, before their threads continue and this can no longer be found out."""
        known = self._record.gaps
        gaps = {**known, **{name: with_gap(known.get(name, []), gap) for name, gap in self._outputs.gaps()}}
        self._record = dataclasses.replace(self._record, gaps=gaps)

    def _write_record(self) -> None:
        """Write the job's record; waits while the disk is full."""
        self._patience.insist(self._directory.path, lambda: self._directory.write(self._record))

    def _with_numbers(self) -> Record:
        """Return the record with the crawl's totals and counts until now."""
        counts = Counts.make(self.stages.log.summary(), self._log.end())
        return dataclasses.replace(self._record, totals=self._totals(), counts=counts)

    def _keep_numbers(self) -> None:
        """Write totals and counts, so that little is lost with the process."""
        if self._plan.directory is not None:
            # The log reports a full disk and waits for space.
            with contextlib.suppress(OSError):
                self._directory.write(self._with_numbers())

    def _retain(self) -> None:
        """Remove the files of the log that all outputs and two snapshots have passed."""
        if self._plan.job.store.retain == "needed":
            passed = self._directory.passed(self._outputs.positions())
            if passed > 0:
                self.stages.log.retain(passed)


def _text_of(requests: list[Request]) -> str:
    """Encode requests as text."""
    return base64.b64encode(Requests(requests).encode()).decode()


def _merged(pending: str, given: list[Request]) -> list[Request]:
    """Return the requests that a session died before accepting and those that are given now, without duplicates."""
    known = list(_requests_of(pending)) if pending else []
    return list({(one.method, one.url, one.body): one for one in [*known, *given]}.values())


def _requests_of(text: str) -> Requests:
    """Decode requests from text."""
    return Requests.decode(base64.b64decode(text))
