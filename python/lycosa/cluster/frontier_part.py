"""The frontier of one partition: that of a crawl on one machine, whose log is the partition's journal."""

from __future__ import annotations

import contextlib
import logging
import queue
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lycosa import _core
from lycosa.cluster.broker import LARGEST, StateLost, Unavailable
from lycosa.cluster.storage import SharedSnapshots
from lycosa.errors import StorageError, StorageFull
from lycosa.job import Job
from lycosa.records import Outcomes, Requests

logger = logging.getLogger("lycosa")

Batch = TypeVar("Batch", Requests, Outcomes)

#: The beginning of messages about addresses that are lent, and of records of them: others begin otherwise.
LENT = b"\x00lent"

#: Bytes of a message, at most: half of what topics accept, since links that are accepted are a larger one.
PIECE = LARGEST // 2


#: The part of a worker's memory that one partition may use: few of them are as large as that.
PARTITION = 16


class Copier:
    """Copies snapshots to shared storage, on a thread of its own."""

    def __init__(self, storage: SharedSnapshots, remove: Callable[[int, int], None] | None) -> None:
        """Start the thread. remove: removes the journal of a partition up to a position; `None`: all is kept."""
        self.storage, self._remove = storage, remove
        self._work: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="lycosa-copier", daemon=True)
        self._thread.start()

    def copy(self, work: Callable[[], None]) -> None:
        """Do something on the thread."""
        self._work.put(work)

    def store(self, partition: int, position: int, directory: Path, copied: threading.Event) -> None:
        """Copy a snapshot; what no snapshot needs any more of the journal is removed then. On the thread."""
        try:
            self.storage.store(partition, position, directory)
        finally:
            copied.set()
        if self._remove is not None and (passed := self.storage.passed(partition)):
            self._remove(partition, passed)

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
            except Unavailable as error:
                logger.info("the beginning of a journal is removed later: %s", error)


def in_pieces(records: Batch, encode: Callable[[Batch], bytes], most: int = PIECE) -> list[bytes]:
    """Return records as messages, of which none is larger than that, but for one that has a single record."""
    message = encode(records)
    if len(message) <= most or len(records) < 2:
        return [message]
    half = len(records) // 2
    halves = ([place < half for place in range(len(records))], [place >= half for place in range(len(records))])
    return [piece for mask in halves for piece in in_pieces(records.select(mask), encode, most)]


