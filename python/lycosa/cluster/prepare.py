"""What each kind of worker does before it begins: topics, rights, settings, and the outputs that it writes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from lycosa.cluster.control import agree, is_imported
from lycosa.cluster.output import OutputWriter
from lycosa.cluster.output_files import OutputDirectory
from lycosa.cluster.reading import Connection
from lycosa.cluster.rights import check_rights
from lycosa.cluster.storage import SharedSnapshots, claim
from lycosa.cluster.topics import Topics, connect, make_topics, while_replaced
from lycosa.errors import SettingError
from lycosa.job import Job


def prepare(job: Job, topics: Topics, settings: Connection, *, with_stages: bool = False) -> str:
    """Make topics, check rights and settings; returns the job's number. Raises SettingError or NoBroker.

    with_stages: whether stages of the job are apart. Tried again while a broker is being replaced.
    """

    def try_once() -> str:
        admin = connect(settings)
        make_topics(admin, topics, job.cluster, with_stages=with_stages)
        check_rights(admin, topics.all(with_stages=with_stages))
        return agree(job, topics, settings)

    return while_replaced(try_once)


def claim_state(topics: Topics, settings: Connection, state: Path, number: str) -> None:
    """Make a state directory that of a job, or check that it is. Raises SettingError or NoBroker.

    number: of the job. Of one that was imported, it has to have the snapshots with which partitions began.
    """
    claim(state, topics.job, number)
    if not SharedSnapshots(state).is_imported() and while_replaced(lambda: is_imported(topics, settings)):
        raise SettingError("--state", state, f"the directory into which job {topics.job} was imported")


def directories_of(outputs: Sequence[str], job: Job) -> list[OutputDirectory]:
    """Return the directories of outputs. Raises SettingError."""
    if outputs and not job.cluster.pages:
        raise SettingError("--output", outputs[0], "none with cluster.pages = false: pages are not kept then")
    directories = [OutputDirectory(output) for output in outputs]
    paths = [directory.path for directory in directories]
    for path in paths:
        if paths.count(path) > 1:
            raise SettingError("--output", path, "each output once")
    return directories


def begin_outputs(
    stack: contextlib.ExitStack,
    job: Job,
    topics: Topics,
    settings: Connection,
    directories: Sequence[OutputDirectory],
    bodies: Path,
    worker: str,
    scratch: Path,
) -> list[OutputWriter]:
    """Return the writers of outputs, begun; the stack ends them.

    bodies: the directory of large bodies. worker: a name that no other has. scratch: a directory of its own.
    """
    bodies.mkdir(exist_ok=True)
    writers = [OutputWriter(job, topics, settings, directory, bodies, worker, scratch) for directory in directories]
    for writer in writers:
        stack.callback(writer.close)
        writer.start()
    return writers
