"""The frontier of one partition: that of a crawl on one machine, whose log is the partition's journal."""

from __future__ import annotations

import logging
import queue
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from lycosa import _core
from lycosa.cluster.storage import SharedSnapshots
from lycosa.errors import StorageError
from lycosa.job import Job
from lycosa.records import Outcomes, Requests

logger = logging.getLogger("lycosa")


class Copier:
    """Copies snapshots to shared storage, on a thread of its own."""

    def __init__(self, storage: SharedSnapshots) -> None:
        """Start the thread."""
        self.storage = storage
        self._work: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="lycosa-copier", daemon=True)
        self._thread.start()

    def copy(self, work: Callable[[], None]) -> None:
        """Do something on the thread."""
        self._work.put(work)

    def close(self) -> None:
        """Finish what was begun."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Copy until the end."""
        while (work := self._work.get()) is not None:
            try:
                work()
            except OSError as error:
                logger.warning("a snapshot was not copied to the shared directory: %s", error)


class FrontierPart:
    """See ``lycosa.cluster.part.Part``."""

    def __init__(
        self,
        partition: int,
        job: Job,
        partitions: _core.Partitions,
        by: str,
        names: _core.Names,
        clock: _core.Clock,
        shared: _core.Shared | None,
        directory: Path,
        copier: Copier,
    ) -> None:
        """directory: of this machine, empty, for what does not fit into memory."""
        self._partition, self._job, self._clock, self._copier = partition, job, clock, copier
        self._directory, self._began = directory, clock.now()

        def make(end: int) -> _core.Frontier:
            owned = (partitions.ring, by, partitions.name(partition))
            return _core.Frontier(job, names, directory, end=end, ownership=owned, shared=shared)

        self._make = make
        self._frontier: _core.Frontier
        self._saving: int | None = None  # the position of a snapshot that is being written

    def load(self, end: int) -> int:
        """Load the newest snapshot that can be read."""
        for position in reversed(self._copier.storage.positions(self._partition)):
            if position > end:
                continue
            try:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._copier.storage.fetch(self._partition, position, self._directory)
                self._frontier = self._make(end)
                self._frontier.load(position)
            except (StorageError, OSError) as error:
                logger.warning("partition %d: a snapshot cannot be read: %s", self._partition, error)
                continue
            return position
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        self._frontier = self._make(end)
        self._frontier.clear()
        return 0

    def restore(self, data: bytes, position: int) -> None:
        """Replay a message of the journal."""
        self._frontier.restore(_core.Entries.of_journal(data, position))
        self._drop_outbox()

    def restored(self, is_given_back: bool) -> bytes | None:
        """Let the clocks of hosts begin anew."""
        self._frontier.restored()
        self._drop_outbox()
        if is_given_back:
            self._frontier.confirm_last()
            return None
        return _message(self._frontier.doubt_last(0))

    def doubt(self) -> bytes | None:
        """Take back what a captive portal may have answered."""
        return _message(self._frontier.doubt_held())

    def accept(self, links: bytes) -> bytes:
        """Accept links."""
        requests = Requests.decode(links)
        self._frontier.add_requests(requests)
        return _core.accepted_message(requests, self._clock)

    def take(self, max: int) -> Requests:
        """Take requests."""
        return self._frontier.take(max)

    def leased(self, requests: Requests) -> bytes:
        """Return the message of leases."""
        return _core.leased_message(requests, self._clock, self._began)

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Judge outcomes."""
        return self._frontier.judge(outcomes)

    def settled(self, outcomes: Outcomes) -> bytes:
        """Return the message of outcomes."""
        return _core.outcomes_message(outcomes)

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes."""
        self._frontier.done(outcomes)

    def outbox(self) -> dict[int, bytes]:
        """Take the links for other partitions."""
        links = {int(name): requests.encode() for name, requests in self._frontier.take_outbox().items()}
        self._frontier.outbox_delivered()
        return links

    def save(self, position: int) -> None:
        """Begin a snapshot."""
        try:
            self._frontier.save(position, b"")
            self._saving = position
        except StorageError as error:
            logger.warning("partition %d: no snapshot was written: %s", self._partition, error)

    def saved(self) -> bool:
        """Have the snapshot copied to the shared directory, once it is written."""
        if self._saving is not None and (size := self._frontier.saved()) is not None:
            position, self._saving = self._saving, None
            if size > 0:
                storage, partition, directory = self._copier.storage, self._partition, self._directory
                self._copier.copy(lambda: storage.store(partition, position, directory))
        return self._saving is None

    def wait(self) -> float:
        """Return the seconds until there may be something to take."""
        return self._frontier.wait()

    def is_idle(self) -> bool:
        """Return whether nothing waits."""
        return self._frontier.idle()

    def share(self, part: float) -> None:
        """Use this part of limits that workers share."""
        politeness = self._job.politeness
        of_host = politeness.host_interval / (part if self._job.frontier.shard_by == "url" else 1)
        self._frontier.set_intervals(of_host, politeness.address_interval / part)

    def counts(self) -> dict[str, int]:
        """Return counts for reports."""
        return self._frontier.counts()

    def close(self) -> None:
        """Remove its files from this machine."""
        self.saved()
        directory = self._directory
        del self._frontier
        self._copier.copy(lambda: shutil.rmtree(directory, ignore_errors=True))

    def _drop_outbox(self) -> None:
        """Forget links for others: they were committed with the records that they are of."""
        self._frontier.take_outbox()
        self._frontier.outbox_delivered()


def _message(outcomes: Outcomes) -> bytes | None:
    """The message of outcomes, if there are some."""
    return _core.outcomes_message(outcomes) if len(outcomes) > 0 else None
