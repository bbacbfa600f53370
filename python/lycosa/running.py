"""The parts of a crawl that runs, from the job directory's opening to its outputs' completion."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from lycosa import _core
from lycosa.assemble import assemble, make_sink, open_log
from lycosa.crawl import Control
from lycosa.end import End, end_of
from lycosa.errors import LycosaError
from lycosa.memory import shares, told
from lycosa.plan import Plan
from lycosa.resume import reopened
from lycosa.store.directory import JobDirectory, LastRun, Record, Totals, now
from lycosa.store.follow import Follower
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

    def __init__(self, plan: Plan, directory: JobDirectory, control: Control) -> None:
        """Open everything; raises StorageError where that is not possible.

        directory: the plan's, or a temporary one.
        """
        job = plan.job
        if plan.fresh:
            directory.clear()
        # Before the log has content: what has content and no record was made before there were records.
        goes_on = directory.has_records()
        made_before = plan.record is None and goes_on
        self._started, self._cpu = time.monotonic(), time.process_time()
        self._plan, self._directory, self._control = plan, directory, control
        self._log = open_log(job, directory)
        outputs = tuple(directory.named(output) for output in plan.outputs)
        record = plan.record or Record.make(job.model_dump(mode="json"), outputs)
        self._before = record.totals
        self._record = dataclasses.replace(record, outputs=outputs, last_run=None)
        self._patience = Patience(lambda: control.stopping)
        self._write_record()
        self._end: End | None = None
        assembled = assemble(job, directory, self._log, self._patience)
        self.stages, self._names = assembled.stages, assembled.names
        self._frontier, self._snapshots = assembled.frontier, assembled.snapshots
        #: What was recorded before this session.
        self._recorded: dict[str, Any] = self._log.summary()
        self._tell(goes_on)
        self._followers: list[Follower] = []
        turn = threading.Lock()
        for output in plan.outputs:
            sink = make_sink(output, job, directory, self._record.id)
            if plan.fresh or made_before:
                sink.remove()
            fields = list(job.store.fields)
            rows_bytes = shares(job).outputs // len(plan.outputs)
            follower = Follower(
                self._log,
                directory.log,
                Path(output),
                sink,
                fields,
                self._patience,
                rows_bytes,
                job.parse.max_decoded_bytes,
                turn,
            )
            self._followers.append(follower)
        self._keep_gaps(outputs)
        if goes_on and not (record.last_run and record.last_run.idle):
            # Before outputs go on: they leave out what is taken back. All of it where the run before this one died;
            # a log that was imported has had none.
            died = record.last_run is None and record.totals.sessions > 0
            written = max((follower.position() for follower in self._followers), default=0)
            self.stages.log.append(self._frontier.doubt_last(written if died else None))
        self._log.keep_distance(max(TAKEN_BACK / job.speed, SHORTEST_DISTANCE), self._frontier)
        # All outputs are open before the first of their threads starts.
        for follower in self._followers:
            follower.start()
        self._retain_at = time.monotonic() + RETAIN

    def start(self) -> None:
        """Record and accept the seeds, then what is new in the settings."""
        plan, record = self._plan, self._record
        known = set(record.settings.get("seeds", [])) if record.seeded else set()
        settings = {**plan.job.model_dump(mode="json"), "seeds": plan.seeds}
        # A seed that was given again is accepted again: what has failed or is done is fetched again.
        accepted = [seed for seed in plan.seeds if seed not in known or seed in plan.again]
        self.stages.log.append_seeds(accepted)
        self.stages.frontier.add(accepted)
        # After the record of the seed: `lycosa why` tells by it who wanted this.
        self._reopen_seeds(plan.again if record.seeded else [])
        self.stages.log.sync()
        # Only now: a crash before this accepts them again, which changes nothing.
        # With this session: one that is killed counts, too.
        self._record = dataclasses.replace(record, settings=settings, seeded=True, totals=self._totals())
        self._write_record()
        if plan.retry_failed:
            self._reopen_failed(plan.retry_failed)

    def check(self) -> None:
        """Raise what a sink died of; make a snapshot when one is due; let go of what nobody needs any more.

        Called between batches: what is in the log is confirmed, so that both agree in a snapshot.
        """
        for follower in self._followers:
            follower.check()
        self._snapshots.save_if_due(self._log, self._frontier)
        if time.monotonic() >= self._retain_at:
            self._retain()
            self._keep_totals()
            self._retain_at = time.monotonic() + RETAIN

    def finish(self, error: BaseException | None = None) -> list[LycosaError]:
        """Bring everything to its end; give what stands in the way of complete outputs.

        error: what ended the run from outside.
        """
        problems: list[LycosaError] = []
        self.stages.fetch.cancel()
        try:
            # What is held has no outcome: it waits. What was recorded before it may be a portal's, too.
            self.stages.log.append(self._frontier.doubt_held())
            self.stages.log.sync()
        except LycosaError as problem:
            problems.append(problem)
        self._log.keep_distance(0)
        for follower in self._followers:
            follower.close()
        for follower in self._followers:
            try:
                follower.check()
            except LycosaError as problem:
                problems.append(problem)
        frontier, counts = self.stages.frontier, self.stages.frontier.counts()
        summary = self.stages.log.summary()
        self._end = end_of(
            counts,
            summary["failures"],
            answers=summary["pages"] + summary["redirects"],
            max_pages=self._plan.job.max_pages,
            stopped=self._control.stopping,
            suspended=[str(told["cause"]) for told in self._frontier.suspensions() if told["over"]],
            error=error or next(iter(problems), None),
            directory=None if self._plan.directory is None else self._directory.path,
        )
        end = self._end
        last = LastRun(now(), frontier.idle(), counts["waiting"], end.reason, end.text, end.status_text)
        try:
            self._retain()
            if self._plan.directory is not None:
                self._directory.write(dataclasses.replace(self._record, last_run=last, totals=self._totals()))
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
            "suspensions": self._frontier.suspensions(),
            "failing": [FailingHost(*host)._asdict() for host in self._frontier.failing(FAILING)],
            "log": str(self._directory.log),
            "log_bytes": self.stages.log.end(),
            "outputs": self._plan.outputs,
            "full_disks": self._patience.full(),
        }

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
            text = (
                "%s: begun with the Public Suffix List of %s, going on with that of %s: hosts may change their domain"
            )
            logger.info(text, path, begun["date"], here["date"])
        if why := self._names.fallen_back:
            logger.warning("names.cache_file: %s; names are cached in memory", why)
        logger.info("%s", told(self._plan.job))
        for line in self._plan.differences:
            logger.info("%s", line)
        if goes_on:
            pages, waiting = self._log.summary()["pages"], self.stages.frontier.counts()["waiting"]
            text = "going on with the crawl in %s: %s, %s waiting; --fresh starts over"
            logger.info(text, path, counted(pages, "page"), f"{waiting:,}")

    def _reopen_seeds(self, seeds: list[str]) -> None:
        """Have seeds that were given again fetched again; those that wait or are new are fetched anyway."""
        opened = 0
        for begin in range(0, len(seeds), SEEDS_AT_ONCE):
            settled = self._frontier.settled_of(seeds[begin : begin + SEEDS_AT_ONCE])
            opened += self._reopen(self._log.ended(settled)) if settled else 0
        if opened:
            logger.info("opened again: %s", counted(opened, "seed"))

    def _reopen_failed(self, kinds: list[str]) -> None:
        """Have URLs that failed fetched again."""
        before = self._log.summary()["failures"]
        found, opened = self._log.failed(kinds), 0
        while len(pages := found.read(REOPENED)):
            opened += self._reopen(pages)
        self.stages.log.sync()
        after = self._log.summary()["failures"]
        unknown = sum(after.get(kind, 0) for kind in kinds)
        logger.info("opened again: %s", reopened(opened, before, after, unknown))
        if unknown:
            which = "which they are is not known, since the log's beginning is gone"
            logger.warning("not opened again: %s that had failed; %s", counted(unknown, "URL"), which)

    def _reopen(self, pages: _core.Pages) -> int:
        """Let settled URLs wait again, and record that; give how many."""
        self._frontier.reopen(pages)
        self.stages.log.append(pages)
        return len(pages)

    def _totals(self) -> Totals:
        """What all sessions have cost until now."""
        before, names = self._before, self._names.statistics()
        return Totals(
            before.sessions + 1,
            before.seconds + time.monotonic() - self._started,
            before.cpu_seconds + time.process_time() - self._cpu,
            {name: before.names.get(name, 0) + count for name, count in names.items()},
        )

    def _keep_gaps(self, outputs: tuple[str, ...]) -> None:
        """Record which outputs lack records, before their threads go on and it can no longer be told."""
        found = {name: each.gap for name, each in zip(outputs, self._followers, strict=True) if each.gap is not None}
        if found:
            known = self._record.gaps
            gaps = {**known, **{name: with_gap(known.get(name, []), gap) for name, gap in found.items()}}
            self._record = dataclasses.replace(self._record, gaps=gaps)
            self._write_record()

    def _write_record(self) -> None:
        """Keep the job's record; a full disk is waited for."""
        self._patience.insist(self._directory.path, lambda: self._directory.write(self._record))

    def _keep_totals(self) -> None:
        """Record what the session has cost until now, so that little of it is lost with the process."""
        if self._plan.directory is not None:
            # A full disk is told by the log, and waited for there.
            with contextlib.suppress(OSError):
                self._directory.write(dataclasses.replace(self._record, totals=self._totals()))

    def _retain(self) -> None:
        """Remove the files of the log that all outputs and two snapshots have passed."""
        if self._plan.job.store.retain == "needed":
            passed = self._directory.passed(follower.position() for follower in self._followers)
            if passed > 0:
                self._log.retain(passed)
