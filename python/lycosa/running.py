"""The parts of a crawl that runs, from the job directory's opening to its outputs' completion."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import logging
import time
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.assemble import assemble, open_log, recorded_name
from lycosa.end import End, end_of
from lycosa.errors import LycosaError
from lycosa.loop import Control
from lycosa.memory import told
from lycosa.outputs import Outputs
from lycosa.plan import Plan
from lycosa.records import Outcomes, Request, Requests
from lycosa.resume import reopened
from lycosa.stages import Change
from lycosa.store.directory import Counts, JobDirectory, LastRun, Record, Totals, now
from lycosa.store.patient import Patience
from lycosa.store.restart import with_gap
from lycosa.words import counted

logger = logging.getLogger("lycosa")

#: Seconds between two looks at which files of the log nobody needs any more, and two notes of what the session cost.
RETAIN = 10.0

#: What the log counts and a report has for the session, too.
COUNTED = ("pages", "redirects", "retries", "robots", "bytes", "links")

#: URLs that are opened again at once, at most.
REOPENED = 1_000

#: Seeds that are given again, looked up at once: each time the log may have to be read.
SEEDS_AT_ONCE = 100_000

#: Hosts that fail and are tried again that a report names, at most.
FAILING = 10


class FailingHost(NamedTuple):
    """A host that fails, and that URLs wait for."""

    host: str
    kind: str
    waiting: int
    until: float  # seconds since 1970 that it is tried at least


#: Seconds of job time, and of the machine at least, in which an outcome may be taken back, since a captive portal
#: answered: so far outputs stay behind the log.
TAKEN_BACK, SHORTEST_DISTANCE = 15.0, 1.5


class Running:
    """A crawl's stages, outputs and record."""

    def __init__(self, plan: Plan, directory: JobDirectory, control: Control, change: Change | None = None) -> None:
        """Open everything; raises StorageError where that is not possible, and leaves the job as it was then.

        directory: the plan's, or a temporary one. change: puts other stages in the place of embedded ones.
        """
        job = plan.job
        # Before anything is removed or recorded.
        for sink in plan.outputs:
            sink.check_creatable()
        if plan.fresh:
            directory.clear()
        # Before the log has content: what has content and no record was made before there were records.
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
        self._patience = Patience(lambda: control.stopping)
        self._end: End | None = None
        self._outputs = Outputs(plan, directory, record.id)
        try:
            if is_new:
                # Before the outputs, which belong to its id: they are known as this crawl's after a crash.
                self._write_record()
            assembled = assemble(job, directory, self._log, self._patience, change)
            self.stages, self._names, self._snapshots = assembled.stages, assembled.names, assembled.snapshots
            self._recorded: dict[str, Any] = self.stages.log.summary()  # before this session
            self._tell(goes_on)
            self._outputs.open(self.stages.log, self._patience, anew=plan.fresh or (is_new and goes_on))
            self._keep_gaps()
            if goes_on:
                self._doubt_last(record)
            self.stages.log.keep_distance(max(TAKEN_BACK / job.speed, SHORTEST_DISTANCE))
            if not is_new:
                # Only now: a session that could not begin has changed nothing, and is no crash.
                self._write_record()
        except BaseException:
            self._outputs.abandon()
            if is_new:
                with contextlib.suppress(OSError):
                    directory.record_file.unlink(missing_ok=True)
            raise
        # All outputs are open before the first of their threads starts.
        self._outputs.start()
        self._retain_at = time.monotonic() + RETAIN

    def start(self) -> None:
        """Record and accept the seeds, then what is new in the settings."""
        plan, record = self._plan, self._record
        known = set(record.settings.get("seeds", [])) if record.seeded else set()
        settings = {**plan.job.model_dump(mode="json"), "seeds": plan.seeds}
        requests = _requests_of(record.requests) if record.requests else Requests()
        by_request = {request.url for request in requests} - known
        # A seed that was given again is accepted again: what has failed or is done is fetched again.
        accepted = [seed for seed in plan.seeds if seed not in known or seed in plan.again]
        accepted = [seed for seed in accepted if seed not in by_request]
        self.stages.log.append_seeds(accepted)
        self.stages.frontier.add(accepted)
        self.stages.log.append_requests(requests)
        self.stages.frontier.add_requests(requests)
        # After the record of the seed: `lycosa why` tells by it who wanted this.
        self._reopen_seeds(plan.again if record.seeded else [])
        self.stages.log.sync()
        # Only now: a crash before this accepts them again. With this session: one that is killed counts, too.
        self._record = dataclasses.replace(self._with_numbers(), settings=settings, seeded=True, requests="")
        self._write_record()
        if plan.retry_failed:
            self._reopen_failed(plan.retry_failed)

    def check(self) -> None:
        """Raise what a sink died of; make a snapshot when one is due; let go of what nobody needs any more.

        Called between batches: what is in the log is confirmed, so that both agree in a snapshot.
        """
        self._outputs.check()
        self.stages.log.doubt(self.stages.frontier.doubted_since())
        self._snapshots.save_if_due()
        if time.monotonic() >= self._retain_at:
            # First the numbers: they are known for all that is removed from the log.
            self._keep_numbers()
            self._retain()
            self._retain_at = time.monotonic() + RETAIN

    def finish(self, error: BaseException | None = None) -> list[LycosaError]:
        """Bring everything to its end; give what stands in the way of complete outputs.

        error: what ended the run from outside.
        """
        problems: list[LycosaError] = []
        try:
            self.stages.fetch.cancel()
        except LycosaError as problem:
            problems.append(problem)
        try:
            # What is held has no outcome: it waits. What was recorded before it may be a portal's, too.
            self.stages.log.append(self.stages.frontier.doubt_held())
            self.stages.log.sync()
        except LycosaError as problem:
            problems.append(problem)
        self.stages.log.keep_distance(0)
        problems += self._outputs.close()
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
        end = self._end
        last = LastRun(now(), frontier.idle(), counts["waiting"], end.reason, end.text, end.status_text)
        try:
            self._retain()
            if self._plan.directory is not None:
                record = dataclasses.replace(self._with_numbers(), last_run=last, streams=False)
                self._directory.write(dataclasses.replace(record, confirmed=self._log.end()))
        except (LycosaError, OSError) as error:
            # How a run ended is worth knowing and not worth failing for.
            logger.warning("%s: %s", self._directory.path, error)
        return problems

    def report(self) -> dict[str, Any]:
        """Numbers of all stages, over the crawl's whole life; those of this session alone under ``session``."""
        summary, totals = self.stages.log.summary(), self._totals()
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
                "names": self._names.statistics(),
            },
            "end": None if self._end is None else dataclasses.asdict(self._end),
            "in_flight": self.stages.fetch.in_flight(),
            "frontier": self.stages.frontier.counts(),
            "suspensions": self.stages.frontier.suspensions(),
            "failing": [FailingHost(*host)._asdict() for host in self.stages.frontier.failing(FAILING)],
            "log": str(self._directory.log),
            "log_bytes": self.stages.log.end(),
            "outputs": [sink.url for sink in self._plan.outputs],
            "full_disks": self._patience.full(),
        }

    def _doubt_last(self, record: Record) -> None:
        """Ask again for what the session before this one left in doubt, before outputs go on: they leave it out.

        Pages, where it died: those that no output has. Where it ended by itself only rules of robots.txt files, and
        what it recorded is confirmed. A log that was imported has had no session.
        """
        if record.last_run is None and record.totals.sessions > 0:
            given = self._log.end() if record.streams else self._record.confirmed
            self._record = dataclasses.replace(self._record, confirmed=given)
            self.stages.log.append(self.stages.frontier.doubt_last(max([given, *self._outputs.positions()])))
            return
        self.stages.frontier.confirm_last()
        if record.last_run is None or not record.last_run.idle:
            self.stages.log.append(self.stages.frontier.doubt_last())

    def _tell(self, goes_on: bool) -> None:
        """Say what is gone on with."""
        path = self._directory.path
        if torn := self._log.torn():
            position, size = torn
            logger.info(
                "%s: the log's end was torn by a crash: %d bytes set aside as torn-%020d", path, size, position
            )
        begun, here = self._record.public_suffix_list, _core.public_suffix_list()
        if begun != here:
            text = "%s: begun with the Public Suffix List of %s, going on with that of %s: hosts may change domains"
            logger.info(text, path, begun["date"], here["date"])
        if why := self._names.fallen_back:
            logger.warning("names.cache_file: %s; names are cached in memory", why)
        logger.info("%s", told(self._plan.job))
        for line in self._plan.differences:
            logger.info("%s", line)
        if goes_on:
            pages, waiting = self.stages.log.summary()["pages"], self.stages.frontier.counts()["waiting"]
            text = "going on with the crawl in %s: %s, %s waiting; --fresh starts over"
            logger.info(text, path, counted(pages, "page"), f"{waiting:,}")

    def _reopen_seeds(self, seeds: list[str | Request]) -> None:
        """Have seeds that were given again fetched again; those that wait or are new are fetched anyway."""
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
        """Have URLs that failed fetched again."""
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
        """Let settled URLs wait again, and record that; give how many."""
        opened = self.stages.frontier.reopen(outcomes)
        self.stages.log.append(opened)
        return len(opened)

    def _totals(self) -> Totals:
        """What all sessions have cost until now."""
        before, names = self._before, self._names.statistics()
        return Totals(
            before.sessions + 1,
            before.seconds + time.monotonic() - self._started,
            before.cpu_seconds + time.process_time() - self._cpu,
            {name: before.names.get(name, 0) + count for name, count in names.items()},
        )

    def _keep_gaps(self) -> None:
        """Note which outputs lack records, before their threads go on and it can no longer be told."""
        known = self._record.gaps
        gaps = {**known, **{name: with_gap(known.get(name, []), gap) for name, gap in self._outputs.gaps()}}
        self._record = dataclasses.replace(self._record, gaps=gaps)

    def _write_record(self) -> None:
        """Keep the job's record; a full disk is waited for."""
        self._patience.insist(self._directory.path, lambda: self._directory.write(self._record))

    def _with_numbers(self) -> Record:
        """The record, with what the crawl has cost and what it has recorded until now."""
        counts = Counts.make(self.stages.log.summary(), self._log.end())
        return dataclasses.replace(self._record, totals=self._totals(), counts=counts)

    def _keep_numbers(self) -> None:
        """Record them, so that little is lost with the process."""
        if self._plan.directory is not None:
            # A full disk is told by the log, and waited for there.
            with contextlib.suppress(OSError):
                self._directory.write(self._with_numbers())

    def _retain(self) -> None:
        """Remove the files of the log that all outputs and two snapshots have passed."""
        if self._plan.job.store.retain == "needed":
            passed = self._directory.passed(self._outputs.positions())
            if passed > 0:
                self.stages.log.retain(passed)


def _text_of(requests: list[Request]) -> str:
    """Requests as text."""
    return base64.b64encode(Requests(requests).encode()).decode()


def _merged(pending: str, given: list[Request]) -> list[Request]:
    """Requests that a session died before accepting, and those that were given now, each once."""
    known = list(_requests_of(pending)) if pending else []
    return list({(one.method, one.url, one.body): one for one in [*known, *given]}.values())


def _requests_of(text: str) -> Requests:
    """Requests of their text."""
    return Requests.decode(base64.b64decode(text))
