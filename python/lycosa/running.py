"""The parts of a crawl that runs, from the job directory's opening to its outputs' completion."""

from __future__ import annotations

import dataclasses
import logging
import time
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.assemble import assemble, make_sink, open_log
from lycosa.crawl import Control
from lycosa.errors import LycosaError
from lycosa.memory import shares, told
from lycosa.plan import Plan
from lycosa.store.directory import JobDirectory, LastRun, Record, now
from lycosa.store.follow import Follower
from lycosa.store.patient import Patience

logger = logging.getLogger("lycosa")

#: Seconds between two looks at which files of the log nobody needs any more.
RETAIN = 10.0


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
        self._plan, self._directory = plan, directory
        self._log = open_log(job, directory)
        outputs = tuple(directory.named(output) for output in plan.outputs)
        record = plan.record or Record.make(job.model_dump(mode="json"), outputs)
        self._record = dataclasses.replace(record, outputs=outputs, last_run=None)
        directory.write(self._record)
        self._patience = Patience(lambda: control.stopping)
        assembled = assemble(job, directory, self._log, self._patience)
        self.stages, self._names = assembled.stages, assembled.names
        self._frontier, self._snapshots = assembled.frontier, assembled.snapshots
        self._tell(goes_on)
        self._followers: list[Follower] = []
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
            )
            self._followers.append(follower)
        # All outputs are open before the first of their threads starts.
        for follower in self._followers:
            follower.start()
        self._retain_at = time.monotonic() + RETAIN

    def start(self) -> None:
        """Record and accept the seeds, then what is new in the settings."""
        plan, record = self._plan, self._record
        known = set(record.settings.get("seeds", [])) if record.seeded else set()
        settings = {**plan.job.model_dump(mode="json"), "seeds": plan.seeds}
        self.stages.log.append_seeds([seed for seed in plan.seeds if seed not in known])
        self.stages.frontier.add(plan.seeds)
        self.stages.log.sync()
        # Only now: a crash before this accepts them again, which changes nothing.
        self._record = dataclasses.replace(record, settings=settings, seeded=True)
        self._directory.write(self._record)

    def check(self) -> None:
        """Raise what a sink died of; make a snapshot when one is due; let go of what nobody needs any more.

        Called between batches: what is in the log is confirmed, so that both agree in a snapshot.
        """
        for follower in self._followers:
            follower.check()
        self._snapshots.save_if_due(self._log, self._frontier)
        if time.monotonic() >= self._retain_at:
            self._retain()
            self._retain_at = time.monotonic() + RETAIN

    def finish(self) -> list[LycosaError]:
        """Bring everything to its end; give what stands in the way of complete outputs."""
        problems: list[LycosaError] = []
        self.stages.fetch.cancel()
        try:
            self.stages.log.sync()
        except LycosaError as error:
            problems.append(error)
        for follower in self._followers:
            follower.close()
        for follower in self._followers:
            try:
                follower.check()
            except LycosaError as error:
                problems.append(error)
        frontier = self.stages.frontier
        last = LastRun(now(), frontier.idle(), frontier.counts()["waiting"])
        try:
            self._retain()
            if self._plan.directory is not None:
                self._directory.write(dataclasses.replace(self._record, last_run=last))
        except (LycosaError, OSError) as error:
            # How a run ended is worth knowing and not worth failing for.
            logger.warning("%s: %s", self._directory.path, error)
        return problems

    def report(self) -> dict[str, Any]:
        """Numbers of all stages."""
        return {
            **self.stages.log.summary(),
            "seconds": time.monotonic() - self._started,
            "cpu_seconds": time.process_time() - self._cpu,
            "in_flight": self.stages.fetch.in_flight(),
            "frontier": self.stages.frontier.counts(),
            "names": self._names.statistics(),
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
            text = "going on with the crawl in %s: %s pages, %s waiting; --fresh starts over"
            logger.info(text, path, f"{pages:,}", f"{waiting:,}")

    def _retain(self) -> None:
        """Remove the files of the log that all outputs and two snapshots have passed."""
        if self._plan.job.store.retain == "needed":
            passed = self._directory.passed(follower.position() for follower in self._followers)
            if passed > 0:
                self._log.retain(passed)