def part_job(job: Job) -> Job:
    """Return the job of one partition: its part of a lane's memory."""
    frontier = job.frontier
    parts = {
        name: max(getattr(frontier, name) // PARTITION, 1 << 20)
        for name in ("seen_memory", "queue_memory", "cookie_memory")
    }
    parts |= {
        name: max(given // PARTITION, 1_000)
        for name in ("max_hosts", "warm_hosts")
        if (given := getattr(frontier, name)) is not None
    }
    return job.model_copy(update={"frontier": frontier.model_copy(update=parts)})


def caps_of(job: Job, part: float) -> tuple[float | None, float | None]:
    """A part of a job's caps over all sites: requests and bytes per second of the machine's clock."""
    politeness, speed = job.politeness, job.speed * part
    requests, size = politeness.requests_per_second, politeness.bytes_per_second
    return None if requests is None else requests * speed, None if size is None else size * speed


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
        shared: _core.Shared,
        directory: Path,
        copier: Copier,
        writer: _core.PageWriter | None,
    ) -> None:
        """directory: of this machine, empty, for what does not fit into memory. writer: of pages; `None`: none.

        shared: by all partitions of the worker: clocks, and caps over all sites.
        """
        self._partition, self._job, self._clock, self._copier = partition, job, clock, copier
        self._writer, self._shared = writer, shared
        self._directory, self._began = directory, clock.now()

        def make(end: int) -> _core.Frontier:
            owned = (partitions.ring, by, partitions.name(partition))
            return _core.Frontier(job, names, directory, end=end, ownership=owned, lends=True, shared=shared)

        self._make = make
        self._frontier: _core.Frontier
        self._saving: int | None = None  # the position of a snapshot that is being written
        self._copied = threading.Event()  # whether none is being copied to the shared directory
        self._copied.set()

    def load(self, end: int) -> tuple[int, bytes]:
        """Load the newest snapshot that can be read."""
        for position in reversed(self._copier.storage.positions(self._partition)):
            if position > end:
                continue
            try:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._copier.storage.fetch(self._partition, position, self._directory)
                self._frontier = self._make(end)
                beside = self._frontier.load(position)
            except FileNotFoundError as error:
                logger.warning("partition %d: a snapshot is gone, or a part of it: %s", self._partition, error)
                continue
            except (StorageFull, OSError) as error:
                # A disk that is full, or a share that does not answer, says nothing of the snapshot.
                raise Unavailable(f"its snapshot cannot be fetched: {error}") from None
            except StorageError as error:
                logger.warning("partition %d: a snapshot cannot be read: %s", self._partition, error)
                continue
            return position, beside
        if self._copier.storage.is_imported():
            raise StateLost("its snapshots are gone or cannot be read, and its journal is not whole without them")
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        self._frontier = self._make(end)
        self._frontier.clear()
        return 0, b""

    def restore(self, data: bytes, position: int) -> None:
        """Replay a message of the journal."""
        if data.startswith(LENT):
            self._frontier.hear(data.removeprefix(LENT), again=True)
            return
        self._frontier.restore(_core.Entries.of_journal(data, position))
        self._drop_outbox()

    def restored(self, is_given_back: bool, final: int) -> Outcomes:
        """Let the clocks of hosts begin anew."""
        self._frontier.restored()
        self._drop_outbox()
        if is_given_back:
            self._frontier.confirm_last()
            return Outcomes()
        return self._frontier.doubt_last(final)

    def doubted_for(self) -> float | None:
        """Return for how long an outcome has not been confirmed."""
        since = self._frontier.doubted_since()
        return None if since is None else self._clock.now() - since

    def doubt(self) -> Outcomes:
        """Take back what a captive portal may have answered."""
        return self._frontier.doubt_held()

    def accept(self, links: bytes) -> bytes:
        """Accept links, or what is told of addresses."""
        if links.startswith(LENT):
            self._frontier.hear(links.removeprefix(LENT))
            return links
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

    def settled(self, outcomes: Outcomes) -> list[bytes]:
        """Return the messages of outcomes."""
        return in_pieces(outcomes, _core.outcomes_message)

    def pages(self, outcomes: Outcomes) -> tuple[list[bytes], bool]:
        """Return the messages for outputs."""
        return ([], False) if self._writer is None else self._writer.encode(outcomes)

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes."""
        self._frontier.done(outcomes)

    def tell(self) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Return what is to be told of addresses."""
        record, messages = self._frontier.tell()
        return LENT + record if record else b"", [(int(name), LENT + message) for name, message in messages]

    def outbox(self) -> list[tuple[int, bytes]]:
        """Take the links for other partitions."""
        links = [
            (int(name), message)
            for name, requests in self._frontier.take_outbox().items()
            for message in in_pieces(requests, Requests.encode)
        ]
        self._frontier.outbox_delivered()
        return links

    def save(self, position: int, beside: bytes) -> None:
        """Begin a snapshot."""
        try:
            self._frontier.save(position, beside)
            self._saving = position
        except StorageError as error:
            logger.warning("partition %d: no snapshot was written: %s", self._partition, error)

    def saved(self) -> bool:
        """Have the snapshot copied to the shared directory, once it is written."""
        if self._saving is not None and (size := self._frontier.saved()) is not None:
            position, self._saving = self._saving, None
            if size > 0:
                copier, partition, directory, copied = self._copier, self._partition, self._directory, self._copied
                copied.clear()
                copier.copy(lambda: copier.store(partition, position, directory, copied))
        # Two later snapshots would remove the files of one that is being copied.
        return self._saving is None and self._copied.is_set()

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
        self._frontier.set_intervals(of_host, politeness.address_interval)
        self._shared.set_caps(*caps_of(self._job, part))

    def set_max_pages(self, pages: int) -> None:
        """Record no more pages."""
        self._frontier.set_max_pages(pages)

    def room(self) -> tuple[int, int]:
        """Return how many pages may be begun, and how many URLs wait."""
        return self._frontier.room()

    def counts(self) -> dict[str, int]:
        """Return counts for reports."""
        return self._frontier.counts()

    def close(self) -> None:
        """Remove its files from this machine."""
        self.saved()
        directory = self._directory
        with contextlib.suppress(AttributeError):  # it could not be loaded
            del self._frontier
        self._copier.copy(lambda: shutil.rmtree(directory, ignore_errors=True))

    def _drop_outbox(self) -> None:
        """Forget links for others: they were committed with the records that they are of."""
        self._frontier.take_outbox()
        self._frontier.outbox_delivered()
