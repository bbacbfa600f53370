"""Looks at a running crawl from outside: what is stuck, whether outputs hold it up, and what it tells over HTTP."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.observe.balance import balance
from lycosa.observe.offers import Offers
from lycosa.observe.stuck import Stuck, find_stuck, is_turning
from lycosa.observe.watchdog import Watchdog
from lycosa.store.replace import replace_file

if TYPE_CHECKING:
    from lycosa.job import Job
    from lycosa.outputs import Outputs
    from lycosa.stages import Frontier, Stages
    from lycosa.status_server import StatusServer

logger = logging.getLogger("lycosa")


class Observer:
    """Looks at a crawl from ``start`` to ``close``."""

    def __init__(
        self,
        job: Job,
        lanes: Sequence[Stages],
        outputs: Outputs,
        frontier: Frontier,
        log_end: Callable[[], int],
        full_disks: Callable[[], list[str]],
        report: Callable[[], dict[str, Any]],
    ) -> None:
        """Look at nothing yet. log_end, full_disks and report: return what their names say."""
        self._job, self._lanes, self._outputs, self._frontier = job, lanes, outputs, frontier
        self._log_end, self._full_disks, self._report = log_end, full_disks, report
        self._offers = Offers()
        self._watchdog = Watchdog(self._look)
        self._served: StatusServer | None = None
        #: Whether nothing is fetched because outputs are too far behind.
        self.held = False

    def serve(self) -> None:
        """Begin to serve. Raises SettingError or LycosaError if the address cannot be had."""
        if self._job.observe.http is not None:
            from lycosa.observe.told import serve  # only where it is wanted

            try:
                self._served = serve(self._job.observe.http, self._report, self.stuck)
            except BaseException:
                self.close()
                raise
            logger.info("metrics, health and report on http://%s", self._served.address)

    def start(self) -> None:
        """Begin to look."""
        self._watchdog.start()

    def leave_lanes(self) -> None:
        """Look at outputs alone: nothing is fetched any more."""
        self._lanes = ()

    def stop(self) -> None:
        """Look no more; what was told last is served until ``close``."""
        self._watchdog.stop()

    def close(self) -> None:
        """Serve no more, and look at nothing any more: what is looked at keeps the log open."""
        if self._served is not None:
            self._served.close()
        del self._report, self._full_disks, self._log_end, self._outputs, self._frontier, self._lanes

    def stuck(self) -> list[Stuck]:
        """Return what did not move at the last look."""
        return self._watchdog.stuck

    def is_held(self) -> bool:
        """Whether an output is so far behind that nothing more is to be fetched."""
        most = self._job.store.behind_bytes
        is_held = self._outputs.behind(self._log_end()) > most
        if is_held != self.held:
            self.held = is_held
            if is_held:
                text = (
                    "nothing more is fetched until outputs are less than store.behind_bytes = %d behind the log: %s"
                )
                logger.warning(text, most, self._slowest_output())
            else:
                logger.info("outputs have caught up; the crawl goes on")
        return is_held

    def _slowest_output(self) -> str:
        """The output that is behind most, and why."""
        slowest = min(self._outputs.followers, key=lambda one: one.position())
        return slowest.away or f"output {slowest.url} is slow"

    def _look(self) -> list[Stuck]:
        """What does not move now."""
        job = self._job
        lanes = [lane.turns for lane in self._lanes]
        # A request may be given several proxies.
        longest = job.fetch.total_timeout * (job.proxies.tries if job.proxies.has_source else 1)
        after = job.observe.stuck_after
        found = find_stuck(lanes, self._outputs.followers, self._frontier, after=after, longest=longest)
        if lanes:
            # Lanes that wait for the caller, or in a stage, take nothing.
            is_waited = self.held or bool(self._full_disks()) or not any(map(is_turning, lanes))
            found += self._offers.find_stuck(self._frontier, is_waited=is_waited, longest=longest + after)
        return found


def check_sums(counts: dict[str, int], summary: dict[str, Any]) -> None:
    """Tell it if the counts of frontier and log do not add up."""
    if (sums := balance(counts, summary))["difference"]:
        logger.error("the counts of this crawl do not add up, a defect of Lycosa: %s", sums)


def write_reports(report: dict[str, Any], folder: Path) -> None:
    """Write a report into a job's directory, for programs and for people. Raises OSError."""
    from lycosa.observe.page import page  # only at the end

    replace_file(folder / "report.json", (json.dumps(report, indent=2) + "\n").encode())
    replace_file(folder / "report.html", page(report, folder.name).encode())
