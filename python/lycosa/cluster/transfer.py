"""A job of one machine moves to a cluster, and back, by the file of ``lycosa job export``: its log as lines of JSON.

In: the log is replayed by the frontiers of all partitions at once, and each is stored as the partition's first
snapshot. Out: records of journals are records of a log without bodies, and are written one partition after another.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lycosa import _core
from lycosa.assemble import shared_clocks
from lycosa.cluster.appending import Record, append
from lycosa.cluster.budget import KEEPER, PREFIX, Budget
from lycosa.cluster.control import is_imported, recorded_settings, require_job, tell_imported
from lycosa.cluster.frontier_part import LENT, part_job
from lycosa.cluster.journal import GIVEN_BACK
from lycosa.cluster.prepare import claim_state, prepare
from lycosa.cluster.reading import WAIT, Connection, ends, make_reader, read, starts
from lycosa.cluster.storage import IMPORTED, IMPORTING, SharedSnapshots, claim
from lycosa.cluster.topics import NoBroker, Topics
from lycosa.errors import SettingError, StorageError, StorageFull
from lycosa.job import Job
from lycosa.memory import divided, shares
from lycosa.records import Requests
from lycosa.store.replace import sync_directory, sync_file

#: Bytes of the log that are replayed at once.
PIECE = 8 << 20

#: What else journals have: records of a frontier begin otherwise.
BESIDE = (GIVEN_BACK, PREFIX, LENT)


@dataclass(slots=True)
class Importing:
    """How far an import is, for who waits for it."""

    text: str = "reads the file"


def import_job(file: Path, job: Job, name: str, settings: Connection, state: Path, importing: Importing) -> int:
    """Begin a job of a cluster with the log in an exported file; returns how many records it has.

    All or nothing: workers refuse the state directory until this is complete, and it can be done again. Raises
    SettingError for a job or a directory that has something already, StorageError for a file that is cut off.
    """
    topics, mark = Topics(name), state / IMPORTING
    number = prepare(job, topics, settings)
    _require_new(topics, settings, job.cluster.partitions)
    claim(state, name, number, imports=True)
    if not mark.exists():
        if is_imported(topics, settings):
            raise SettingError("--name", name, "a new job: this one was imported already")
        if any(folder.name.isdigit() for folder in state.iterdir()):
            raise SettingError("--state", state, "a directory without snapshots, or one whose import was cut off")
        mark.touch()
        sync_directory(state)
    for path in state.iterdir():  # of an import that was cut off
        if path.name.isdigit():
            shutil.rmtree(path)
        elif path.name.startswith(f"{IMPORTED}."):
            path.unlink()
    with tempfile.TemporaryDirectory(prefix="lycosa-import-") as scratch:
        log = Path(scratch) / "log"
        found = _core.import_log(file, log)
        if not found["complete"]:
            raise StorageError(f"{file}: it is cut off: nothing was imported; export it again")
        _store_snapshots(job, log, Path(scratch), SharedSnapshots(state), importing)
    if job.store.retain == "all":
        copy = state / f"{IMPORTED}.jsonl{'.gz' if file.suffix == '.gz' else ''}"
        shutil.copyfile(file, copy)
        with copy.open("rb") as copied:
            sync_file(copied.fileno())
    # A worker may have begun before the mark was there.
    _require_new(topics, settings, job.cluster.partitions)
    _tell_all(topics, settings, job.cluster.partitions)
    tell_imported(topics, settings)
    # From now on workers may begin.
    mark.rename(state / IMPORTED)
    sync_directory(state)
    return int(found["entries"])


def export_job(file: Path, name: str, settings: Connection, state: Path) -> dict[str, Any]:
    """Write the log of a job of a cluster to a file; returns its settings, and counts as ``_core.export_log`` does.

    Raises SettingError while workers run, and for a job whose journals are not whole.
    """
    topics = Topics(name)
    require_job(topics, settings)
    number, recorded = recorded_settings(topics, settings)
    if recorded.get("store.retain") != "all":
        allowed = "a job that began with store.retain = all: of others, journals are removed behind snapshots"
        raise SettingError("--name", name, allowed)
    _require_no_workers(topics, settings)
    claim_state(topics, settings, state, number)
    with tempfile.TemporaryDirectory(prefix="export-", dir=file.absolute().parent) as scratch:
        log = Path(scratch) / "log"
        if SharedSnapshots(state).is_imported():
            (imported,) = state.glob(f"{IMPORTED}.jsonl*")
            if not _core.import_log(imported, log)["complete"]:
                raise StorageError(f"{imported}: it is cut off: bring it back from a backup")
        else:
            _core.Log(log, 1 << 30)  # an empty one
        segment = max(log.glob("*.log"))
        with segment.open("ab") as into:
            for data in _journals(topics, settings, int(recorded["cluster.partitions"])):
                into.write(data)
        found = _core.export_log(log, file)
    return {"settings": _nested(recorded), **found}


def _store_snapshots(
    job: Job, log: Path, scratch: Path, storage: SharedSnapshots, importing: Importing | None = None
) -> None:
    """Replay a log, and store each partition as its first snapshot."""
    count, by = job.cluster.partitions, job.frontier.shard_by
    partitions, clock = _core.Partitions(count, by), _core.Clock()
    own = part_job(divided(job, shares(job)))
    names = _core.Names(own, clock, is_shared=True)
    shared = shared_clocks(job.model_copy(update={"politeness": _alone(job)}), clock, count, shares_pages=False)
    directories = [scratch / str(partition) for partition in range(count)]
    frontiers = []
    for partition, directory in enumerate(directories):
        directory.mkdir()
        ownership = (partitions.ring, by, partitions.name(partition))
        frontiers.append(_core.Frontier(own, names, directory, ownership=ownership, shared=shared))
    reader, importing = _core.Log(log, 1 << 30), importing or Importing()
    position = reader.first()
    while len(entries := reader.read(position, PIECE)) > 0:
        _core.restore_shards(frontiers, entries)
        position = entries.position
        importing.text = f"{100 * position // reader.end()} % of the log are replayed"
    for frontier in frontiers:
        frontier.restored()
        frontier.confirm_last()
    budgets = _budgets(job, frontiers)
    for partition, (frontier, directory) in enumerate(zip(frontiers, directories, strict=True)):
        frontier.save(0, b"" if job.max_pages is None else budgets[partition].encode())
        while (size := frontier.saved()) is None:
            time.sleep(0.005)
        if size == 0:
            raise StorageFull(f"{directory}: no space for a snapshot; TMPDIR is another place")
        storage.store(partition, 0, directory)
        importing.text = f"{partition + 1} of {count} snapshots are stored"


def _budgets(job: Job, frontiers: list[_core.Frontier]) -> list[Budget]:
    """The budgets of partitions: what they have recorded was lent to them."""
    budgets = [Budget(lent=frontier.counts()["pages"]) for frontier in frontiers]
    if job.max_pages is not None:
        budgets[KEEPER].loans = {partition: one.lent for partition, one in enumerate(budgets) if one.lent}
    return budgets


def _alone(job: Job) -> Any:
    """Politeness of a process that asks nobody: it shares no clocks."""
    return job.politeness.model_copy(update={"share_clocks": False})


def _require_no_workers(topics: Topics, settings: Connection) -> None:
    """Raise SettingError if workers of a job run, or NoBroker."""
    admin, deadline = AdminClient(settings), time.monotonic() + WAIT
    try:
        with contextlib.closing(make_reader(settings, topics.group)) as reader:
            # Brokers that no group has asked yet know no coordinator until then.
            reader.committed([TopicPartition(topics.links, 0)], WAIT)
        while (listed := admin.list_consumer_groups(request_timeout=WAIT).result()).errors:
            if time.monotonic() > deadline:
                raise KafkaException(listed.errors[0])
            time.sleep(0.5)
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: whether workers run is not told: {error.args[0].str()}") from None
    idle = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
    if any(group.group_id == topics.group and group.state not in idle for group in listed.valid):
        raise SettingError("--name", topics.job, "a job without workers: end them first")


def _require_new(topics: Topics, settings: Connection, partitions: int) -> None:
    """Raise SettingError if workers of a job run or have run, or NoBroker."""
    _require_no_workers(topics, settings)
    try:
        found = ends(AdminClient(settings), [TopicPartition(topics.journal, one) for one in range(partitions)])
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None
    if any(found.values()):
        raise SettingError("--name", topics.job, "a new job: workers of this one have run already")


def _tell_all(topics: Topics, settings: Connection, partitions: int) -> None:
    """Give each partition links, of which there are none: the job is over once all have accepted them."""
    nothing = Requests().encode()
    try:
        append(settings, (Record(topics.links, partition, nothing) for partition in range(partitions)))
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}; import it again") from None


def _journals(topics: Topics, settings: Connection, partitions: int) -> Iterator[bytes]:
    """Yield the records of all journals, and the links that are not accepted yet. Raises NoBroker or SettingError."""
    admin, clock = AdminClient(settings), _core.Clock()
    try:
        with contextlib.closing(make_reader(settings, topics.group)) as reader:
            for partition in range(partitions):
                journal = TopicPartition(topics.journal, partition, 0)
                if starts(admin, [journal])[partition] > 0:
                    allowed = f"a job whose journals are whole; that of partition {partition} was removed"
                    raise SettingError("--name", topics.job, allowed)
                for message in read(reader, journal, ends(admin, [journal])[partition]):
                    if not message.value().startswith(BESIDE):
                        yield message.value()
                links = TopicPartition(topics.links, partition)
                (accepted,) = reader.committed([links], WAIT)
                links.offset = max(accepted.offset, starts(admin, [links])[partition])
                for message in read(reader, links, ends(admin, [links])[partition]):
                    if message.value() and not message.value().startswith(BESIDE):
                        yield _core.accepted_message(Requests.decode(message.value()), clock)
    except KafkaException as error:
        raise NoBroker(f"job {topics.job}: {error.args[0].str()}") from None


def _nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by section, of settings by name."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        section, dot, key = name.partition(".")
        if dot:
            found.setdefault(section, {})[key] = value
        else:
            found[name] = value
    return found
